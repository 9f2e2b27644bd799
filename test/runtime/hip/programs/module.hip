// Modules by file: launches with kernelParams and with extra, globals, what is not there.
#include "Check.h"

#include <hip/hip_ext.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

static constexpr int n = 100;

/// factor * i + narrow + table[i % 4]
static void expectScaled(const int *device, int narrow, double factor, const int *table) {
  std::vector<int> out(n);
  HIP(hipMemcpy(out.data(), device, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(out[i], int(factor * i) + narrow + table[i % 4]);
}

static void launchBothWays(hipFunction_t scale, const int *table) {
  int *out;
  HIP(hipMalloc(&out, n * sizeof(int)));
  char narrow = 7;
  double factor = 2.5;
  int count = n;
  void *params[] = {&narrow, &out, &factor, &count};
  HIP(hipModuleLaunchKernel(scale, 2, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
  expectScaled(out, 7, 2.5, table);

  struct {
    char narrow = -3;
    int *out;
    double factor = 3;
    int count = n;
  } args;
  args.out = out;
  size_t size = sizeof(args);
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(scale, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  expectScaled(out, -3, 3, table);

  size = 8;
  EXPECT_STATUS(hipModuleLaunchKernel(scale, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra),
                hipErrorInvalidValue);
  EXPECT_STATUS(hipModuleLaunchKernel(scale, 2, 1, 1, 2048, 1, 1, 0, nullptr, params, nullptr),
                hipErrorInvalidConfiguration);
  EXPECT_STATUS(hipModuleLaunchKernel(scale, 0, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr),
                hipErrorInvalidConfiguration);
  HIP(hipFree(out));
}

/// A grid of 100 work-items in workgroups of 64: the kernel may write 128, nobody writes the
/// last 28.
static void launchPartial(hipFunction_t scale, const int *table) {
  constexpr int room = 128;
  int *out;
  HIP(hipMalloc(&out, room * sizeof(int)));
  HIP(hipMemset(out, 0xff, room * sizeof(int)));
  char narrow = 7;
  double factor = 2.5;
  int count = room;
  void *params[] = {&narrow, &out, &factor, &count};
  HIP(hipExtModuleLaunchKernel(scale, n, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
  expectScaled(out, 7, 2.5, table);
  std::vector<int> rest(room - n);
  HIP(hipMemcpy(rest.data(), out + n, rest.size() * sizeof(int), hipMemcpyDeviceToHost));
  for (int value : rest)
    EXPECT_EQ(value, -1);
  EXPECT_STATUS(hipExtModuleLaunchKernel(scale, n, 1, 1, 0, 1, 1, 0, nullptr, params, nullptr),
                hipErrorInvalidConfiguration);
  HIP(hipFree(out));
}

static void useModule(hipModule_t module) {
  hipFunction_t scale, missing;
  HIP(hipModuleGetFunction(&scale, module, "scale"));
  EXPECT_STATUS(hipModuleGetFunction(&missing, module, "scales"), hipErrorNotFound);
  int table[4] = {10, 20, 30, 40};
  launchBothWays(scale, table);
  launchPartial(scale, table);

  hipDeviceptr_t global;
  size_t bytes = 0;
  HIP(hipModuleGetGlobal(&global, &bytes, module, "table"));
  EXPECT_EQ(bytes, sizeof(table));
  table[2] = -1000;
  HIP(hipMemcpyHtoD(global, table, sizeof(table)));
  launchBothWays(scale, table);
  EXPECT_STATUS(hipModuleGetGlobal(&global, &bytes, module, "tables"), hipErrorNotFound);

  int threads = 0, lds = -1;
  HIP(hipFuncGetAttribute(&threads, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
  HIP(hipFuncGetAttribute(&lds, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, scale));
  EXPECT_EQ(threads, 1024);
  EXPECT_EQ(lds, 0);
  HIP(hipModuleUnload(module));
  EXPECT_STATUS(hipModuleUnload(module), hipErrorInvalidHandle);
}

int main(int argc, char **argv) {
  EXPECT_TRUE(argc > 1);
  hipModule_t module;
  for (int file = 1; file < argc; ++file) {
    HIP(hipModuleLoad(&module, argv[file]));
    useModule(module);
    std::ifstream stream(argv[file], std::ios::binary);
    std::vector<char> image((std::istreambuf_iterator<char>(stream)), {});
    HIP(hipModuleLoadData(&module, image.data()));
    useModule(module);
  }
  EXPECT_STATUS(hipModuleLoad(&module, "no-such-file.hsaco"), hipErrorFileNotFound);
  std::vector<char> garbage(4096, 'x');
  EXPECT_STATUS(hipModuleLoadData(&module, garbage.data()), hipErrorInvalidImage);
}

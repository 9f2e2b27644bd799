// Calls that are refused. Each gives its documented error; why, HipProgramTest reads in the log.
#include "Check.h"

#include <cstring>
#include <unistd.h>

__global__ void writeOne(int *p) { *p = 1; }

static void copies() {
  int *device = nullptr, host[4] = {};
  HIP(hipMalloc(&device, 16));
  EXPECT_STATUS(hipMemcpy(device, device, 16, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  hipMemcpy3DParms box = {};
  box.srcArray = reinterpret_cast<hipArray_t>(host);
  EXPECT_STATUS(hipMemcpy3D(&box), hipErrorNotSupported);
  void *pinned = nullptr;
  EXPECT_STATUS(hipHostMalloc(&pinned, size_t(400) << 30, 0), hipErrorOutOfMemory);
  EXPECT_STATUS(hipMemcpyAsync(device, host, 16, hipMemcpyHostToDevice,
                               reinterpret_cast<hipStream_t>(host)),
                hipErrorInvalidHandle);
  HIP(hipFree(device));
}

static void launches() {
  const void *kernel = reinterpret_cast<const void *>(writeOne);
  int *device = nullptr;
  HIP(hipMalloc(&device, 16));
  void *params[] = {&device}, *missing[] = {nullptr};
  EXPECT_STATUS(hipLaunchKernel(kernel, dim3(65536, 65536), dim3(1), params, 0, nullptr),
                hipErrorInvalidConfiguration);
  EXPECT_STATUS(hipLaunchKernel(kernel, dim3(1), dim3(64), params, 200000, nullptr),
                hipErrorInvalidValue);
  EXPECT_STATUS(hipLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
                hipErrorInvalidValue);
  EXPECT_STATUS(hipLaunchKernel(kernel, dim3(1), dim3(1), missing, 0, nullptr),
                hipErrorInvalidValue);
  EXPECT_STATUS(hipModuleLaunchKernel(reinterpret_cast<hipFunction_t>(device), 1, 1, 1, 1, 1, 1, 0,
                                      nullptr, params, nullptr),
                hipErrorInvalidHandle);
  HIP(hipFree(device));
}

static void extras(const char *file) {
  hipModule_t module;
  hipFunction_t scale;
  HIP(hipModuleLoad(&module, file));
  HIP(hipModuleGetFunction(&scale, module, "scale"));
  int word = 0;
  void *params[] = {&word}, *strange[] = {&word, &word, HIP_LAUNCH_PARAM_END};
  auto launch = [&](void **with, void **extra) {
    return hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, nullptr, with, extra);
  };
  EXPECT_STATUS(launch(nullptr, strange), hipErrorInvalidValue);
  EXPECT_STATUS(launch(params, strange), hipErrorInvalidValue);
  HIP(hipModuleUnload(module));
}

static void graphs() {
  hipGraph_t one, other;
  hipGraphNode_t node, behind;
  HIP(hipGraphCreate(&one, 0));
  HIP(hipGraphCreate(&other, 0));
  HIP(hipGraphAddEmptyNode(&node, one, nullptr, 0));
  EXPECT_STATUS(hipGraphAddEmptyNode(&behind, other, &node, 1), hipErrorInvalidValue);
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  void *memory = nullptr;
  EXPECT_STATUS(hipMallocAsync(&memory, 16, stream), hipErrorStreamCaptureUnsupported);
  hipGraph_t captured = nullptr;
  hipStreamEndCapture(stream, &captured);
}

/// A handle of a process that is not there any more: no process has the highest number.
static void handles() {
  void *memory = nullptr;
  HIP(hipExtMallocWithFlags(&memory, 4096, hipDeviceMallocFinegrained));
  hipIpcMemHandle_t handle;
  HIP(hipIpcGetMemHandle(&handle, memory));
  const pid_t mine = getpid(), nobody = 0x7FFFFFFF;
  for (size_t at = 0; at + sizeof(pid_t) <= sizeof(handle.reserved); ++at)
    if (std::memcmp(handle.reserved + at, &mine, sizeof(mine)) == 0)
      std::memcpy(handle.reserved + at, &nobody, sizeof(nobody));
  EXPECT_STATUS(hipIpcOpenMemHandle(&memory, handle, 0), hipErrorInvalidHandle);
}

int main(int argc, char **argv) {
  copies();
  launches();
  extras(argv[1]);
  graphs();
  handles();
}

// Device memory shared between processes: the child is this program again, with the handle as text.
#include "Check.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void square(int *x) { x[threadIdx.x] *= x[threadIdx.x]; }

static std::string toText(const hipIpcMemHandle_t &handle) {
  std::string text;
  for (unsigned char byte : handle.reserved) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

static hipIpcMemHandle_t fromText(const char *text) {
  hipIpcMemHandle_t handle;
  for (size_t n = 0; n < sizeof(handle.reserved); ++n) {
    unsigned byte = 0;
    std::sscanf(text + 2 * n, "%2x", &byte);
    handle.reserved[n] = char(byte);
  }
  return handle;
}

static int child(const char *text) {
  int *memory;
  HIP(hipSetDevice(1));
  HIP(hipIpcOpenMemHandle(reinterpret_cast<void **>(&memory), fromText(text),
                          hipIpcMemLazyEnablePeerAccess));
  square<<<1, 64>>>(memory);
  HIP(hipDeviceSynchronize());
  HIP(hipIpcCloseMemHandle(memory));
  EXPECT_STATUS(hipIpcCloseMemHandle(memory), hipErrorInvalidValue);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1)
    return child(argv[1]);
  int *memory, host[64];
  for (int n = 0; n < 64; ++n)
    host[n] = n;
  HIP(hipMalloc(&memory, sizeof(host)));
  HIP(hipMemcpy(memory, host, sizeof(host), hipMemcpyHostToDevice));
  hipIpcMemHandle_t handle;
  HIP(hipIpcGetMemHandle(&handle, memory));
  void *again;
  EXPECT_STATUS(hipIpcOpenMemHandle(&again, handle, hipIpcMemLazyEnablePeerAccess),
                hipErrorInvalidContext);
  std::string text = toText(handle);
  pid_t process = fork();
  if (process == 0)
    execl("/proc/self/exe", "ipc", text.c_str(), static_cast<char *>(nullptr));
  int status = -1;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0);
  square<<<1, 64>>>(memory);
  HIP(hipMemcpy(host, memory, sizeof(host), hipMemcpyDeviceToHost));
  for (int n = 0; n < 64; ++n)
    EXPECT_EQ(host[n], n * n * n * n);
}

// Bad input gives the documented error and leaves the library usable.
#include "Check.h"

#include <string>

__global__ void writeOne(int *p) { *p = 1; }
__global__ void readOne(const int *p, int *out) { *out = *p + 1; }
__global__ void waitForever(int *flag) {
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0)
    __builtin_amdgcn_s_sleep(1);
}

static void calls() {
  void *p = nullptr;
  int host[4];
  EXPECT_STATUS(hipMalloc(&p, size_t(300) << 30), hipErrorOutOfMemory);
  EXPECT_STATUS(hipGetLastError(), hipErrorOutOfMemory);
  EXPECT_STATUS(hipGetLastError(), hipSuccess);
  EXPECT_STATUS(hipMalloc(static_cast<void **>(nullptr), 4), hipErrorInvalidValue);
  EXPECT_STATUS(hipSetDevice(64), hipErrorInvalidDevice);
  EXPECT_STATUS(hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_STATUS(hipFree(host), hipErrorInvalidValue);
  HIP(hipFree(nullptr));
  HIP(hipMalloc(&p, 16));
  EXPECT_STATUS(hipFree(static_cast<char *>(p) + 4), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemcpy(p, host, 17, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemcpy(host, host, 16, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemcpy(p, host, 16, hipMemcpyKind(77)), hipErrorInvalidMemcpyDirection);
  EXPECT_STATUS(hipMemset(p, 0, 17), hipErrorInvalidValue);
  HIP(hipFree(p));
  EXPECT_STATUS(hipFree(p), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemcpy(p, host, 16, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_STATUS(hipStreamSynchronize(reinterpret_cast<hipStream_t>(host)), hipErrorInvalidHandle);
  EXPECT_STATUS(hipEventDestroy(reinterpret_cast<hipEvent_t>(host)), hipErrorInvalidHandle);
  EXPECT_STATUS(hipLaunchKernel(host, dim3(1), dim3(1), nullptr, 0, nullptr),
                hipErrorInvalidDeviceFunction);
  writeOne<<<1, 2048>>>(nullptr);
  EXPECT_STATUS(hipGetLastError(), hipErrorInvalidConfiguration);
  EXPECT_EQ(std::string(hipGetErrorString(hipErrorOutOfMemory)), "out of memory");
}

/// A kernel's fault is told at the next synchronisation, and at every call after it until the
/// device is reset.
static void faults() {
  int *p, *out;
  HIP(hipMalloc(&p, 16));
  HIP(hipMalloc(&out, 16));
  writeOne<<<1, 1>>>(p + 4);
  EXPECT_STATUS(hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_STATUS(hipMemcpy(out, p, 4, hipMemcpyDeviceToDevice), hipErrorIllegalAddress);
  HIP(hipDeviceReset());
  readOne<<<1, 1>>>(p, out); // nobody wrote p[0]
  EXPECT_STATUS(hipDeviceSynchronize(), hipErrorLaunchFailure);
  HIP(hipDeviceReset());
  HIP(hipMemset(p, 0, 16));
  waitForever<<<1, 1>>>(p);
  EXPECT_STATUS(hipDeviceSynchronize(), hipErrorLaunchTimeOut);
  HIP(hipDeviceReset());
  readOne<<<1, 1>>>(p, out);
  int host = 0;
  HIP(hipMemcpy(&host, out, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(host, 1);
}

int main() {
  calls();
  faults();
  hipArray *array = nullptr;
  hipChannelFormatDesc format = {};
  for (int twice = 0; twice < 2; ++twice)
    EXPECT_STATUS(hipMallocArray(&array, &format, 4, 4, 0), hipErrorNotSupported);
}

// Stream-ordered allocation and what a pool counts.
#include "Check.h"

__global__ void fill(int *x, int value) { x[threadIdx.x] = value; }

static void *freedTwice(hipStream_t stream) {
  void *memory;
  HIP(hipMallocAsync(&memory, 4096, stream));
  HIP(hipFreeAsync(memory, stream));
  HIP(hipFreeAsync(memory, stream));
  return memory;
}

/// What fails in a stream is told once, by the next call that waits for the device or asks it.
static void failuresAreTold(hipMemPool_t pool) {
  hipStream_t stream, gone;
  hipEvent_t event;
  HIP(hipStreamCreate(&stream));
  HIP(hipStreamCreate(&gone));
  HIP(hipEventCreate(&event));

  freedTwice(stream);
  EXPECT_STATUS(hipStreamSynchronize(stream), hipErrorInvalidValue);
  EXPECT_STATUS(hipGetLastError(), hipErrorInvalidValue);
  HIP(hipStreamSynchronize(stream));
  HIP(hipDeviceSynchronize());
  uint64_t used = 1;
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, uint64_t(0));

  void *memory;
  HIP(hipMallocAsync(&memory, 4096, stream));
  HIP(hipFreeAsync(memory, stream));
  HIP(hipMemsetAsync(memory, 0, 4096, stream));
  EXPECT_STATUS(hipDeviceSynchronize(), hipErrorInvalidValue);

  freedTwice(stream);
  HIP(hipEventRecord(event, stream));
  EXPECT_STATUS(hipEventSynchronize(event), hipErrorInvalidValue);
  HIP(hipEventSynchronize(event));

  freedTwice(stream);
  hipError_t status;
  while ((status = hipStreamQuery(stream)) == hipErrorNotReady) {
  }
  EXPECT_STATUS(status, hipErrorInvalidValue);
  HIP(hipStreamQuery(stream));

  freedTwice(gone);
  HIP(hipStreamDestroy(gone));
  HIP(hipSetDevice(1));
  HIP(hipDeviceSynchronize());
  HIP(hipSetDevice(0));
  EXPECT_STATUS(hipDeviceSynchronize(), hipErrorInvalidValue);

  freedTwice(stream);
  HIP(hipDeviceReset());
  HIP(hipDeviceSynchronize());
}

/// Who waits for his own call is told by it alone.
static void failureOfAWaitingCall(hipStream_t stream) {
  void *memory;
  HIP(hipMallocAsync(&memory, 4096, stream));
  HIP(hipFreeAsync(memory, stream));
  EXPECT_STATUS(hipMemset(memory, 0, 4096), hipErrorInvalidValue);
  HIP(hipDeviceSynchronize());
}

int main() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  hipMemPool_t pool;
  HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  int *x, host[64];
  HIP(hipMallocAsync(reinterpret_cast<void **>(&x), sizeof(host), stream));
  fill<<<1, 64, 0, stream>>>(x, 17);
  HIP(hipMemcpyAsync(host, x, sizeof(host), hipMemcpyDeviceToHost, stream));
  uint64_t used = 0, highest = 0;
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, uint64_t(sizeof(host)));
  HIP(hipFreeAsync(x, stream));
  HIP(hipStreamSynchronize(stream));
  for (int value : host)
    EXPECT_EQ(value, 17);
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemHigh, &highest));
  EXPECT_EQ(used, uint64_t(0));
  EXPECT_EQ(highest, uint64_t(sizeof(host)));
  EXPECT_STATUS(hipFree(x), hipErrorInvalidValue);
  EXPECT_STATUS(hipFreeAsync(x, stream), hipErrorInvalidValue);
  failuresAreTold(pool);
  failureOfAWaitingCall(stream);
}

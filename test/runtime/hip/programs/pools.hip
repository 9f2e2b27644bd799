// Stream-ordered allocation and what a pool counts.
#include "Check.h"

__global__ void fill(int *x, int value) { x[threadIdx.x] = value; }

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
}

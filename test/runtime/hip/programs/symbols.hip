// __constant__ and __device__ variables from the host.
#include "Check.h"

__constant__ float coefficients[4];
__device__ int counter = 5;

__global__ void evaluate(float *out) {
  float x = float(threadIdx.x);
  out[threadIdx.x] =
      ((coefficients[3] * x + coefficients[2]) * x + coefficients[1]) * x + coefficients[0];
  atomicAdd(&counter, 1);
}

int main() {
  float all[4] = {1, 2, 3, 4}, part[2] = {-3, 0.5f};
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), all, sizeof(all)));
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), part, sizeof(part), 2 * sizeof(float)));
  float *out, host[64];
  HIP(hipMalloc(&out, sizeof(host)));
  evaluate<<<1, 64>>>(out);
  HIP(hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost));
  for (int x = 0; x < 64; ++x)
    EXPECT_EQ(host[x], ((0.5f * x - 3) * x + 2) * x + 1);

  int count = 0;
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof(count)));
  EXPECT_EQ(count, 5 + 64);
  void *address = nullptr;
  size_t bytes = 0;
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(counter)));
  HIP(hipGetSymbolSize(&bytes, HIP_SYMBOL(coefficients)));
  EXPECT_EQ(bytes, sizeof(all));
  HIP(hipMemset(address, 0, sizeof(int)));
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof(count)));
  EXPECT_EQ(count, 0);
  // Each device has its own.
  HIP(hipSetDevice(1));
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof(count)));
  EXPECT_EQ(count, 5);

  EXPECT_STATUS(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), all, sizeof(all), 4),
                hipErrorInvalidValue);
  EXPECT_STATUS(hipMemcpyToSymbol(&count, all, 4), hipErrorInvalidSymbol);
}

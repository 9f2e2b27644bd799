// Kernels that module.hip loads from files: alone as ELF, and in plain and compressed bundles.
#include <hip/hip_runtime.h>

extern "C" __device__ int table[4] = {10, 20, 30, 40};

extern "C" __global__ void scale(char narrow, int *out, double factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = int(factor * i) + narrow + table[i % 4];
}

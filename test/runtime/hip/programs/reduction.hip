// Tree reduction in static and dynamic LDS, then an atomic per workgroup.
#include "Check.h"

#include <vector>

__global__ void sum(const unsigned *in, unsigned long long *total, int n) {
  __shared__ unsigned part[256];
  extern __shared__ unsigned copy[];
  unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < unsigned(n) ? in[i] : 0;
  __syncthreads();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  copy[t] = part[0];
  __syncthreads();
  if (t == 0)
    atomicAdd(total, copy[255]);
}

int main() {
  constexpr int n = 100000;
  std::vector<unsigned> in(n);
  unsigned long long want = 0, got = 0;
  for (int i = 0; i < n; ++i)
    want += in[i] = unsigned(i) * 7 % 1001;
  unsigned *din;
  unsigned long long *dtotal;
  HIP(hipMalloc(&din, n * sizeof(unsigned)));
  HIP(hipMalloc(&dtotal, sizeof(*dtotal)));
  HIP(hipMemcpy(din, in.data(), n * sizeof(unsigned), hipMemcpyHostToDevice));
  HIP(hipMemset(dtotal, 0, sizeof(*dtotal)));
  sum<<<(n + 255) / 256, 256, 256 * sizeof(unsigned)>>>(din, dtotal, n);
  HIP(hipDeviceSynchronize());
  HIP(hipMemcpy(&got, dtotal, sizeof(got), hipMemcpyDefault));
  EXPECT_EQ(got, want);

  hipFuncAttributes attributes;
  HIP(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(sum)));
  EXPECT_EQ(attributes.sharedSizeBytes, size_t(1024));
  // 1024 + 160 * 1024 / 4 bytes of LDS take 33 granules of 1280: three workgroups fit 163840 bytes.
  int groups = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&groups, sum, 256, 40960));
  EXPECT_EQ(groups, 3);
}

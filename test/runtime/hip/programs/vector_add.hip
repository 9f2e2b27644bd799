// The first HIP program everyone writes; the last workgroup is partly empty.
#include "Check.h"

#include <vector>

__global__ void add(const float *a, const float *b, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] = a[i] + b[i];
}

int main() {
  constexpr int n = 1000;
  std::vector<float> a(n), b(n), sum(n);
  for (int i = 0; i < n; ++i) {
    a[i] = float(i);
    b[i] = 0.5f * float(i);
  }
  float *da, *db, *dsum;
  HIP(hipMalloc(&da, n * sizeof(float)));
  HIP(hipMalloc(&db, n * sizeof(float)));
  HIP(hipMalloc(&dsum, n * sizeof(float)));
  HIP(hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(da, db, dsum, n);
  HIP(hipGetLastError());
  HIP(hipMemcpy(sum.data(), dsum, n * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(sum[i], 1.5f * float(i));
  HIP(hipFree(da));
  HIP(hipFree(db));
  HIP(hipFree(dsum));
}

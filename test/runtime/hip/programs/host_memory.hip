// Managed variables, managed, pinned and registered memory, and what pointer queries say of them.
#include "Check.h"

#include <vector>

__managed__ int shared[4] = {1, 2, 3, 4};

__global__ void twice(int *x) { x[threadIdx.x] *= 2; }
__global__ void twiceShared() { shared[threadIdx.x] *= 2; }

static hipPointerAttribute_t describe(const void *ptr) {
  hipPointerAttribute_t attributes = {};
  HIP(hipPointerGetAttributes(&attributes, ptr));
  return attributes;
}

int main() {
  EXPECT_EQ(shared[3], 4);
  twiceShared<<<1, 4>>>();
  HIP(hipDeviceSynchronize());
  for (int n = 0; n < 4; ++n)
    EXPECT_EQ(shared[n], 2 * (n + 1));
  // The other devices see the same memory.
  HIP(hipSetDevice(1));
  shared[0] = 50;
  twiceShared<<<1, 4>>>();
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(shared[0], 100);
  EXPECT_EQ(shared[3], 16);
  HIP(hipSetDevice(0));

  int *managed, *pinned, *device, *view;
  HIP(hipMallocManaged(&managed, 64 * sizeof(int)));
  HIP(hipHostMalloc(&pinned, 64 * sizeof(int), hipHostMallocMapped));
  HIP(hipMalloc(&device, 64 * sizeof(int)));
  std::vector<int> own(64);
  HIP(hipHostRegister(own.data(), 64 * sizeof(int), hipHostRegisterMapped));
  EXPECT_STATUS(hipHostRegister(own.data(), 8, hipHostRegisterMapped),
                hipErrorHostMemoryAlreadyRegistered);
  for (int n = 0; n < 64; ++n)
    managed[n] = pinned[n] = own[n] = n;
  twice<<<1, 64>>>(managed);
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&view), pinned, 0));
  twice<<<1, 64>>>(view);
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&view), own.data(), 0));
  twice<<<1, 64>>>(view);
  HIP(hipDeviceSynchronize());
  for (int n = 0; n < 64; ++n) {
    EXPECT_EQ(managed[n], 2 * n);
    EXPECT_EQ(pinned[n], 2 * n);
    EXPECT_EQ(own[n], 2 * n);
  }

  EXPECT_EQ(describe(managed).isManaged, 1);
  EXPECT_EQ(describe(pinned + 3).hostPointer, static_cast<void *>(pinned + 3));
  EXPECT_EQ(describe(device + 3).devicePointer, static_cast<void *>(device + 3));
  EXPECT_EQ(describe(device).hostPointer, static_cast<void *>(nullptr));
#if HIP_VERSION_MAJOR < 6
  EXPECT_EQ(int(describe(device).memoryType), int(hipMemoryTypeDevice));
  EXPECT_EQ(int(describe(pinned).memoryType), int(hipMemoryTypeHost));
#else
  EXPECT_EQ(int(describe(device).type), int(hipMemoryTypeDevice));
  EXPECT_EQ(int(describe(pinned).type), int(hipMemoryTypeHost));
#endif
  hipDeviceptr_t base;
  size_t bytes = 0;
  HIP(hipMemGetAddressRange(&base, &bytes, device + 3));
  EXPECT_EQ(base, static_cast<void *>(device));
  EXPECT_EQ(bytes, 64 * sizeof(int));

  HIP(hipHostUnregister(own.data()));
  EXPECT_STATUS(hipHostUnregister(own.data()), hipErrorHostMemoryNotRegistered);
  HIP(hipFree(managed));
  HIP(hipHostFree(pinned));
  size_t before = 0, after = 0, total = 0;
  HIP(hipMemGetInfo(&before, &total));
  HIP(hipFree(device));
  HIP(hipMemGetInfo(&after, &total));
  EXPECT_EQ(after - before, 64 * sizeof(int));
  EXPECT_EQ(total, size_t(288) << 30);
}

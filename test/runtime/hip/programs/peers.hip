// Kernels of all devices wait for each other: submitted by one thread, then by one thread a device.
#include "Check.h"

#include <thread>
#include <vector>

static constexpr int maxDevices = 8;

struct Mailboxes {
  int *of[maxDevices];
};

/// Tells every device its number, waits for all of theirs, adds them up.
__global__ void allReduce(Mailboxes boxes, int self, int count, int epoch, int *out) {
  int t = threadIdx.x;
  if (t < count)
    __hip_atomic_store(&boxes.of[t][self], epoch * 100 + self, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_SYSTEM);
  if (t != 0)
    return;
  int sum = 0;
  for (int n = 0; n < count; ++n) {
    int value = 0;
    while ((value = __hip_atomic_load(&boxes.of[self][n], __ATOMIC_RELAXED,
                                      __HIP_MEMORY_SCOPE_SYSTEM)) < epoch * 100)
      __builtin_amdgcn_s_sleep(1);
    sum += value - epoch * 100;
  }
  *out = sum;
}

int main() {
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  EXPECT_EQ(count, maxDevices);
  Mailboxes boxes;
  int *out[maxDevices];
  hipStream_t streams[maxDevices];
  for (int d = 0; d < count; ++d) {
    HIP(hipSetDevice(d));
    HIP(hipExtMallocWithFlags(reinterpret_cast<void **>(&boxes.of[d]), count * sizeof(int),
                              hipDeviceMallocFinegrained));
    HIP(hipMemset(boxes.of[d], 0, count * sizeof(int)));
    HIP(hipMalloc(&out[d], sizeof(int)));
    HIP(hipStreamCreateWithFlags(&streams[d], hipStreamNonBlocking));
    int can = 0, peer = (d + 1) % count;
    HIP(hipDeviceCanAccessPeer(&can, d, peer));
    EXPECT_EQ(can, 1);
    HIP(hipDeviceEnablePeerAccess(peer, 0));
    EXPECT_STATUS(hipDeviceEnablePeerAccess(peer, 0), hipErrorPeerAccessAlreadyEnabled);
  }
  auto expectSum = [&](int d) {
    int sum = -1;
    HIP(hipMemcpy(&sum, out[d], sizeof(sum), hipMemcpyDeviceToHost));
    EXPECT_EQ(sum, count * (count - 1) / 2);
  };

  for (int d = 0; d < count; ++d) {
    HIP(hipSetDevice(d));
    for (int epoch = 1; epoch <= 2; ++epoch)
      allReduce<<<1, 64, 0, streams[d]>>>(boxes, d, count, epoch, out[d]);
  }
  for (int d = 0; d < count; ++d) {
    HIP(hipStreamSynchronize(streams[d]));
    expectSum(d);
  }

  std::vector<std::thread> hosts;
  for (int d = 0; d < count; ++d)
    hosts.emplace_back([&, d] {
      HIP(hipSetDevice(d));
      for (int epoch = 3; epoch <= 5; ++epoch) {
        allReduce<<<1, 64, 0, streams[d]>>>(boxes, d, count, epoch, out[d]);
        HIP(hipStreamSynchronize(streams[d]));
      }
    });
  for (std::thread &host : hosts)
    host.join();
  for (int d = 0; d < count; ++d)
    expectSum(d);
}

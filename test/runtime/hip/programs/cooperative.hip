// Cooperative launch: a grid barrier works because the whole grid is resident; a grid that is not
// is refused.
#include "Check.h"

#include <hip/hip_cooperative_groups.h>

#include <vector>

/// Every workgroup adds its number, waits for all, and then reads the sum.
__global__ void everyoneMeets(unsigned *arrived, unsigned *sum, unsigned *out) {
  if (threadIdx.x != 0)
    return;
  atomicAdd(sum, blockIdx.x);
  __threadfence();
  atomicAdd(arrived, 1u);
  while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
    __builtin_amdgcn_s_sleep(1);
  out[blockIdx.x] = __hip_atomic_load(sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/// Three rounds of handing a value to the next workgroup, a grid barrier after each.
__global__ void passOn(unsigned *values) {
  auto grid = cooperative_groups::this_grid();
  unsigned self = blockIdx.x, next = (self + 1) % gridDim.x;
  unsigned mine = self;
  for (unsigned round = 0; round < 3; ++round) {
    if (threadIdx.x == 0)
      __hip_atomic_store(&values[round * gridDim.x + next], mine, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
    grid.sync();
    mine = __hip_atomic_load(&values[round * gridDim.x + self], __ATOMIC_RELAXED,
                             __HIP_MEMORY_SCOPE_AGENT);
  }
}

static void gridBarrierOfTheRuntime() {
  constexpr unsigned groups = 100;
  unsigned *values, host[3 * groups];
  HIP(hipMalloc(&values, sizeof(host)));
  void *args[] = {&values};
  for (int launch = 0; launch < 2; ++launch)
    HIP(hipLaunchCooperativeKernel(reinterpret_cast<void *>(passOn), dim3(groups), dim3(128), args,
                                   0, nullptr));
  HIP(hipMemcpy(host, values, sizeof(host), hipMemcpyDeviceToHost));
  for (unsigned round = 0; round < 3; ++round)
    for (unsigned g = 0; g < groups; ++g)
      EXPECT_EQ(host[round * groups + g], (g + groups - 1 - round) % groups);
}

int main() {
  gridBarrierOfTheRuntime();
  int perUnit = 0, units = 0, supported = 0;
  HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
  HIP(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(units, 256);
  constexpr unsigned lds = 81920; // two workgroups a compute unit
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&perUnit, everyoneMeets, 64, lds));
  EXPECT_EQ(perUnit, 2);

  unsigned groups = unsigned(perUnit * units);
  unsigned *words, *out;
  HIP(hipMalloc(&words, 2 * sizeof(unsigned)));
  HIP(hipMalloc(&out, groups * sizeof(unsigned)));
  HIP(hipMemset(words, 0, 2 * sizeof(unsigned)));
  unsigned *sum = words + 1;
  void *args[] = {&words, &sum, &out};
  HIP(hipLaunchCooperativeKernel(reinterpret_cast<void *>(everyoneMeets), dim3(groups), dim3(64),
                                 args, lds, nullptr));
  std::vector<unsigned> host(groups);
  HIP(hipMemcpy(host.data(), out, groups * sizeof(unsigned), hipMemcpyDeviceToHost));
  for (unsigned value : host)
    EXPECT_EQ(value, groups * (groups - 1) / 2);

  EXPECT_STATUS(hipLaunchCooperativeKernel(reinterpret_cast<void *>(everyoneMeets),
                                           dim3(groups + 1), dim3(64), args, lds, nullptr),
                hipErrorCooperativeLaunchTooLarge);
}

// A HIP library that does nothing and returns at once: memory is host memory, launches are counted.
// Tests make it fail, lie and count through this block.
#pragma once

#include <atomic>
#include <cstddef>

namespace mono::test {

struct StubControl {
  // What it says it is.
  int version = 6'02'00000; ///< HIP 6.2: major * 10,000,000 + minor * 100,000
  int devices = 8;
  int firstSmallDevice = 64; ///< devices from this one on have a quarter of the compute units
  char arch[32] = "gfx950:sramecc+:xnack-";
  int computeUnits = 256;
  size_t ldsBytes = 163840;
  bool canAccessPeer = true;
  bool knowsUncached = true; ///< whether hipExtMallocWithFlags takes hipDeviceMallocUncached
  bool givesCoarse = false;  ///< whether it gives coarse-grained memory all the same
  int workgroupsPerComputeUnit = 1;
  int ldsOfKernel = 0, scratchOfKernel = 0, registersOfKernel = 32, threadsOfKernel = 1024;

  // Faults. Each is over when it has happened. Ranks call from threads of their own.
  std::atomic<const char *> failing{nullptr}; ///< the next call of this function fails
  std::atomic<long> failAtCall{0}; ///< the call that makes this count zero fails; 0: none
  int failure = 999;               ///< what a failing call returns

  // What happened.
  std::atomic<long> allocations{0}, streams{0}, modules{0}, imports{0}, graphs{0}; ///< now alive
  std::atomic<long> launches{0}, calls{0};
  std::atomic<void *> lastStream{nullptr}; ///< of the last launch
  std::atomic<int> lastDevice{-1};         ///< current at the last launch
};

/// Of the library; found by dlsym.
using StubControlFunction = StubControl *();
inline constexpr const char *stubControlName = "monoStubControl";

} // namespace mono::test

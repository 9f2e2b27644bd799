// Asks the HSA runtime, on which AMD's HIP stands, how memory is cached.
#pragma once

namespace mono::hip {

enum class MemoryGrain {
  Unknown, ///< not asked, or memory the one asked does not know
  Coarse,  ///< cached: what a peer writes is seen only after the kernel
  Fine,    ///< fine-grained: peers may write it while a kernel polls it
};

/// The grain of device memory by hsa_amd_pointer_info. Unknown when no HSA runtime is at work in
/// this process, when it is too old to tell, or when it does not know the memory (as that of an
/// emulated device).
MemoryGrain grainFromHsa(const void *memory);

} // namespace mono::hip

// The address windows through which FLAT instructions reach LDS and private memory.
#pragma once

#include <cstdint>

namespace mono::emu::aperture {

// 4 GiB windows outside the 48-bit device addresses; the values are those of the Linux driver for
// GFX9 (src_shared_base, src_private_base), but programs may only read them from the registers.
inline constexpr uint64_t size = uint64_t(1) << 32;
inline constexpr uint64_t sharedBase = uint64_t(0x1000000000000);
inline constexpr uint64_t privateBase = uint64_t(0x2000000000000);

inline bool isShared(uint64_t address) { return address - sharedBase < size; }
inline bool isPrivate(uint64_t address) { return address - privateBase < size; }

} // namespace mono::emu::aperture

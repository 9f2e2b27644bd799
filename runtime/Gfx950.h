// Facts of the chip that the runtime and the emulator count with: one MI355X in SPX mode.
#pragma once

#include <cstdint>

namespace mono::gfx950 {

/// Accelerator dies, each with an L2 of its own, and their active compute units (AMD Instinct
/// MI355X data sheet: 256 compute units; CDNA 4 white paper: 8 XCDs of 32).
inline constexpr unsigned xcds = 8, computeUnitsPerXcd = 32;
inline constexpr unsigned computeUnits = xcds * computeUnitsPerXcd;

/// A compute unit (CDNA4 ISA 4.3): SIMDs, and wave slots and 32-bit vector registers per lane of
/// each.
inline constexpr unsigned simdsPerComputeUnit = 4, wavesPerSimd = 8, vgprsPerSimd = 512;
inline constexpr unsigned wavesPerComputeUnit = simdsPerComputeUnit * wavesPerSimd;
/// Lanes of a wave, and the largest workgroup in work-items (CDNA4 ISA 4.3).
inline constexpr unsigned waveSize = 64, maxWorkgroupSize = 1024;
/// LDS of a compute unit in bytes, all of which one workgroup may own, and the granule it is handed
/// out in (CDNA4 ISA 11.1).
inline constexpr uint32_t ldsBytes = 163840, ldsGranule = 1280;

/// Caches in bytes: L2 of an XCD, vector L1 of a compute unit, scalar cache of two compute units,
/// Infinity Cache of the chip; HBM3E of the chip (CDNA 4 white paper; MI355X data sheet).
inline constexpr uint64_t l2Bytes = uint64_t(4) << 20, l1Bytes = 32768, scalarCacheBytes = 16384,
                          infinityCacheBytes = uint64_t(256) << 20;
inline constexpr unsigned computeUnitsPerScalarCache = 2;
inline constexpr uint64_t hbmBytes = uint64_t(288) << 30;

} // namespace mono::gfx950

// Plain facts of the gfx950 chip (MI355X) as data: no MLIR, no behaviour.
#pragma once

#include <cstdint>

namespace mono::gfx950 {

inline constexpr const char *kName = "gfx950";

/// Active compute units of an MI355X: 8 XCDs of 32 (AMD GPU specifications).
inline constexpr int64_t kComputeUnits = 256;
/// Lanes of a wavefront; gfx950 has no wave32 mode (CDNA4 ISA 4.3).
inline constexpr int64_t kWaveSize = 64;
/// Largest workgroup, in threads (CDNA4 ISA 4.3).
inline constexpr int64_t kMaxThreads = 1024;
/// LDS of a compute unit in bytes; one workgroup may own all of it (CDNA4 ISA 11.1).
inline constexpr int64_t kLdsBytes = 163840;
/// Peak of HBM3E of an MI355X in bytes per second (AMD Instinct MI355X data sheet: 8 TB/s).
inline constexpr int64_t kHbmBytesPerSecond = 8'000'000'000'000;
/// LDS is handed out in granules of this many bytes (CDNA4 ISA 11.1).
inline constexpr int64_t kLdsGranule = 1280;
/// Wavefronts a compute unit can hold: 4 SIMDs of 8.
inline constexpr int64_t kWavesPerCu = 32;
/// SIMDs of a compute unit.
inline constexpr int64_t kSimdsPerCu = 4;
/// 32-bit registers a lane of one SIMD has, shared by its wavefronts.
inline constexpr int64_t kRegistersPerLane = 512;
/// A wavefront gets vector registers in granules of this many.
inline constexpr int64_t kRegisterGranule = 8;

/// v_mfma_f32_16x16x32_bf16 (CDNA4 ISA 7.1): rows of A, columns of B, depth.
inline constexpr int64_t kMfmaM = 16;
inline constexpr int64_t kMfmaN = 16;
inline constexpr int64_t kMfmaK = 32;
/// Depth of v_mfma_scale_f32_16x16x128_f8f6f4, and elements that share a scale (CDNA4 ISA 7.1.5).
inline constexpr int64_t kMfmaMxK = 128;
inline constexpr int64_t kMxBlock = 32;

} // namespace mono::gfx950

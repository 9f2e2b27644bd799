// Kernels for instruction rates, made from LLVM IR so that the compiler's choices stay out of them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace mono::bench {

/// Kernel `rate(out, n)`: n rounds of 32 independent VALU instructions in equal parts fma f32,
/// add u32, xor and min f32, then one store per lane. 256 work-items per workgroup.
llvm::Expected<std::vector<uint8_t>> valuKernel();

/// Kernel `rate(out, n)`: n rounds of four independent v_mfma_f32_16x16x32_bf16.
llvm::Expected<std::vector<uint8_t>> bf16Kernel();

/// Kernel `rate(out, n)`: n rounds of four independent v_mfma_scale_f32_16x16x128_f8f6f4 on MXFP4.
llvm::Expected<std::vector<uint8_t>> mxfp4Kernel();

/// Kernel `rate(out, n)`: n rounds of 32 times `instruction`, assembly text, in the denormal mode
/// of the argument. It may read v0 to v31 (ordinary f32 numbers; v0 the work-item), the device
/// address v[64:65] and the LDS address v66 of 16 bytes per lane, and write v32 to v63, vcc and
/// these bytes. `out` has 4096 bytes per workgroup, and so has its LDS.
llvm::Expected<std::vector<uint8_t>> instructionKernel(llvm::StringRef instruction,
                                                       bool flushesDenormals = false);

} // namespace mono::bench

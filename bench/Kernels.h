// Kernels for instruction rates, made from LLVM IR so that the compiler's choices stay out of them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace mono::bench {

/// Kernel `rate(out, n)`: n rounds of 32 independent VALU instructions in equal parts fma f32,
/// add u32, xor and min f32, then one store a lane. 256 work-items a workgroup.
llvm::Expected<std::vector<uint8_t>> valuKernel();

/// Kernel `rate(out, n)`: n rounds of four independent v_mfma_f32_16x16x32_bf16.
llvm::Expected<std::vector<uint8_t>> bf16Kernel();

/// Kernel `rate(out, n)`: n rounds of four independent v_mfma_scale_f32_16x16x128_f8f6f4 on MXFP4.
llvm::Expected<std::vector<uint8_t>> mxfp4Kernel();

/// Kernel `rate(out, n)`: n rounds of 32 times `instruction`, assembly text that may read v1 to v15
/// and write v16 to v23, in the denormal mode of the argument. Stores nothing.
llvm::Expected<std::vector<uint8_t>> instructionKernel(llvm::StringRef instruction,
                                                       bool flushesDenormals = false);

} // namespace mono::bench

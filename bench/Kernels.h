// Kernels for instruction rates, made from LLVM IR so that the compiler's choices stay out of them.
#pragma once

#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace mono::bench {

/// Kernel `rate(out, n)`: n rounds of 32 independent VALU instructions in equal parts fma f32,
/// add u32, xor and min f32, then one store a lane. 256 work-items a workgroup.
llvm::Expected<std::vector<uint8_t>> valuKernel();

/// Kernel `rate(out, n)`: n rounds of four independent v_mfma_f32_16x16x32_bf16.
llvm::Expected<std::vector<uint8_t>> mfmaKernel();

} // namespace mono::bench

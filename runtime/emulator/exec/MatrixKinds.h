// The matrix instructions as the statistics tell them apart: by shape and types.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include "llvm/ADT/StringRef.h"

namespace mono::emu {

/// Number of the kind of an MFMA or SMFMAC with base name `name`; f8f6f4 forms have one kind for
/// each pair of formats (cbsz, blgp). Below matrixKindCount().
unsigned matrixKind(llvm::StringRef name, const Instruction &inst);
unsigned matrixKindCount();

/// "mfma_f32_16x16x32_bf16", "mfma_scale_f32_16x16x128_f8f6f4 fp4 x fp8".
llvm::StringRef matrixKindName(unsigned kind);

} // namespace mono::emu

// The register functions of the matrix instruction files, called by registerMfma().
#pragma once

#include "runtime/emulator/exec/Handlers.h"

namespace mono::emu::mfma {

void registerDense(HandlerTable &);  ///< f32, f16, bf16, i8, fp8, f64
void registerScaled(HandlerTable &); ///< f8f6f4, with and without scales
void registerSparse(HandlerTable &); ///< v_smfmac_*

} // namespace mono::emu::mfma

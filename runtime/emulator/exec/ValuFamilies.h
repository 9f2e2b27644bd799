// The register functions of the vector ALU files, called by registerValu() and registerMfma().
#pragma once

#include "runtime/emulator/exec/Handlers.h"

namespace mono::emu::valu {

void registerInteger(HandlerTable &);       ///< 32- and 64-bit integer and bit operations
void registerFloat(HandlerTable &);         ///< f32 and f64 arithmetic
void registerFloatUnary(HandlerTable &);    ///< special functions, rounding, frexp of all widths
void registerHalf(HandlerTable &);          ///< f16 arithmetic and 16-bit integers
void registerDivide(HandlerTable &);        ///< v_div_scale, v_div_fmas, v_div_fixup
void registerCompare(HandlerTable &);       ///< VOPC and v_cmp_class
void registerMove(HandlerTable &);          ///< moves, cndmask, lane access, permlane swaps
void registerPacked(HandlerTable &);        ///< VOP3P packed arithmetic, v_fma_mix
void registerDot(HandlerTable &);           ///< dot products
void registerConvert(HandlerTable &);       ///< conversions between integers, f16, f32, f64
void registerConvertSmall(HandlerTable &);  ///< fp8, bf8, bf16
void registerConvertScaled(HandlerTable &); ///< v_cvt_scalef32_*

} // namespace mono::emu::valu

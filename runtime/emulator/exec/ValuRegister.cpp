// Fills the handler table with the vector ALU and matrix families.
#include "runtime/emulator/exec/MfmaFamilies.h"
#include "runtime/emulator/exec/ValuFamilies.h"

namespace mono::emu {

void registerValu(HandlerTable &table) {
  valu::registerInteger(table);
  valu::registerFloat(table);
  valu::registerFloatUnary(table);
  valu::registerHalf(table);
  valu::registerDivide(table);
  valu::registerCompare(table);
  valu::registerMove(table);
  valu::registerPacked(table);
  valu::registerDot(table);
  valu::registerConvert(table);
  valu::registerConvertSmall(table);
  valu::registerConvertScaled(table);
}

void registerMfma(HandlerTable &table) {
  mfma::registerDense(table);
  mfma::registerScaled(table);
  mfma::registerSparse(table);
}

} // namespace mono::emu

// Matrix instructions are out of the fuzzer's scope for now: no template generates one, and the
// literal side refuses one. Their tests are valuMfmaTest.cpp and the kernels of
// test/runtime/kernels.
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"

namespace mono::fuzz {

bool executeMatrix(Execution &) { return false; }

llvm::ArrayRef<InstructionTemplate> matrixTemplates() { return {}; }

} // namespace mono::fuzz

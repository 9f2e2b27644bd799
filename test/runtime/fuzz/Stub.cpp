#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"
namespace mono::fuzz {
static bool no(Execution &) { return false; }

bool executeMatrix(Execution &e) { return no(e); }

llvm::ArrayRef<InstructionTemplate> matrixTemplates() { return {}; }

} // namespace mono::fuzz
namespace mono::fuzz {}

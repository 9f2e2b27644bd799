#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"
namespace mono::fuzz {
static bool no(Execution&){return false;}
bool executeDot(Execution &e){return no(e);}
bool executeScaledConversion(Execution &e){return no(e);} bool executeMatrix(Execution &e){return no(e);} bool executeLds(Execution &e){return no(e);} bool executeDeviceMemory(Execution &e){return no(e);}


llvm::ArrayRef<InstructionTemplate> conversionTemplates(){return {};}
llvm::ArrayRef<InstructionTemplate> memoryTemplates(){return {};}
llvm::ArrayRef<InstructionTemplate> matrixTemplates(){return {};}


}
namespace mono::fuzz {}


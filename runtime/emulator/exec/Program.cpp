// Decoded code of one code object.
#include "runtime/emulator/exec/Program.h"

#include "llvm/ADT/STLExtras.h"

namespace mono::emu {

Program::Program(std::vector<Instruction> instructions, std::vector<std::string> names,
                 uint64_t imageBytes, Disassemble disassemble)
    : code(std::move(instructions)), baseNames(std::move(names)),
      indexByDword(imageBytes / 4, none),
      // GLOBAL_LOAD_LDS_DWORD, BUFFER_LOAD_DWORD_LDS
      hasLdsLoads(llvm::any_of(baseNames, [](llvm::StringRef n) { return n.contains("_LDS"); })),
      print(std::move(disassemble)) {
  for (size_t i = 0; i < code.size(); ++i)
    if (code[i].size != 0 && code[i].pc / 4 < indexByDword.size())
      indexByDword[code[i].pc / 4] = uint32_t(i);
}

} // namespace mono::emu

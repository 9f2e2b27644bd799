// Decoded code of one code object, shared read-only by all waves and ranks that run it.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace mono::emu {

/// The instructions of a memory image, found by byte offset. Consecutive records are consecutive in
/// memory: the instruction after `inst`, unless it branches, is `*(&inst + 1)`; the last record of
/// each run is a sentinel without a handler.
class Program {
public:
  /// Prints the instruction at an image offset; may be slow, may be called from several threads.
  using Disassemble = std::function<std::string(const Instruction &)>;

  /// `instructions` in the order of their `pc`, `imageBytes` the size of the image they index.
  Program(std::vector<Instruction> instructions, std::vector<std::string> names,
          uint64_t imageBytes, Disassemble disassemble);

  /// The instruction that starts at byte `offset` of the image, or null.
  const Instruction *at(uint64_t offset) const {
    if (offset % 4 != 0 || offset / 4 >= indexByDword.size())
      return nullptr;
    uint32_t index = indexByDword[offset / 4];
    return index == none ? nullptr : &code[index];
  }

  /// Base name such as "V_ADD_F32"; empty for bytes that don't decode.
  llvm::StringRef name(const Instruction &inst) const { return baseNames[inst.nameId]; }
  /// Assembly text as LLVM prints it.
  std::string text(const Instruction &inst) const { return print(inst); }

  const std::vector<Instruction> &instructions() const { return code; }
  /// Any of them is a load to LDS.
  bool loadsToLds() const { return hasLdsLoads; }

private:
  static constexpr uint32_t none = ~0u;
  std::vector<Instruction> code;
  std::vector<std::string> baseNames;
  std::vector<uint32_t> indexByDword;
  bool hasLdsLoads;
  Disassemble print;
};

} // namespace mono::emu

// The bit fields of the GFX9 microcode formats that say how, not what: format, modifiers, offsets
// (CDNA4 ISA chapter "Microcode Formats"). Registers and opcodes come from LLVM's disassembler.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <cstdint>

namespace mono::emu {

/// The format of an instruction from its first dword; the matrix subset of VOP3P (Format::Mai) has
/// no prefix of its own and is told apart by name.
Format formatOf(uint32_t word);

/// The dwords of one instruction, missing ones zero.
struct EncodedWords {
  uint32_t word[4] = {};
};

/// Fills the modifier and offset fields of `inst` (format, size and operands already set).
void decodeModifiers(const EncodedWords &words, Instruction &inst);

} // namespace mono::emu

// The instructions whose rates `monobench emulator/instruction` measures.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include "llvm/ADT/ArrayRef.h"

namespace mono::bench {

/// One row of the table: assembly text for instructionKernel(), and what one of it is worth.
struct InstructionRow {
  const char *text;
  emu::InstructionClass counted = emu::InstructionClass::Valu;
  double worth = 1;
  const char *unit = "instructions/s";
  bool flushesDenormals = false; ///< in a kernel without f32 denormals, which runs another way
};

/// VALU, in wave instructions a second.
llvm::ArrayRef<InstructionRow> valuRows();
/// Matrix instructions, in multiply-adds a second; sparse ones count the products they make.
llvm::ArrayRef<InstructionRow> matrixRows();
/// LDS and global memory, in bytes a second.
llvm::ArrayRef<InstructionRow> memoryRows();

} // namespace mono::bench

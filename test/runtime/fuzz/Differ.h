// Runs programs on the emulator and on the literal wave side by side and reports the first
// difference, shrunk to the shortest program that still shows it. See README.md for what is
// compared to the bit and what is not.
#pragma once

#include "test/runtime/fuzz/FastWave.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace mono::fuzz {

/// The first instruction after which the two states differ.
struct Difference {
  size_t line = 0;  ///< index into FuzzProgram::lines; one past the end for the final comparison
  std::string text; ///< what differs: registers, lanes and both values
  State before;     ///< the common state before that instruction
};

class Differ {
public:
  uint64_t memoryBase() const { return fast.memoryBase(); }

  /// Compares program `n` of a batch, after each instruction and once more run in one go.
  std::optional<Difference> compare(const FuzzProgram &program, const CodeBatch &batch, size_t n);
  std::optional<Difference> compare(const FuzzProgram &program);

  /// A shorter program with the same kind of difference, usually one instruction and the state
  /// before it.
  FuzzProgram shrink(const FuzzProgram &program, const Difference &difference);

  /// Seed, program, operand values and both results.
  std::string report(const FuzzProgram &program, const Difference &difference);

  uint64_t instructions = 0;          ///< compared so far
  llvm::StringMap<uint64_t> executed; ///< how often, by mnemonic

private:
  std::optional<Difference> compareSteps(const FuzzProgram &program, const CodeBatch &batch,
                                         size_t n, State &final);

  FastWave fast;
};

} // namespace mono::fuzz

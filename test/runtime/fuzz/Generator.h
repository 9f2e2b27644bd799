// Writes random legal instructions: from the literal wave's tables, and from text templates for
// everything else.
#pragma once

#include "test/runtime/fuzz/FuzzProgram.h"
#include "test/runtime/fuzz/LiteralLane.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <string_view>

namespace mono::fuzz {

/// Text with holes:
///   {v} {v4}   source VGPR, aligned range of four     {d} {d4}   the same as a destination
///   {a4} {b4}  AGPRs as source and destination        {r4} {w4}  VGPRs or AGPRs likewise
///   {s} {s2}   source SGPRs                           {t} {t2}   destination SGPRs
///   {x} {y}    any 32- or 16-bit integer source       {f} {h}    any f32 or f16 one
///   {m}        an SGPR pair or VCC as lane mask
///   {n:LOW:HIGH:STEP} a number                        {p:A|B|C}  one of the texts
/// Lines that belong together are separated by newlines.
struct InstructionTemplate {
  const char *text;
};

llvm::ArrayRef<InstructionTemplate> laneTemplates();
llvm::ArrayRef<InstructionTemplate> packedTemplates();
llvm::ArrayRef<InstructionTemplate> conversionTemplates();
llvm::ArrayRef<InstructionTemplate> memoryTemplates();
llvm::ArrayRef<InstructionTemplate> matrixTemplates();

/// Operand texts for one instruction; knows that it may read one SGPR through the constant bus.
class OperandWriter {
public:
  explicit OperandWriter(Random &random) : random(random) {}

  std::string vgpr(unsigned count);
  std::string agpr(unsigned count);
  std::string sgpr(unsigned count);
  /// A source that a vector instruction takes anywhere: VGPR, one SGPR, inline constant.
  std::string anySource(char type, bool allowLiteral);
  std::string mask();
  std::string fill(std::string_view text);

  /// Reads one SGPR besides its explicit operands, such as VCC.
  void takeConstantBus() { busIsFree = false; }

private:
  std::string hole(std::string_view name);
  std::string scalarSource(unsigned count);

  Random &random;
  bool busIsFree = true;
};

/// Text of one instruction of the tables.
std::string writeVectorOp(const VectorOp &op, Random &random);
std::string writeScalarOp(const ScalarOp &op, Random &random);

} // namespace mono::fuzz

// One instruction being executed by the literal wave: operand access and the families.
#pragma once

#include "test/runtime/fuzz/LiteralLane.h"

namespace mono::fuzz {

struct Execution {
  State &state;
  const TextLine &line;
  LiteralWave::Outcome &outcome;
  const Modes modes;
  const uint64_t nextPc;

  const TextOperand &operand(unsigned n) const { return line.operands[n]; }

  /// Bits of a constant as an operation of type `type` sees it (CDNA4 ISA 4.2 and 6.2: an integer
  /// constant is the same bits for every type, a float constant has the format of the operation, a
  /// literal is the low dword of an integer and the high dword of an f64).
  uint64_t constant(const TextOperand &o, char type) const;
  /// An SGPR, SGPR pair or constant.
  uint64_t scalar(const TextOperand &o, char type) const;
  void writeScalar(const TextOperand &o, uint64_t value, bool wide);

  /// Dword `n` of a vector register operand.
  uint32_t &vector(const TextOperand &o, unsigned lane, unsigned n = 0) {
    return o.kind == TextOperand::Agpr ? state.agprs.at(o.index + n)[lane]
                                       : state.vgprs.at(o.index + n)[lane];
  }
  /// Dword `n` of any source without modifiers: vector registers by lane, scalars as they are.
  uint32_t dword(const TextOperand &o, unsigned lane, unsigned n = 0);
  /// Bits of a source of type `type` in a lane, without modifiers.
  uint64_t bits(const TextOperand &o, unsigned lane, char type);

  /// Notes a result that is a NaN, or lies in a range, in a register.
  void noteLoose(const TextOperand &o, unsigned n, unsigned lane, const Format &format,
                 bool highHalf = false);
  /// Notes a register of which nothing is known: part of it has been selected from an open result.
  void noteAny(const TextOperand &o, unsigned lane);
  void noteRange(const TextOperand &o, unsigned n, unsigned lane, const Format &format, double low,
                 double high, bool mayBeNan = false);
};

// Each executes the instruction if it belongs to the family, else returns false.
bool executeScalar(Execution &);
bool executeMoveRelative(Execution &);
bool executeProgramFlow(Execution &);
bool executeVector(Execution &);
bool executeLane(Execution &);
bool executePacked(Execution &);
bool executeDot(Execution &);
bool executeScaledConversion(Execution &);
bool executeMatrix(Execution &);
bool executeLds(Execution &);
bool executeDeviceMemory(Execution &);

/// The sign bit of a source type.
inline uint64_t signBit(char type) {
  return type == 'd' ? uint64_t(1) << 63 : type == 'h' || type == 's' ? 0x8000u : 0x80000000u;
}

/// Zero of the same sign if `code` is a denormal, else `code`.
inline uint64_t flushed(const Format &format, uint64_t code) {
  return format.isDenormal(code) ? code & format.sign() : code;
}

} // namespace mono::fuzz

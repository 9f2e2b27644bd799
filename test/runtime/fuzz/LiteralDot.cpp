// Dot products of packed small elements, added to a 32-bit value (CDNA4 ISA 12.9). The float forms
// leave intermediate rounding open, so any result near the exact sum is accepted.
#include "test/runtime/fuzz/LiteralExecution.h"

#include <algorithm>
#include <cmath>

namespace mono::fuzz {

namespace {

struct DotOp {
  const char *name;
  unsigned bits; ///< of an element
  char kind;     ///< i signed, u unsigned, h f16, b bf16
  bool accumulates = false;
};
constexpr DotOp kOps[] = {
    {"v_dot2_f32_f16", 16, 'h'},        {"v_dot2_f32_bf16", 16, 'b'},
    {"v_dot2_i32_i16", 16, 'i'},        {"v_dot2_u32_u16", 16, 'u'},
    {"v_dot4_i32_i8", 8, 'i'},          {"v_dot4_u32_u8", 8, 'u'},
    {"v_dot8_i32_i4", 4, 'i'},          {"v_dot8_u32_u4", 4, 'u'},
    {"v_dot2c_f32_f16", 16, 'h', true}, {"v_dot2c_f32_bf16", 16, 'b', true},
    {"v_dot2c_i32_i16", 16, 'i', true}, {"v_dot4c_i32_i8", 8, 'i', true},
    {"v_dot8c_i32_i4", 4, 'i', true},
};

bool isFloat(const DotOp &op) { return op.kind == 'h' || op.kind == 'b'; }

/// Element `n` of source `s` in a lane: op_sel and op_sel_hi pick halves of the 16-bit forms.
uint32_t element(Execution &e, const DotOp &op, unsigned s, unsigned n, unsigned lane) {
  const uint32_t dword = uint32_t(e.bits(e.operand(1 + s), lane, isFloat(op) ? 'h' : 'i'));
  if (op.bits != 16)
    return dword >> op.bits * n & ((1u << op.bits) - 1);
  const bool upper = n ? e.line.item("op_sel_hi", s, 1) : e.line.item("op_sel", s, 0);
  uint32_t half = (upper ? dword >> 16 : dword) & 0xffff;
  if (isFloat(op) && e.line.item(n ? "neg_hi" : "neg_lo", s, 0))
    half ^= 0x8000;
  const bool flushes = op.kind == 'h' && !e.modes.keepInF64F16;
  return flushes ? uint32_t(flushed(kF16, half)) : half;
}

uint32_t integerDot(Execution &e, const DotOp &op, unsigned lane, uint32_t addend) {
  const bool isSigned = op.kind == 'i';
  int64_t sum = isSigned ? int64_t(int32_t(addend)) : int64_t(addend);
  auto value = [&](unsigned s, unsigned n) {
    const int64_t raw = element(e, op, s, n, lane);
    return isSigned && raw >> (op.bits - 1) ? raw - (int64_t(1) << op.bits) : raw;
  };
  for (unsigned n = 0; n < 32 / op.bits; ++n)
    sum += value(0, n) * value(1, n);
  if (e.line.has("clamp"))
    sum = isSigned ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)
                   : std::clamp<int64_t>(sum, 0, UINT32_MAX);
  return uint32_t(sum);
}

void floatDot(Execution &e, const DotOp &op, unsigned lane, uint32_t addend) {
  const Format &format = op.kind == 'h' ? kF16 : kBf16;
  double sum = toDouble(kF32, addend), size = std::fabs(sum);
  double lowest = sum, highest = sum; // the products may also be flushed: then they lie in between
  for (unsigned n : {0u, 1u}) {
    const double product =
        toDouble(format, element(e, op, 0, n, lane)) * toDouble(format, element(e, op, 1, n, lane));
    sum += product;
    size += std::fabs(product);
    lowest += std::min(product, 0.0);
    highest += std::max(product, 0.0);
  }
  uint32_t &row = e.vector(e.operand(0), lane);
  row = uint32_t(pack(kF32, fromDouble(sum), e.modes.roundF32));
  // Three roundings to f32 at the size of the terms, and denormals lost on the way.
  const double slack = size * 0x1p-22 + 0x1p-125;
  const double greatest = toDouble(kF32, kF32.greatest());
  if (!(size < greatest / 2)) {
    e.noteAny(e.operand(0), lane); // infinity, NaN or near them: order decides
    return;
  }
  double low = sum - slack, high = sum + slack;
  if (op.kind == 'b' && size < 1) {
    low = std::min(low, lowest);
    high = std::max(high, highest);
  }
  if (e.line.has("clamp")) {
    low = std::clamp(low, 0.0, 1.0);
    high = std::clamp(high, 0.0, 1.0);
  }
  e.noteRange(e.operand(0), 0, lane, kF32, low, high);
}

} // namespace

bool executeDot(Execution &e) {
  if (!e.line.mnemonic.starts_with("v_dot"))
    return false;
  for (const DotOp &op : kOps) {
    if (e.line.mnemonic != op.name)
      continue;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!e.state.active(lane))
        continue;
      const TextOperand &addendOperand = op.accumulates ? e.operand(0) : e.operand(3);
      const uint32_t addend = uint32_t(e.bits(addendOperand, lane, isFloat(op) ? 'f' : 'i'));
      if (isFloat(op))
        floatDot(e, op, lane, addend);
      else
        e.vector(e.operand(0), lane) = integerDot(e, op, lane, addend);
    }
    return true;
  }
  return false;
}

} // namespace mono::fuzz

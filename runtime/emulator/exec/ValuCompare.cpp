// VOPC: comparisons and class tests. The mask goes to dst[0], bits of inactive lanes are zero, and
// V_CMPX writes EXEC as well (CDNA4 ISA, chapter "VOPC Instructions").
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuLanes.h"
#include "runtime/emulator/exec/ValuMinMax.h"

#include <cstdint>
#include <string>

namespace mono::emu::valu {
namespace {

/// Evaluates `Predicate` on the lanes of two sources.
template <typename A, typename B, auto Predicate>
[[gnu::noinline]] uint64_t compareLanes(Wave &wave, const Instruction &inst) {
  const detail::Source<A> a(wave, inst, 0);
  const detail::Source<B> b(wave, inst, 1);
  LaneBuffer result;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    result.dword[lane] = -uint32_t(Predicate(a[lane], b[lane]));
  return packSigns(result.dword) & writeMask(wave, inst);
}

template <typename A, typename B, auto Predicate, bool WritesExec>
void compare(Wave &wave, const Instruction &inst) {
  const uint64_t mask = compareLanes<A, B, Predicate>(wave, inst);
  wave.writeScalar64(inst.dst[0], mask);
  if constexpr (WritesExec)
    wave.setExec(mask);
}

/// Registers V_CMP_<condition>_<type> and its V_CMPX twin.
template <typename A, typename B, auto Predicate>
void add(HandlerTable &table, const std::string &condition, const std::string &type) {
  table.add("V_CMP_" + condition + "_" + type, compare<A, B, Predicate, false>);
  table.add("V_CMPX_" + condition + "_" + type, compare<A, B, Predicate, true>);
}

// ---- what the conditions compare -----------------------------------------------------------

float number(F16 x) { return x.value; }
template <typename T> T number(T x) { return x; }

/// The predicates; `T` is the operand type. Those whose names begin with N are true for NaN.
template <typename T> struct Condition {
  static constexpr auto never = [](T, T) { return false; };
  static constexpr auto lt = [](T a, T b) { return number(a) < number(b); };
  static constexpr auto eq = [](T a, T b) { return number(a) == number(b); };
  static constexpr auto le = [](T a, T b) { return number(a) <= number(b); };
  static constexpr auto gt = [](T a, T b) { return number(a) > number(b); };
  static constexpr auto ge = [](T a, T b) { return number(a) >= number(b); };
  static constexpr auto ne = [](T a, T b) { return number(a) != number(b); };
  static constexpr auto lg = [](T a, T b) {
    return number(a) < number(b) || number(a) > number(b);
  };
  static constexpr auto unordered = [](T a, T b) {
    return number(a) != number(a) || number(b) != number(b);
  };
  static constexpr auto ordered = [](T a, T b) {
    return number(a) == number(a) && number(b) == number(b);
  };
  static constexpr auto nge = [](T a, T b) { return !(number(a) >= number(b)); };
  static constexpr auto nlg = [](T a, T b) { return !lg(a, b); };
  static constexpr auto ngt = [](T a, T b) { return !(number(a) > number(b)); };
  static constexpr auto nle = [](T a, T b) { return !(number(a) <= number(b)); };
  static constexpr auto nlt = [](T a, T b) { return !(number(a) < number(b)); };
  static constexpr auto always = [](T, T) { return true; };
};

template <typename T> void addOrdered(HandlerTable &table, const std::string &type) {
  using C = Condition<T>;
  add<T, T, C::never>(table, "F", type);
  add<T, T, C::lt>(table, "LT", type);
  add<T, T, C::eq>(table, "EQ", type);
  add<T, T, C::le>(table, "LE", type);
  add<T, T, C::gt>(table, "GT", type);
  add<T, T, C::ge>(table, "GE", type);
}

template <typename T> void addInteger(HandlerTable &table, const std::string &type) {
  using C = Condition<T>;
  addOrdered<T>(table, type);
  add<T, T, C::ne>(table, "NE", type);
  add<T, T, C::always>(table, "T", type);
}

template <typename T> void addFloat(HandlerTable &table, const std::string &type) {
  using C = Condition<T>;
  addOrdered<T>(table, type);
  add<T, T, C::lg>(table, "LG", type);
  add<T, T, C::ordered>(table, "O", type);
  add<T, T, C::unordered>(table, "U", type);
  add<T, T, C::nge>(table, "NGE", type);
  add<T, T, C::nlg>(table, "NLG", type);
  add<T, T, C::ngt>(table, "NGT", type);
  add<T, T, C::nle>(table, "NLE", type);
  add<T, T, C::ne>(table, "NEQ", type);
  add<T, T, C::nlt>(table, "NLT", type);
  add<T, T, C::always>(table, "TRU", type);
}

// ---- class tests ---------------------------------------------------------------------------

/// Bit number of a value's class: 0 sNaN, 1 qNaN, 2 -Inf, 3 -normal, 4 -denormal, 5 -0, 6 +0,
/// 7 +denormal, 8 +normal, 9 +Inf.
template <typename Bits> unsigned classOf(Bits bits) {
  using Code = FloatCode<Bits>;
  const Bits magnitude = Bits(bits & ~Code::sign);
  if (magnitude > Code::infinity)
    return isSignalling(bits) ? 0 : 1;
  const unsigned size = magnitude == 0                      ? 0
                        : magnitude == Code::infinity       ? 3
                        : (magnitude & Code::infinity) == 0 ? 1
                                                            : 2;
  return bits & Code::sign ? 5 - size : 6 + size;
}

/// V_CMP_CLASS sees denormals whatever MODE says: llvm.is.fpclass relies on it.
template <typename T, auto Predicate, bool WritesExec>
void compareClass(Wave &wave, const Instruction &inst) {
  const uint32_t saved = wave.modeRegister;
  wave.modeRegister |= 1u << mode::denormF64F16 | 1u << mode::denormF32;
  compare<T, uint32_t, Predicate, WritesExec>(wave, inst);
  wave.modeRegister = saved;
}

template <typename T, auto Predicate> void addClass(HandlerTable &table, const std::string &type) {
  table.add("V_CMP_CLASS_" + type, compareClass<T, Predicate, false>);
  table.add("V_CMPX_CLASS_" + type, compareClass<T, Predicate, true>);
}

constexpr auto kClassF16 = [](F16Code x, uint32_t mask) { return mask >> classOf(x.bits) & 1; };
constexpr auto kClassF32 = [](SignedBits x, uint32_t mask) { return mask >> classOf(x.bits) & 1; };
constexpr auto kClassF64 = [](double x, uint32_t mask) {
  return mask >> classOf(std::bit_cast<uint64_t>(x)) & 1;
};

} // namespace

void registerCompare(HandlerTable &table) {
  addFloat<F16>(table, "F16");
  addFloat<float>(table, "F32");
  addFloat<double>(table, "F64");
  addInteger<int16_t>(table, "I16");
  addInteger<uint16_t>(table, "U16");
  addInteger<int32_t>(table, "I32");
  addInteger<uint32_t>(table, "U32");
  addInteger<int64_t>(table, "I64");
  addInteger<uint64_t>(table, "U64");
  addClass<F16Code, kClassF16>(table, "F16");
  addClass<SignedBits, kClassF32>(table, "F32");
  addClass<double, kClassF64>(table, "F64");
}

} // namespace mono::emu::valu

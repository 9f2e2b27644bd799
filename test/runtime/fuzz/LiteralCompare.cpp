// v_cmp_* and v_cmpx_* of every condition and type, and the class tests (CDNA4 ISA 12.10).
#include "test/runtime/fuzz/LiteralLane.h"

#include <map>
#include <string>
#include <vector>

namespace mono::fuzz {

namespace {

/// Which of less, equal, greater and unordered satisfy a condition.
enum Order : unsigned { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

struct Condition {
  const char *name;
  unsigned satisfied;
};
constexpr Condition kFloatConditions[] = {
    {"f", 0},
    {"lt", Less},
    {"eq", Equal},
    {"le", Less | Equal},
    {"gt", Greater},
    {"lg", Less | Greater},
    {"ge", Greater | Equal},
    {"o", Less | Equal | Greater},
    {"u", Unordered},
    {"nge", Less | Unordered},
    {"nlg", Equal | Unordered},
    {"ngt", Less | Equal | Unordered},
    {"nle", Greater | Unordered},
    {"neq", Less | Greater | Unordered},
    {"nlt", Greater | Equal | Unordered},
    {"tru", Less | Equal | Greater | Unordered},
};
constexpr Condition kIntegerConditions[] = {
    {"f", 0},        {"lt", Less},           {"eq", Equal},           {"le", Less | Equal},
    {"gt", Greater}, {"ne", Less | Greater}, {"ge", Greater | Equal}, {"t", Less | Equal | Greater},
};

template <typename T> unsigned orderOf(T a, T b) { return a < b ? Less : a > b ? Greater : Equal; }

unsigned floatOrder(const LaneInput &x) {
  const int order = compare(x.number(0), x.number(1));
  return order == 2 ? Unordered : order < 0 ? Less : order > 0 ? Greater : Equal;
}

/// Order of the sources of v_cmp_COND_TYPE.
unsigned order(const LaneInput &x, std::string_view type) {
  const uint64_t a = x.s[0], b = x.s[1];
  if (type[0] == 'f')
    return floatOrder(x);
  if (type == "i16")
    return orderOf(int16_t(a), int16_t(b));
  if (type == "i32")
    return orderOf(int32_t(a), int32_t(b));
  if (type == "i64")
    return orderOf(int64_t(a), int64_t(b));
  return orderOf(a, b);
}

uint64_t compareLane(LaneInput &x) {
  // "v_cmp_lt_f32" or "v_cmpx_lt_f32"
  const std::string_view name(x.line.mnemonic);
  const size_t typeAt = name.rfind('_'), conditionAt = name.find('_', 2) + 1;
  const std::string_view type = name.substr(typeAt + 1);
  const std::string_view condition = name.substr(conditionAt, typeAt - conditionAt);
  const llvm::ArrayRef<Condition> conditions =
      type[0] == 'f' ? llvm::ArrayRef<Condition>(kFloatConditions) : kIntegerConditions;
  for (const Condition &c : conditions)
    if (condition == c.name)
      return (c.satisfied & order(x, type)) != 0;
  return 0;
}

/// Bits of S1: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
uint64_t classLane(LaneInput &x) {
  const Format &format = LaneInput::formatOf(x.type(0));
  const uint64_t code = x.s[0];
  const bool negative = code & format.sign();
  unsigned bit;
  if (format.isNan(code))
    return x.s[1] >> !format.isSignallingNan(code) & 1;
  if (format.isInfinite(code))
    bit = 2;
  else if (format.isZero(code))
    bit = 5;
  else
    bit = format.isDenormal(code) ? 4 : 3;
  return x.s[1] >> (negative ? bit : 11 - bit) & 1;
}

std::vector<VectorOp> makeOps() {
  static std::vector<std::string> names;
  names.reserve(512);
  std::vector<VectorOp> ops;
  auto addOp = [&](std::string name, const char *types, uint64_t (*compute)(LaneInput &),
                   uint32_t forms) {
    for (const char *prefix : {"v_cmp_", "v_cmpx_"}) {
      names.push_back(prefix + name);
      ops.push_back({names.back().c_str(), forms, types, compute});
    }
  };
  constexpr uint32_t kSmall = kE32 | kE64 | kSdwa, kWide = kE32 | kE64;
  for (const Condition &c : kFloatConditions) {
    addOp(std::string(c.name) + "_f32", "c=ff", compareLane, kSmall);
    addOp(std::string(c.name) + "_f16", "c=hh", compareLane, kSmall);
    addOp(std::string(c.name) + "_f64", "c=dd", compareLane, kWide);
  }
  for (const Condition &c : kIntegerConditions)
    for (const char *sign : {"_i", "_u"}) {
      addOp(c.name + std::string(sign) + "32", "c=ii", compareLane, kSmall);
      addOp(c.name + std::string(sign) + "16", "c=ss", compareLane, kSmall);
      addOp(c.name + std::string(sign) + "64", "c=ll", compareLane, kWide);
    }
  addOp("class_f32", "c=fi", classLane, kSmall | kNoInputFlush);
  addOp("class_f16", "c=hs", classLane, kSmall | kNoInputFlush);
  addOp("class_f64", "c=di", classLane, kWide | kNoInputFlush);
  return ops;
}

} // namespace

llvm::ArrayRef<VectorOp> compareOps() {
  static const std::vector<VectorOp> ops = makeOps();
  return ops;
}

} // namespace mono::fuzz

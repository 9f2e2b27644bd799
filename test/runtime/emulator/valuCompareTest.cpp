// VOPC: truth of every condition on ordered, equal and unordered pairs, the mask of inactive lanes,
// and what V_CMPX does to EXEC.
#include "test/runtime/emulator/valuTestSupport.h"

#include <cmath>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// Relation of two numbers: exactly one holds. The conditions are sets of these (CDNA4 ISA, VOPC).
enum Relation : unsigned { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

struct Condition {
  const char *name;
  unsigned holdsFor;
};
const Condition kFloatConditions[] = {
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
    {"nlt", Equal | Greater | Unordered},
    {"tru", 15},
};
const Condition kIntegerConditions[] = {
    {"f", 0},        {"lt", Less},           {"eq", Equal},           {"le", Less | Equal},
    {"gt", Greater}, {"ne", Less | Greater}, {"ge", Greater | Equal}, {"t", 15},
};

template <typename T> unsigned relation(T a, T b) {
  return a < b ? Less : a > b ? Greater : a == b ? Equal : Unordered;
}

class ValuCompare : public ValuTest {
protected:
  /// Compares v[2:3] with v[4:5] under every condition; `value` reads a lane of a register.
  template <typename Value, std::size_t N>
  void check(const char *type, bool wide, const Condition (&conditions)[N], Value value) {
    wave.setExec(kSome);
    const char *operands = wide ? ", v[2:3], v[4:5]" : ", v2, v4";
    for (const Condition &condition : conditions) {
      const std::string name = std::string(condition.name) + "_" + type;
      SCOPED_TRACE(name);
      uint64_t want = 0;
      for (unsigned lane = 0; lane < 64; ++lane)
        if (active(lane) && (condition.holdsFor & relation(value(2, lane), value(4, lane))))
          want |= 1ull << lane;
      run("v_cmp_" + name + "_e32 vcc" + operands);
      ASSERT_EQ(wave.vcc(), want);
      run("v_cmp_" + name + "_e64 s[8:9]" + operands);
      ASSERT_EQ(wave.sgpr64(8), want);
      run("v_cmpx_" + name + "_e64 s[10:11]" + operands);
      ASSERT_EQ(wave.sgpr64(10), want);
      ASSERT_EQ(wave.exec(), want);
      wave.setExec(kSome);
    }
  }
  /// Makes a third of the pairs equal.
  void makeSomeEqual() {
    for (unsigned lane = 0; lane < 64; lane += 3)
      for (unsigned n = 0; n < 2; ++n)
        v(4 + n, lane) = v(2 + n, lane);
  }
};

TEST_F(ValuCompare, Singles) {
  fill(2, 4, [this] { return anyFloat(); });
  makeSomeEqual();
  v(2, 0) = 0, v(4, 0) = 0x80000000; // zeros of either sign are equal
  check("f32", false, kFloatConditions, [&](unsigned reg, unsigned lane) { return f(reg, lane); });
}

TEST_F(ValuCompare, Doubles) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    set64(2, lane, anyDouble());
    set64(4, lane, anyDouble());
  }
  makeSomeEqual();
  check("f64", true, kFloatConditions,
        [&](unsigned reg, unsigned lane) { return std::bit_cast<double>(v64(reg, lane)); });
}

TEST_F(ValuCompare, Halves) {
  fill(2, 4, [this] { return anyHalf() | uint32_t(random()) << 16; });
  makeSomeEqual();
  check("f16", false, kFloatConditions, [&](unsigned reg, unsigned lane) {
    return float(std::bit_cast<_Float16>(uint16_t(v(reg, lane))));
  });
}

TEST_F(ValuCompare, Integers) {
  fillBits(2, 4);
  makeSomeEqual();
  v(2, 0) = 0x7fffffff, v(4, 0) = 0x80000000;
  const auto as = [this]<typename T>(T) {
    return [this](unsigned reg, unsigned lane) {
      return sizeof(T) == 8 ? T(v64(reg, lane)) : T(v(reg, lane));
    };
  };
  check("i16", false, kIntegerConditions, as(int16_t()));
  check("u16", false, kIntegerConditions, as(uint16_t()));
  check("i32", false, kIntegerConditions, as(int32_t()));
  check("u32", false, kIntegerConditions, as(uint32_t()));
  check("i64", true, kIntegerConditions, as(int64_t()));
  check("u64", true, kIntegerConditions, as(uint64_t()));
}

TEST_F(ValuCompare, ModifiersAndDenormalMode) {
  v(2, 0) = 0x3f800000, v(4, 0) = 0xbf800000; // 1 and -1
  wave.setExec(1);
  run("v_cmp_eq_f32_e64 s[8:9], v2, v4");
  EXPECT_EQ(wave.sgpr64(8), 0u);
  run("v_cmp_eq_f32_e64 s[8:9], v2, |v4|");
  EXPECT_EQ(wave.sgpr64(8), 1u);
  run("v_cmp_eq_f32_e64 s[8:9], -v2, v4");
  EXPECT_EQ(wave.sgpr64(8), 1u);
  v(2, 0) = 1;
  run("v_cmp_gt_f32_e64 s[8:9], v2, 0");
  EXPECT_EQ(wave.sgpr64(8), 1u);
  setMode(mode::denormF32, 2, 2);
  run("v_cmp_gt_f32_e64 s[8:9], v2, 0");
  EXPECT_EQ(wave.sgpr64(8), 0u) << "the input flushes to zero";
}

TEST_F(ValuCompare, ClassMaskHasOneBitAClass) {
  const struct {
    uint32_t single;
    uint16_t half;
    unsigned bit;
  } kCases[] = {
      {0x7f800001, 0x7c01, 0}, {0x7fc00000, 0x7e00, 1}, {0xff800000, 0xfc00, 2},
      {0xbf800000, 0xbc00, 3}, {0x80000001, 0x8001, 4}, {0x80000000, 0x8000, 5},
      {0x00000000, 0x0000, 6}, {0x00000001, 0x0001, 7}, {0x3f800000, 0x3c00, 8},
      {0x7f800000, 0x7c00, 9},
  };
  wave.setExec(1);
  for (const auto &c : kCases)
    for (unsigned bit = 0; bit < 10; ++bit) {
      v(2, 0) = c.single;
      v(3, 0) = c.half;
      v(4, 0) = 1u << bit;
      run("v_cmp_class_f32_e64 s[8:9], v2, v4\n v_cmp_class_f16_e64 s[10:11], v3, v4");
      EXPECT_EQ(wave.sgpr64(8), uint64_t(bit == c.bit)) << std::hex << c.single;
      EXPECT_EQ(wave.sgpr64(10), uint64_t(bit == c.bit)) << std::hex << c.half;
    }
  set64(2, 0, 0x800fffffffffffffull);
  v(4, 0) = 1 << 4;
  run("v_cmp_class_f64_e32 vcc, v[2:3], v4");
  EXPECT_EQ(wave.vcc(), 1u);
}

} // namespace

// VOP3P: packed 16-bit and f32 operations with op_sel and neg, v_fma_mix, dot products.
#include "test/runtime/emulator/valuTestSupport.h"

#include "runtime/emulator/numeric/FloatFormat.h"

#include <cmath>

using namespace mono::emu;
using namespace mono::emu::test;
using namespace mono::numeric;

namespace {

double half(uint32_t code) { return decode(kFp16, code & 0xffff); }
uint32_t part(uint32_t dword, bool high) { return high ? dword >> 16 : dword & 0xffff; }

class ValuPacked : public ValuTest {
protected:
  void fillHalves(unsigned first, unsigned count) {
    fill(first, count, [this] {
      const auto moderate = [this] { return (random() & 0x83ff) | (10 + random() % 12) << 10; };
      return uint32_t(moderate() | moderate() << 16);
    });
  }
};

TEST_F(ValuPacked, HalvesAreIndependent) {
  wave.setExec(kSome);
  fillHalves(0, 4);
  const Row before = row(0), a = row(1), b = row(2), c = row(3);
  run("v_pk_fma_f16 v0, v1, v2, v3");
  expectRow(0, before, [&](unsigned lane) {
    uint32_t result = 0;
    for (bool high : {false, true})
      result |= encode(kFp16, half(part(a[lane], high)) * half(part(b[lane], high)) +
                                  half(part(c[lane], high)))
                << 16 * high;
    return result;
  });
}

TEST_F(ValuPacked, SelectsAndSignsAreForEachHalf) {
  fillHalves(0, 4);
  const Row before = row(0), a = row(1), b = row(2);
  run("v_pk_mul_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]");
  expectRow(0, before, [&](unsigned lane) {
    const uint32_t low = encode(kFp16, -half(a[lane] >> 16) * half(b[lane]));
    const uint32_t high = encode(kFp16, half(a[lane]) * -half(b[lane] >> 16));
    return low | high << 16;
  });
  run("v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]"); // the constant is in its low half alone
  expectRow(0, before, [&](unsigned lane) {
    return encode(kFp16, half(a[lane]) + 1) | encode(kFp16, half(a[lane] >> 16) + 1) << 16;
  });
}

TEST_F(ValuPacked, Integers) {
  fillBits(0, 4);
  const Row before = row(0), a = row(1), b = row(2), c = row(3);
  const auto each = [&](unsigned lane, auto fn) {
    uint32_t result = 0;
    for (bool high : {false, true})
      result |=
          (uint32_t(fn(part(a[lane], high), part(b[lane], high), part(c[lane], high))) & 0xffff)
          << 16 * high;
    return result;
  };
  const auto check = [&](const char *text, auto fn) {
    SCOPED_TRACE(text);
    run(text);
    expectRow(0, before, [&](unsigned lane) { return each(lane, fn); });
  };
  const auto s = [](uint32_t x) { return int(int16_t(x)); };
  check("v_pk_add_u16 v0, v1, v2", [](auto x, auto y, auto) { return x + y; });
  check("v_pk_sub_i16 v0, v1, v2", [](auto x, auto y, auto) { return x - y; });
  check("v_pk_add_i16 v0, v1, v2 clamp",
        [&](auto x, auto y, auto) { return std::clamp(s(x) + s(y), -32768, 32767); });
  check("v_pk_sub_u16 v0, v1, v2 clamp", [](auto x, auto y, auto) { return x > y ? x - y : 0; });
  check("v_pk_mad_u16 v0, v1, v2, v3", [](auto x, auto y, auto z) { return x * y + z; });
  check("v_pk_mul_lo_u16 v0, v1, v2", [](auto x, auto y, auto) { return x * y; });
  check("v_pk_max_i16 v0, v1, v2", [&](auto x, auto y, auto) { return std::max(s(x), s(y)); });
  check("v_pk_min_u16 v0, v1, v2", [](auto x, auto y, auto) { return std::min(x, y); });
  check("v_pk_lshlrev_b16 v0, v1, v2", [](auto x, auto y, auto) { return y << x % 16; });
  check("v_pk_ashrrev_i16 v0, v1, v2", [&](auto x, auto y, auto) { return s(y) >> x % 16; });
}

TEST_F(ValuPacked, SinglesInPairs) {
  wave.setExec(kSome);
  fill(0, 10, [this] { return ordinaryFloat(); });
  const Row before[] = {row(0), row(1)}, a[] = {row(2), row(3)}, b[] = {row(4), row(5)},
            c[] = {row(6), row(7)};
  const auto number = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  run("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]");
  for (unsigned n = 0; n < 2; ++n)
    expectFloats(n, before[n], [&](unsigned lane) {
      return float(__float128(number(a[n][lane])) * number(b[n][lane]) + number(c[n][lane]));
    });
  run("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,0] neg_lo:[0,1]");
  expectFloats(0, before[0],
               [&](unsigned lane) { return number(a[1][lane]) * -number(b[0][lane]); });
  expectFloats(1, before[1],
               [&](unsigned lane) { return number(a[0][lane]) * number(b[0][lane]); });
  // The destination pair is also a source with its dwords exchanged.
  run("v_pk_add_f32 v[2:3], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]");
  expectFloats(2, a[0], [&](unsigned lane) { return number(a[1][lane]) + number(b[0][lane]); });
  expectFloats(3, a[1], [&](unsigned lane) { return number(a[0][lane]) + number(b[1][lane]); });
  s(8) = 0x40000000, s(9) = 0x40400000;
  run("v_pk_mul_f32 v[0:1], v[4:5], s[8:9]");
  expectFloats(0, before[0], [&](unsigned lane) { return number(b[0][lane]) * 2; });
  expectFloats(1, before[1], [&](unsigned lane) { return number(b[1][lane]) * 3; });
}

TEST_F(ValuPacked, MovePicksADwordOfEachSource) {
  const Row a = row(3), b = row(4);
  run("v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]");
  EXPECT_EQ(row(0), a);
  EXPECT_EQ(row(1), b);
}

TEST_F(ValuPacked, MixedFma) {
  wave.setExec(kSome);
  fillHalves(1, 2);
  fill(3, 1, [this] { return ordinaryFloat(); });
  fillBits(0, 1);
  const Row before = row(0), a = row(1), b = row(2), c = row(3);
  const auto number = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  // a: high half, b: low half with abs, c: f32 negated.
  const auto exact = [&](unsigned lane) {
    return float(__float128(half(a[lane] >> 16)) * std::fabs(half(b[lane])) - number(c[lane]));
  };
  const char *sources = " v1, |v2|, -v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]";
  run(std::string("v_fma_mix_f32 v0,") + sources);
  expectFloats(0, before, exact);
  std::copy(before.begin(), before.end(), &v(0, 0));
  run(std::string("v_fma_mixlo_f16 v0,") + sources);
  expectRow(0, before, [&](unsigned lane) {
    return (before[lane] & 0xffff0000) | encode(kFp16, exact(lane));
  });
  std::copy(before.begin(), before.end(), &v(0, 0));
  run(std::string("v_fma_mixhi_f16 v0,") + sources);
  expectRow(0, before, [&](unsigned lane) {
    return (before[lane] & 0xffff) | encode(kFp16, exact(lane)) << 16;
  });
}

TEST_F(ValuPacked, IntegerDotProducts) {
  fillBits(0, 4);
  const Row before = row(0), a = row(1), b = row(2), c = row(3);
  const auto dot = [&](unsigned lane, unsigned bits, bool isSigned) {
    const auto element = [&](uint32_t x, unsigned n) {
      __int128 value = x >> bits * n & ((1u << bits) - 1);
      return isSigned && value >> (bits - 1) ? value - (1 << bits) : value;
    };
    __int128 sum = isSigned ? __int128(int32_t(c[lane])) : c[lane];
    for (unsigned n = 0; n < 32 / bits; ++n)
      sum += element(a[lane], n) * element(b[lane], n);
    return sum;
  };
  for (auto [text, bits, isSigned] : {std::tuple{"v_dot2_i32_i16", 16u, true},
                                      {"v_dot2_u32_u16", 16u, false},
                                      {"v_dot4_i32_i8", 8u, true},
                                      {"v_dot4_u32_u8", 8u, false},
                                      {"v_dot8_i32_i4", 4u, true},
                                      {"v_dot8_u32_u4", 4u, false}}) {
    SCOPED_TRACE(text);
    run(std::string(text) + " v0, v1, v2, v3");
    expectRow(0, before, [&](unsigned lane) { return dot(lane, bits, isSigned); });
    run(std::string(text) + " v0, v1, v2, v3 clamp");
    expectRow(0, before, [&](unsigned lane) {
      const __int128 low = isSigned ? -(__int128(1) << 31) : 0,
                     high = isSigned ? (__int128(1) << 31) - 1 : 0xffffffff;
      return std::clamp(dot(lane, bits, isSigned), low, high);
    });
  }
}

TEST_F(ValuPacked, FloatDotProducts) {
  fillHalves(0, 4);
  fill(3, 1, [this] { return ordinaryFloat(); });
  const Row before = row(0), a = row(1), b = row(2), c = row(3);
  run("v_dot2_f32_f16 v0, v1, v2, v3");
  expectFloats(0, before, [&](unsigned lane) {
    const float first = float(std::bit_cast<float>(c[lane]) + half(a[lane]) * half(b[lane]));
    return float(double(first) + half(a[lane] >> 16) * half(b[lane] >> 16));
  });
  fill(1, 2, [this] { return (ordinaryFloat() & 0xffff0000) | ordinaryFloat() >> 16; });
  const Row x = row(1), y = row(2);
  const auto bf16 = [](uint32_t code) { return decode(kBf16, code & 0xffff); };
  run("v_dot2_f32_bf16 v0, v1, v2, v3");
  expectFloats(0, before, [&](unsigned lane) {
    const float products = float(__float128(bf16(x[lane]) * bf16(y[lane])) +
                                 bf16(x[lane] >> 16) * bf16(y[lane] >> 16));
    return products + std::bit_cast<float>(c[lane]);
  });
  const Row accumulator = row(3);
  run("v_dot2c_f32_bf16_e32 v3, v1, v2");
  expectFloats(3, accumulator, [&](unsigned lane) {
    const float first =
        float(__float128(std::bit_cast<float>(c[lane])) + bf16(x[lane]) * bf16(y[lane]));
    return float(__float128(first) + bf16(x[lane] >> 16) * bf16(y[lane] >> 16));
  });
}

} // namespace

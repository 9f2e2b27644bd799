// Fixture of the vector ALU tests: assembles gfx950 text with LLVM MC, decodes it with the
// emulator's decoder and runs it on one bare wavefront, whose registers the test sets and reads.
#pragma once

#include "runtime/emulator/exec/Wave.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>

namespace mono::emu::test {

using Row = std::array<uint32_t, 64>;

class ValuTest : public testing::Test {
protected:
  static constexpr uint64_t kAll = ~0ull;
  /// Partial EXEC with holes in every group of 16 and both halves.
  static constexpr uint64_t kSome = 0xf00f'5a5a'0001'c3f7ull;
  static constexpr uint32_t kSeed = 20261130;
  /// Registers v0-v255 and a0-a255.
  static constexpr unsigned kAccumOffset = 256, kRegisters = 512;

  ValuTest();

  /// Runs the instructions of `text` in order; a test failure if one does not assemble or decode,
  /// has no handler, or faults.
  void run(const std::string &text);

  uint32_t &v(unsigned reg, unsigned lane) { return registers[reg * 64 + lane]; }
  uint32_t &a(unsigned reg, unsigned lane) { return v(kAccumOffset + reg, lane); }
  float f(unsigned reg, unsigned lane) { return std::bit_cast<float>(v(reg, lane)); }
  uint64_t v64(unsigned reg, unsigned lane) {
    return v(reg, lane) | uint64_t(v(reg + 1, lane)) << 32;
  }
  void set64(unsigned reg, unsigned lane, uint64_t value) {
    v(reg, lane) = uint32_t(value);
    v(reg + 1, lane) = uint32_t(value >> 32);
  }
  Row row(unsigned reg) {
    Row result;
    std::copy_n(&v(reg, 0), 64, result.begin());
    return result;
  }
  uint32_t &s(unsigned reg) { return wave.sgprs[reg]; }
  bool active(unsigned lane) const { return wave.exec() >> lane & 1; }

  /// Sets MODE fields; the default is that of LLVM kernels (nearest, denormals kept, IEEE,
  /// DX10_CLAMP).
  void setMode(unsigned shift, unsigned bits, unsigned value) {
    const uint32_t field = ((1u << bits) - 1) << shift;
    wave.modeRegister = (wave.modeRegister & ~field) | value << shift;
  }

  /// Fills registers with random bits; `Draw` makes a dword.
  template <typename Draw> void fill(unsigned first, unsigned count, Draw draw) {
    for (unsigned reg = first; reg < first + count; ++reg)
      for (unsigned lane = 0; lane < 64; ++lane)
        v(reg, lane) = draw();
  }
  void fillBits(unsigned first, unsigned count) {
    fill(first, count, [this] { return uint32_t(random()); });
  }
  /// An f32 of any class: random exponents with many ordinary, denormal, infinite, NaN and zero
  /// ones.
  uint32_t anyFloat();
  /// The same for f16 (16 bits) and f64.
  uint16_t anyHalf();
  uint64_t anyDouble();
  /// A finite f32 of moderate size.
  uint32_t ordinaryFloat();

  /// Requires `expected(lane)` in active lanes of `reg` and the value of `before` in the others.
  template <typename Fn> void expectRow(unsigned reg, const Row &before, Fn expected) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      const uint32_t want = active(lane) ? uint32_t(expected(lane)) : before[lane];
      ASSERT_EQ(v(reg, lane), want) << "lane " << lane << ", seed " << kSeed;
    }
  }
  /// As expectRow() for an f32 result, any NaN equal to any other.
  template <typename Fn> void expectFloats(unsigned reg, const Row &before, Fn expected) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float want = active(lane) ? float(expected(lane)) : std::bit_cast<float>(before[lane]);
      const float got = f(reg, lane);
      ASSERT_TRUE((want != want && got != got) || v(reg, lane) == std::bit_cast<uint32_t>(want))
          << "lane " << lane << ": expected " << want << ", but got " << got << ", seed " << kSeed;
    }
  }

  Wave wave;
  std::mt19937 random{kSeed};

private:
  std::unique_ptr<uint32_t[]> storage;
  uint32_t *registers;
};

} // namespace mono::emu::test

// Typed buffers: conversions against the formulas of the formats, and the instructions around them.
#include "runtime/emulator/exec/BufferFormat.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <bit>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// BUF_DATA_FORMAT and BUF_NUM_FORMAT (CDNA4 ISA 9.1.7).
enum Data { D8 = 1, D16, D8_8, D32, D16_16, D10_11_11, D11_11_10, D10_10_10_2, D2_10_10_10 };
enum Data2 { D8_8_8_8 = 10, D32_32, D16x4, D32x3, D32x4 };
enum Number { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Reserved, Float };

uint32_t f(float value) { return std::bit_cast<uint32_t>(value); }

BufferFormat::Components unpack(unsigned data, unsigned number, uint32_t low, uint32_t high = 0) {
  const uint32_t element[4] = {low, high, 0, 0};
  return BufferFormat(data, number).unpack(element);
}

const std::string resource = "  s_mov_b64 s[20:21], s[6:7]\n  s_movk_i32 s22, 256\n";

} // namespace

TEST(BufferFormat, NormalisedAndScaled) {
  using C = BufferFormat::Components;
  EXPECT_EQ(unpack(D8_8_8_8, Unorm, 0xff800001), (C{f(1 / 255.0f), 0, f(128 / 255.0f), f(1)}));
  EXPECT_EQ(unpack(D8_8_8_8, Snorm, 0x807f81ff), (C{f(-1 / 127.0f), f(-1), f(1), f(-1)}));
  EXPECT_EQ(unpack(D8_8, Uscaled, 0x80ff), (C{f(255), f(128), 0, f(1)}));
  EXPECT_EQ(unpack(D8_8, Sscaled, 0x80ff), (C{f(-1), f(-128), 0, f(1)}));
  EXPECT_EQ(unpack(D16, Snorm, 0x8000), (C{f(-1), 0, 0, f(1)}));
}

TEST(BufferFormat, IntegersAndFloats) {
  using C = BufferFormat::Components;
  EXPECT_EQ(unpack(D8_8_8_8, Uint, 0xff800001), (C{1, 0, 128, 255}));
  EXPECT_EQ(unpack(D8_8, Sint, 0x80ff), (C{~0u, 0xffffff80, 0, 1}));
  EXPECT_EQ(unpack(D16_16, Float, 0x3c00c000), (C{f(-2), f(1), 0, f(1)}));
  EXPECT_EQ(unpack(D32_32, Float, f(3), f(-5)), (C{f(3), f(-5), 0, f(1)}));
}

/// Names list the components from the highest bit down.
TEST(BufferFormat, PackedWidths) {
  using C = BufferFormat::Components;
  const uint32_t bits = 3u << 30 | 5u << 20 | 6u << 10 | 7;
  EXPECT_EQ(unpack(D2_10_10_10, Uint, bits), (C{7, 6, 5, 3}));
  EXPECT_EQ(unpack(D10_10_10_2, Uint, 9u << 22 | 8u << 12 | 7u << 2 | 1), (C{1, 7, 8, 9}));
  EXPECT_EQ(unpack(D10_11_11, Uint, 9u << 22 | 8u << 11 | 7), (C{7, 8, 9, 1}));
  EXPECT_EQ(unpack(D11_11_10, Uint, 9u << 21 | 8u << 10 | 7), (C{7, 8, 9, 1}));
}

/// Storing what was loaded gives the same bytes, for every code of the 8-bit formats.
TEST(BufferFormat, RoundTrip) {
  for (unsigned number : {Unorm, Uscaled, Sscaled, Uint, Sint, Snorm})
    for (uint32_t code = 0; code < 256; ++code) {
      const BufferFormat format(D8, number);
      uint32_t element = code;
      format.pack(format.unpack(&element), &element);
      // -128 of 127 is the same number as -127 of 127.
      EXPECT_EQ(element, number == Snorm && code == 0x80 ? 0x81 : code) << number;
    }
}

TEST(BufferFormat, StoresSaturateAndRoundToEven) {
  auto packed = [](unsigned data, unsigned number, uint32_t value) {
    uint32_t element[4] = {};
    BufferFormat(data, number).pack({value}, element);
    return element[0];
  };
  EXPECT_EQ(packed(D8, Unorm, f(2)), 255u);
  EXPECT_EQ(packed(D8, Unorm, f(-1)), 0u);
  EXPECT_EQ(packed(D8, Unorm, f(0.5f)), 128u) << "127.5 is a tie";
  EXPECT_EQ(packed(D8, Unorm, 0x7fc00000), 0u) << "NaN";
  EXPECT_EQ(packed(D8, Uscaled, f(2.5f)), 2u);
  EXPECT_EQ(packed(D8, Sscaled, f(-300)), 0x80u);
  EXPECT_EQ(packed(D8, Uint, 300), 255u);
  EXPECT_EQ(packed(D8, Sint, uint32_t(-300)), 0x80u);
  EXPECT_EQ(packed(D16, Float, f(1.5f)), 0x3e00u);
}

TEST(BufferFormat, ReservedOnesAreInvalid) {
  EXPECT_FALSE(BufferFormat(0, Uint).isValid());
  EXPECT_FALSE(BufferFormat(15, Uint).isValid());
  EXPECT_FALSE(BufferFormat(D8, Reserved).isValid());
  EXPECT_FALSE(BufferFormat(D10_11_11, Float).isValid());
  EXPECT_TRUE(BufferFormat(D32x4, Float).isValid());
}

/// The format stands in the instruction; what it has not is 0, and W is 1.
TEST(TypedBuffer, LoadsConvert) {
  std::vector<uint32_t> input(64);
  for (unsigned n = 0; n < 64; ++n)
    input[n] = n | (255 - n) << 8;
  auto result = runWaveProgram(resource + R"(
  s_mov_b32 s23, 0x27000
  v_lshlrev_b32_e32 v2, 2, v0
  tbuffer_load_format_xyzw v[10:13], v2, s[20:23], 0 format:[BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_UINT] offen
  tbuffer_load_format_x v14, v2, s[20:23], 0 format:[BUF_DATA_FORMAT_8,BUF_NUM_FORMAT_UNORM] offen offset:1
  tbuffer_load_format_d16_xy v15, v2, s[20:23], 0 format:[BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_USCALED] offen
  v_add_u32_e32 v3, 4, v2
  tbuffer_load_format_x v16, v3, s[20:23], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_UINT] offen)",
                               7, input);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane);
    EXPECT_EQ(result[1][lane], 255 - lane);
    EXPECT_EQ(result[2][lane], 0u);
    EXPECT_EQ(result[3][lane], 1u);
    EXPECT_EQ(result[4][lane], f(float(255 - lane) / 255));
    const auto half = [](float value) { return std::bit_cast<uint16_t>(_Float16(value)); };
    EXPECT_EQ(result[5][lane], half(float(lane)) | uint32_t(half(float(255 - lane))) << 16);
    EXPECT_EQ(result[6][lane], lane < 63 ? input[lane + 1] : 0u) << "past NUM_RECORDS";
  }
}

/// The format and DST_SEL stand in the resource: data format 10, number format 4, Z Y X 1.
TEST(TypedBuffer, FormatAndSelectsOfTheResource) {
  std::vector<uint32_t> input(64);
  for (unsigned n = 0; n < 64; ++n)
    input[n] = n | 2 * n << 8 | 100 << 16 | 200u << 24;
  auto result = runWaveProgram(resource + R"(
  s_mov_b32 s23, 0x5432e
  v_lshlrev_b32_e32 v2, 2, v0
  buffer_load_format_xyzw v[10:13], v2, s[20:23], 0 offen
  v_mov_b32_e32 v14, 0x7777
  buffer_load_format_d16_hi_x v14, v2, s[20:23], 0 offen)",
                               5, input);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], 100u);
    EXPECT_EQ(result[1][lane], 2 * lane);
    EXPECT_EQ(result[2][lane], lane);
    EXPECT_EQ(result[3][lane], 1u);
    EXPECT_EQ(result[4][lane], 100u << 16 | 0x7777);
  }
}

TEST(TypedBuffer, StoresConvert) {
  auto result = runWaveProgram(resource + R"(
  s_mov_b32 s23, 0x27000
  v_lshlrev_b32_e32 v2, 2, v0
  v_cvt_f32_u32_e32 v4, v0
  v_mov_b32_e32 v5, 1.0
  tbuffer_store_format_xy v[4:5], v2, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offen
  s_waitcnt vmcnt(0)
  global_load_dword v10, v2, s[6:7])",
                               1, std::vector<uint32_t>(64));
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(result[0][lane], std::bit_cast<uint16_t>(_Float16(float(lane))) | uint32_t(0x3c00)
                                                                                    << 16);
}

TEST(TypedBuffer, Faults) {
  runWaveProgram(resource + "  s_mov_b32 s23, 0\n  buffer_load_format_x v10, v0, s[20:23], 0 offen",
                 1, {0}, 4096, "expected a data format of 1 to 14");
  runWaveProgram(resource +
                     "  s_mov_b32 s23, 0x27000\n  tbuffer_store_format_x v0, v0, s[20:23], 0 "
                     "format:[BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_UINT] offen",
                 1, {0}, 4096, "typed buffer store of 1 components: expected the 2 of the format");
}

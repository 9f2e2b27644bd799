// LDS instructions. Transpose reads are checked against what they are for: columns of a row-major
// tile.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <bit>

using namespace mono::emu;
using namespace mono::emu::test;

TEST(Ds, WritesAndReadsOfEachWidth) {
  auto result = runWaveProgram(R"(
  v_lshlrev_b32_e32 v2, 4, v0
  v_or_b32_e32 v20, 0x81000000, v0
  v_or_b32_e32 v21, 0x82000000, v0
  v_or_b32_e32 v22, 0x83000000, v0
  v_or_b32_e32 v23, 0x84000000, v0
  ds_write_b128 v2, v[20:23] offset:16
  s_waitcnt lgkmcnt(0)
  ds_read_b64 v[10:11], v2 offset:24
  ds_read_b96 v[12:14], v2 offset:20
  ds_read_b32 v15, v2 offset:16
  ds_read_u16 v16, v2 offset:18
  ds_read_i8 v17, v2 offset:19
  ds_read_u8 v18, v2 offset:16
  ds_read_i16 v19, v2 offset:18
  ds_read_b128 v[20:23], v2 offset:16
  s_waitcnt lgkmcnt(0))",
                               14);
  auto word = [](unsigned n, unsigned lane) { return (0x81u + n) << 24 | lane; };
  for (unsigned lane = 0; lane < 64; ++lane) {
    const uint32_t expected[] = {word(2, lane), word(3, lane), word(1, lane), word(2, lane),
                                 word(3, lane), word(0, lane), 0x8100,        0xFFFFFF81,
                                 lane,          0xFFFF8100,    word(0, lane), word(1, lane),
                                 word(2, lane), word(3, lane)};
    for (unsigned r = 0; r < 14; ++r)
      EXPECT_EQ(result[r][lane], expected[r]) << "register " << r << " lane " << lane;
  }
}

TEST(Ds, NarrowWritesKeepTheirNeighbours) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v20, 0x44332211
  ds_write_b32 v1, v20
  v_mov_b32_e32 v21, 0xaabbccdd
  ds_write_b8 v1, v21 offset:1
  ds_write_b16 v1, v21 offset:2
  ds_read_b32 v10, v1
  ds_write_b32 v1, v20
  ds_write_b8_d16_hi v1, v21
  ds_write_b16_d16_hi v1, v21 offset:2
  ds_read_b32 v11, v1)",
                               2);
  EXPECT_EQ(result[0][5], 0xCCDDDD11u);
  EXPECT_EQ(result[1][5], 0xAABB22BBu);
}

/// Address and offset are added modulo 2^32 (from gfx7 on, LLVM's GCNSubtarget::hasUsableDSOffset),
/// so the offset may be folded out of an address that is then negative.
TEST(Ds, OffsetsAreAddedToNegativeAddresses) {
  auto result = runWaveProgram(R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_subrev_u32_e32 v3, 0x100, v2
  v_add_u32_e32 v20, 7, v0
  ds_write_b32 v3, v20 offset:256
  ds_write2_b32 v3, v0, v0 offset0:128 offset1:192
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v10, v2
  ds_read_b32 v11, v3 offset:256
  ds_read_b32 v12, v2 offset:256
  s_waitcnt lgkmcnt(0))",
                               3);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane + 7) << lane;
    EXPECT_EQ(result[1][lane], lane + 7) << lane;
    EXPECT_EQ(result[2][lane], lane) << lane;
  }
}

/// Offsets of the two-address forms count elements, or 64 elements.
TEST(Ds, TwoAddressForms) {
  auto result = runWaveProgram(R"(
  v_add_u32_e32 v20, 100, v0
  v_add_u32_e32 v21, 200, v0
  v_add_u32_e32 v22, 300, v0
  v_add_u32_e32 v23, 400, v0
  ds_write2st64_b32 v1, v20, v21 offset0:1 offset1:3
  v_lshlrev_b32_e32 v2, 3, v0
  ds_write2_b64 v2, v[20:21], v[22:23] offset0:128 offset1:192
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v10, v1 offset:256
  ds_read_b32 v11, v1 offset:768
  ds_read2_b32 v[12:13], v1 offset0:64 offset1:192
  ds_read2st64_b64 v[14:17], v2 offset0:2 offset1:3)",
                               8);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const uint32_t add[] = {100, 200, 100, 200, 100, 200, 300, 400};
    for (unsigned r = 0; r < 8; ++r)
      EXPECT_EQ(result[r][lane], add[r] + lane) << r;
  }
}

TEST(Ds, Atomics) {
  struct {
    const char *op;
    uint32_t memory, data, expected;
  } cases[] = {
      {"add_rtn_u32", 5, 7, 12},
      {"sub_rtn_u32", 5, 7, uint32_t(-2)},
      {"rsub_rtn_u32", 5, 7, 2},
      {"min_rtn_i32", 5, uint32_t(-1), uint32_t(-1)},
      {"max_rtn_u32", 5, uint32_t(-1), uint32_t(-1)},
      {"inc_rtn_u32", 7, 7, 0},
      {"dec_rtn_u32", 0, 7, 7},
      {"wrxchg_rtn_b32", 1, 2, 2},
      {"add_rtn_f32", std::bit_cast<uint32_t>(0.5f), std::bit_cast<uint32_t>(-2.0f),
       std::bit_cast<uint32_t>(-1.5f)},
      {"max_rtn_f32", 0x7FC00000, std::bit_cast<uint32_t>(-2.0f), std::bit_cast<uint32_t>(-2.0f)},
      {"min_rtn_f32", 0x80000000, 0, 0x80000000}};
  for (const auto &c : cases) {
    auto result = runWaveProgram("  v_mov_b32_e32 v20, " + std::to_string(c.memory) +
                                     "\n  v_mov_b32_e32 v21, " + std::to_string(c.data) +
                                     "\n  ds_write_b32 v1, v20\n  ds_" + c.op +
                                     " v10, v1, v21\n  ds_read_b32 v11, v1\n",
                                 2);
    EXPECT_EQ(result[0][9], c.memory) << c.op;
    EXPECT_EQ(result[1][9], c.expected) << c.op;
  }
}

/// DS order: the first data operand is compared, the second written.
TEST(Ds, CompareStore) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v20, 1
  ds_write_b32 v1, v20
  v_and_b32_e32 v21, 1, v0
  v_mov_b32_e32 v22, 77
  ds_cmpst_b32 v1, v21, v22
  ds_read_b32 v10, v1)");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(result[0][lane], lane % 2 ? 77u : 1u);
}

TEST(Ds, PermutesAndSwizzles) {
  auto result = runWaveProgram(R"(
  v_add_u32_e32 v20, 1000, v0
  v_mul_u32_u24_e32 v2, 12, v0
  ds_bpermute_b32 v10, v2, v20 offset:4
  v_sub_u32_e32 v3, 63, v0
  v_lshlrev_b32_e32 v3, 2, v3
  ds_permute_b32 v11, v3, v20
  ds_swizzle_b32 v12, v20 offset:swizzle(QUAD_PERM,3,2,1,0)
  ds_swizzle_b32 v13, v20 offset:swizzle(SWAP,16)
  ds_swizzle_b32 v14, v20 offset:swizzle(BROADCAST,8,3)
  ds_swizzle_b32 v15, v20 offset:swizzle(REVERSE,32)
  v_mov_b32_e32 v4, 0
  ds_permute_b32 v16, v4, v20
  s_mov_b64 exec, 0x0000ffff
  v_mov_b32_e32 v17, 5
  v_mov_b32_e32 v5, 0x80
  ds_bpermute_b32 v17, v5, v20)",
                               8);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], 1000 + (3 * lane + 1) % 64);
    EXPECT_EQ(result[1][lane], 1000 + 63 - lane);
    EXPECT_EQ(result[2][lane], 1000 + (lane ^ 3));
    EXPECT_EQ(result[3][lane], 1000 + (lane ^ 16));
    EXPECT_EQ(result[4][lane], 1000 + (lane / 8 * 8 + 3));
    EXPECT_EQ(result[5][lane], 1000 + (lane ^ 31));
    EXPECT_EQ(result[6][lane], lane == 0 ? 1063u : 0u) << "the highest lane wins, others get 0";
  }
  EXPECT_EQ(result[7][3], 0u) << "lane 32 is inactive";
}

namespace {

/// Fills LDS with byte n = hash(n), runs one transpose read with lane l of group g at
/// g * `groupBytes` + (l % 16) * `laneBytes`, returns the registers and the LDS bytes.
struct Transposed {
  std::vector<std::vector<uint32_t>> registers;
  std::vector<uint8_t> lds;
  uint32_t bits(unsigned lane, unsigned first, unsigned count) const {
    uint32_t value = 0;
    for (unsigned b = 0; b < count; ++b) {
      unsigned at = first + b;
      value |= (registers[at / 32][lane] >> at % 32 & 1) << b;
    }
    return value;
  }
  uint32_t ldsBits(unsigned byte, unsigned first, unsigned count) const {
    uint32_t value = 0;
    for (unsigned b = 0; b < count; ++b) {
      unsigned at = byte * 8 + first + b;
      value |= (lds[at / 8] >> at % 8 & 1u) << b;
    }
    return value;
  }
};

Transposed transposeRead(const std::string &op, unsigned dwords, unsigned laneBytes) {
  Transposed t;
  std::vector<uint32_t> words(256);
  for (unsigned n = 0; n < 256; ++n)
    words[n] = n * 2654435761u ^ n << 7;
  t.lds.resize(1024);
  memcpy(t.lds.data(), words.data(), 1024);
  std::string to = "v[10:" + std::to_string(9 + dwords) + "]";
  t.registers = runWaveProgram(R"(
  v_lshlrev_b32_e32 v2, 4, v0
  global_load_dwordx4 v[20:23], v2, s[6:7]
  s_waitcnt vmcnt(0)
  ds_write_b128 v2, v[20:23]
  v_mul_u32_u24_e32 v3, )" + std::to_string(laneBytes) +
                                   ", v0\n  s_waitcnt lgkmcnt(0)\n  " + op + " " + to + ", v3\n",
                               dwords, words);
  return t;
}

} // namespace

/// 4 rows (K) of 16 halves, 32 bytes per row: with consecutive lane addresses, lane l of a group
/// gets column l, the rows in order.
TEST(Ds, TransposeReadB16) {
  Transposed t = transposeRead("ds_read_b64_tr_b16", 2, 8);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row = 0; row < 4; ++row)
      EXPECT_EQ(t.bits(lane, 16 * row, 16),
                t.ldsBits(lane / 16 * 128 + row * 32, 16 * (lane % 16), 16));
}
/// 8 rows of 16 bytes.
TEST(Ds, TransposeReadB8) {
  Transposed t = transposeRead("ds_read_b64_tr_b8", 2, 8);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row = 0; row < 8; ++row)
      EXPECT_EQ(t.bits(lane, 8 * row, 8),
                t.ldsBits(lane / 16 * 128 + row * 16, 8 * (lane % 16), 8));
}
/// 16 rows of 16 nibbles, 8 bytes per row.
TEST(Ds, TransposeReadB4) {
  Transposed t = transposeRead("ds_read_b64_tr_b4", 2, 8);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row = 0; row < 16; ++row)
      EXPECT_EQ(t.bits(lane, 4 * row, 4), t.ldsBits(lane / 16 * 128 + row * 8, 4 * (lane % 16), 4));
}
/// 16 rows of 16 six-bit items, 12 bytes per row.
TEST(Ds, TransposeReadB6) {
  Transposed t = transposeRead("ds_read_b96_tr_b6", 3, 12);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row = 0; row < 16; ++row)
      EXPECT_EQ(t.bits(lane, 6 * row, 6),
                t.ldsBits(lane / 16 * 192 + row * 12, 6 * (lane % 16), 6));
}

TEST(Ds, TransposeReadNeedsAllLanes) {
  runWaveProgram(
      "  ds_write_b64 v1, v[0:1]\n  s_mov_b64 exec, 0xff\n  ds_read_b64_tr_b16 v[10:11], v1\n", 1,
      {0}, 4096, "transpose read with exec = 0x00000000000000ff");
}

/// The counter at M0 + offset moves by the number of active lanes; they all get its old value.
TEST(Ds, AppendAndConsumeCountActiveLanes) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v2, 100
  ds_write_b32 v1, v2
  v_mov_b32_e32 v10, 7
  v_mov_b32_e32 v11, 7
  s_mov_b32 m0, 40
  s_mov_b64 exec, 0x1f
  ds_append v10 offset:8
  s_mov_b64 exec, 3
  ds_consume v11 offset:8
  s_mov_b64 exec, -1
  v_mov_b32_e32 v3, 48
  ds_read_b32 v12, v3)",
                               3);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane < 5 ? 100u : 7u);
    EXPECT_EQ(result[1][lane], lane < 2 ? 105u : 7u);
    EXPECT_EQ(result[2][lane], 103u);
  }
}

TEST(Ds, GlobalWaveSyncIsRefused) {
  for (const char *text : {"ds_gws_init v0 offset:4 gds", "ds_gws_barrier v0 offset:4 gds",
                           "ds_gws_sema_v offset:4 gds"})
    runWaveProgram(std::string("  ") + text, 1, {0}, 4096,
                   "global wave sync (ds_gws_*) is not supported");
}

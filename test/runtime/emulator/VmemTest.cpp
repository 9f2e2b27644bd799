// Vector memory: each width and format, addressing forms, buffers, atomics, loads to LDS.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <bit>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// 4096 bytes, byte n = n * 7 + n / 256.
std::vector<uint32_t> pattern() {
  std::vector<uint32_t> words(1024);
  auto *bytes = reinterpret_cast<uint8_t *>(words.data());
  for (unsigned n = 0; n < 4096; ++n)
    bytes[n] = uint8_t(n * 7 + n / 256);
  return words;
}
uint32_t byteAt(unsigned n) { return uint8_t(n * 7 + n / 256); }
uint32_t dwordAt(unsigned n) {
  return byteAt(n) | byteAt(n + 1) << 8 | byteAt(n + 2) << 16 | byteAt(n + 3) << 24;
}

/// v[2:3] = input + lane * `stride`, v4 = lane * stride, for loads of each addressing form.
std::string laneAddress(unsigned stride) {
  return "  v_mul_u32_u24_e32 v4, " + std::to_string(stride) +
         ", v0\n  v_mov_b32_e32 v3, s7\n  v_add_co_u32_e32 v2, vcc, s6, v4\n"
         "  v_addc_co_u32_e32 v3, vcc, 0, v3, vcc\n";
}

const std::string bufferResource = "  s_mov_b64 s[20:21], s[6:7]\n  s_movk_i32 s22, 4096\n"
                                   "  s_mov_b32 s23, 0x27000\n";

} // namespace

TEST(Vmem, LoadsOfEachWidthAndForm) {
  for (unsigned dwords = 1; dwords <= 4; ++dwords) {
    std::string x = dwords == 1 ? "" : "x" + std::to_string(dwords);
    std::string to = dwords == 1 ? "v10" : "v[10:" + std::to_string(9 + dwords) + "]";
    for (const std::string &load :
         {"global_load_dword" + x + " " + to + ", v[2:3], off offset:-4",
          "global_load_dword" + x + " " + to + ", v4, s[6:7] offset:-4",
          "flat_load_dword" + x + " " + to + ", v[2:3]",
          "buffer_load_dword" + x + " " + to + ", v4, s[20:23], 0 offen",
          "buffer_load_dword" + x + " " + to + ", v4, s[20:23], s24 offen offset:8"}) {
      int shift = load.find("-4") != std::string::npos         ? -4
                  : load.find("offset:8") != std::string::npos ? 12
                                                               : 0;
      // The form with offset -4 starts 4 bytes further on.
      std::string body = laneAddress(20) + bufferResource + "  s_mov_b32 s24, 4\n";
      if (shift == -4)
        body += "  v_add_u32_e32 v4, 4, v4\n  v_add_u32_e32 v2, 4, v2\n", shift = 0;
      auto result = runWaveProgram(body + "  " + load, dwords, pattern());
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned d = 0; d < dwords; ++d)
          ASSERT_EQ(result[d][lane], dwordAt(lane * 20 + shift + 4 * d))
              << load << " lane " << lane;
    }
  }
}

TEST(Vmem, SubDwordLoads) {
  auto result = runWaveProgram(laneAddress(3) + R"(
  v_mov_b32_e32 v14, 0x11112222
  v_mov_b32_e32 v15, 0x11112222
  v_mov_b32_e32 v16, 0x11112222
  v_mov_b32_e32 v17, 0x11112222
  global_load_ubyte v10, v4, s[6:7]
  global_load_sbyte v11, v4, s[6:7]
  global_load_ushort v12, v4, s[6:7]
  global_load_sshort v13, v4, s[6:7]
  global_load_short_d16 v14, v4, s[6:7]
  global_load_short_d16_hi v15, v4, s[6:7]
  global_load_ubyte_d16_hi v16, v4, s[6:7]
  global_load_sbyte_d16 v17, v4, s[6:7])",
                               8, pattern());
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint32_t byte = byteAt(3 * lane), half = byte | byteAt(3 * lane + 1) << 8;
    uint32_t signedByte = byte >= 128 ? byte - 256 : byte,
             signedHalf = half >= 32768 ? half - 65536 : half;
    EXPECT_EQ(result[0][lane], byte);
    EXPECT_EQ(result[1][lane], signedByte);
    EXPECT_EQ(result[2][lane], half);
    EXPECT_EQ(result[3][lane], signedHalf);
    EXPECT_EQ(result[4][lane], 0x11110000 | half);
    EXPECT_EQ(result[5][lane], half << 16 | 0x2222);
    EXPECT_EQ(result[6][lane], byte << 16 | 0x2222);
    EXPECT_EQ(result[7][lane], 0x11110000 | (signedByte & 0xFFFF));
  }
}

/// Every store width, read back with plain dword loads; inactive lanes must not write.
TEST(Vmem, StoresOfEachWidthRespectExec) {
  struct {
    const char *store;
    unsigned bytes;
  } cases[] = {{"global_store_byte v4, v20, s[6:7]", 1},
               {"global_store_short v4, v20, s[6:7]", 2},
               {"global_store_byte_d16_hi v4, v20, s[6:7]", 1},
               {"global_store_short_d16_hi v4, v20, s[6:7]", 2},
               {"global_store_dword v[2:3], v20, off", 4},
               {"flat_store_dwordx2 v[2:3], v[20:21]", 8},
               {"global_store_dwordx3 v4, v[20:22], s[6:7]", 12},
               {"buffer_store_dwordx4 v[20:23], v4, s[24:27], 0 offen", 16}};
  for (const auto &c : cases) {
    std::string body = laneAddress(16) + R"(
  v_lshlrev_b32_e32 v20, 8, v0
  v_or_b32_e32 v20, 0xa5000081, v20
  v_add_u32_e32 v21, 1, v20
  v_add_u32_e32 v22, 2, v20
  v_add_u32_e32 v23, 3, v20
  s_mov_b64 s[24:25], s[6:7]
  s_movk_i32 s26, 4096
  s_mov_b32 s27, 0x27000
  s_mov_b64 s[30:31], exec
  s_mov_b32 exec_lo, 0x55555555
  s_mov_b32 exec_hi, 0x55555555
  )" + std::string(c.store) +
                       R"(
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, s[30:31]
  global_load_dwordx4 v[10:13], v4, s[6:7])";
    auto result = runWaveProgram(body, 4, pattern());
    for (unsigned lane = 0; lane < 64; ++lane) {
      uint32_t value = 0xA5000081u | lane << 8;
      if (std::string(c.store).find("d16_hi") != std::string::npos)
        value >>= 16;
      uint8_t expected[16];
      for (unsigned n = 0; n < 16; ++n) {
        uint32_t word = value + n / 4; // v20.. differ by one each
        bool stored = lane % 2 == 0 && n < c.bytes;
        expected[n] = stored ? uint8_t(word >> 8 * (n % 4)) : uint8_t(byteAt(lane * 16 + n));
      }
      for (unsigned d = 0; d < 4; ++d) {
        uint32_t dword;
        memcpy(&dword, expected + 4 * d, 4);
        EXPECT_EQ(result[d][lane], dword) << c.store << " lane " << lane << " dword " << d;
      }
    }
  }
}

/// Raw buffers: bytes at or past NUM_RECORDS read 0 dword by dword and are not written.
TEST(Vmem, BufferRangeCheck) {
  auto result = runWaveProgram(bufferResource + R"(
  s_movk_i32 s22, 256
  v_lshlrev_b32_e32 v4, 3, v0
  buffer_load_dwordx4 v[10:13], v4, s[20:23], 0 offen)",
                               4, pattern());
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned d = 0; d < 4; ++d) {
      unsigned at = 8 * lane + 4 * d;
      EXPECT_EQ(result[d][lane], at + 4 <= 256 ? dwordAt(at) : 0);
    }
}

/// The same on the way to LDS, over bytes that are not 0.
TEST(Vmem, BufferRangeCheckOfLoadsToLds) {
  for (unsigned dwords : {1u, 3u, 4u}) {
    std::string width = dwords == 1 ? "" : "x" + std::to_string(dwords);
    std::string reads;
    for (unsigned d = 0; d < dwords; ++d)
      reads += "  ds_read_b32 v" + std::to_string(10 + d) + ", v5 offset:" + std::to_string(4 * d) +
               "\n";
    auto result = runWaveProgram(bufferResource + R"(
  s_movk_i32 s22, 256
  v_lshlrev_b32_e32 v4, 3, v0
  v_mov_b32_e32 v20, -1
  v_mov_b32_e32 v21, v20
  v_mov_b32_e32 v22, v20
  v_mov_b32_e32 v23, v20
  v_lshlrev_b32_e32 v5, 4, v0
  ds_write_b128 v5, v[20:23]
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  buffer_load_dword)" + width + " v4, s[20:23], 0 offen lds\n" +
                                     "  v_lshlrev_b32_e32 v5, " + (dwords == 1 ? "2" : "4") +
                                     ", v0\n  s_waitcnt vmcnt(0)\n" + reads,
                                 dwords, pattern());
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned d = 0; d < dwords; ++d) {
        unsigned at = 8 * lane + 4 * d;
        EXPECT_EQ(result[d][lane], at + 4 <= 256 ? dwordAt(at) : 0) << dwords << " dwords";
      }
  }
}

/// With a stride and IDXEN, NUM_RECORDS limits the index.
TEST(Vmem, StructuredBuffer) {
  auto result = runWaveProgram(bufferResource + R"(
  s_or_b32 s21, s21, 0x00180000
  s_movk_i32 s22, 40
  buffer_load_dword v10, v0, s[20:23], 0 idxen offset:4
  v_mov_b32_e32 v2, v0
  v_mov_b32_e32 v3, 8
  buffer_load_dword v11, v[2:3], s[20:23], 0 idxen offen)",
                               2, pattern());
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane < 40 ? dwordAt(24 * lane + 4) : 0);
    EXPECT_EQ(result[1][lane], lane < 40 ? dwordAt(24 * lane + 8) : 0);
  }
}

TEST(Vmem, AtomicsReturnTheOldValueAndUpdateMemory) {
  struct {
    const char *op;
    uint32_t memory, data, expected;
  } cases[] = {{"add", 5, 7, 12},
               {"sub", 5, 7, uint32_t(-2)},
               {"smin", 5, uint32_t(-7), uint32_t(-7)},
               {"umin", 5, uint32_t(-7), 5},
               {"smax", 5, uint32_t(-7), 5},
               {"umax", 5, uint32_t(-7), uint32_t(-7)},
               {"and", 6, 3, 2},
               {"or", 6, 3, 7},
               {"xor", 6, 3, 5},
               {"swap", 6, 3, 3},
               {"inc", 6, 6, 0},
               {"inc", 5, 6, 6},
               {"dec", 0, 6, 6},
               {"dec", 9, 6, 6},
               {"dec", 4, 6, 3},
               {"add_f32", std::bit_cast<uint32_t>(1.5f), std::bit_cast<uint32_t>(2.25f),
                std::bit_cast<uint32_t>(3.75f)},
               {"pk_add_f16", 0x3C004000, 0x3C003C00, 0x40004200},
               {"pk_add_bf16", 0x3F804000, 0x3F803F80, 0x40004040}};
  for (const auto &c : cases) {
    auto result = runWaveProgram("  v_mov_b32_e32 v20, " + std::to_string(c.data) +
                                     "\n  global_atomic_" + c.op +
                                     " v10, v1, v20, s[6:7] sc0\n  s_waitcnt vmcnt(0)\n"
                                     "  global_load_dword v11, v1, s[6:7]\n",
                                 2, std::vector<uint32_t>(64, c.memory));
    EXPECT_EQ(result[0][17], c.memory) << c.op;
    EXPECT_EQ(result[1][17], c.expected) << c.op;
  }
}

/// All lanes add to one counter: the lanes see all old values once.
TEST(Vmem, AtomicsOnOneAddressDoNotLoseLanes) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1
  global_atomic_add v10, v2, v3, s[6:7] sc0
  s_waitcnt vmcnt(0)
  global_load_dword v11, v2, s[6:7])",
                               2, {0});
  uint64_t seen = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    seen |= uint64_t(1) << result[0][lane];
  EXPECT_EQ(seen, ~uint64_t(0));
  EXPECT_EQ(result[1][0], 64u);
}

TEST(Vmem, CompareSwap64) {
  auto result = runWaveProgram(R"(
  v_lshlrev_b32_e32 v2, 3, v0
  v_mov_b32_e32 v20, 0x111
  v_mov_b32_e32 v21, 0x222
  v_and_b32_e32 v22, 1, v0
  v_mov_b32_e32 v23, 0
  global_atomic_cmpswap_x2 v[10:11], v2, v[20:23], s[6:7] sc0
  s_waitcnt vmcnt(0)
  global_load_dwordx2 v[12:13], v2, s[6:7])",
                               4, std::vector<uint32_t>(128, 0));
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], 0u);
    EXPECT_EQ(result[2][lane], lane % 2 ? 0u : 0x111u) << "odd lanes compare with 1 and fail";
    EXPECT_EQ(result[3][lane], lane % 2 ? 0u : 0x222u);
  }
}

/// LDS address = M0 + instruction offset + lane * 4, or lane * 16 for the wide forms; the
/// instruction offset applies to both sides; inactive lanes leave holes.
TEST(Vmem, LoadsToLds) {
  auto result = runWaveProgram(laneAddress(4) + R"(
  v_mov_b32_e32 v20, 99
  ds_write_b32 v1, v20 offset:512
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v21, 4, v0
  s_mov_b64 s[30:31], exec
  s_mov_b32 exec_lo, -2
  s_movk_i32 m0, 508
  s_nop 0
  global_load_lds_dword v[2:3], off offset:4
  s_movk_i32 m0, 1024
  s_nop 0
  global_load_lds_dwordx4 v21, s[6:7]
  s_mov_b64 exec, s[30:31]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b32 v10, v1 offset:512
  v_max_u32_e32 v22, 16, v21
  v_mov_b32_e32 v11, 0
  ds_read_b128 v[12:15], v22 offset:1024)",
                               6, pattern());
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane == 0 ? 99u : dwordAt(4 * lane + 4));
    unsigned row = std::max(lane, 1u);
    for (unsigned d = 0; d < 4; ++d)
      EXPECT_EQ(result[2 + d][lane], dwordAt(16 * row + 4 * d));
  }
}

TEST(Vmem, ScratchIsPrivateToALane) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v2, 8
  v_mul_u32_u24_e32 v3, 3, v0
  scratch_store_dword off, v3, off offset:12
  scratch_store_dword v2, v0, off
  s_waitcnt vmcnt(0)
  scratch_load_dwordx2 v[10:11], v2, off
  s_mov_b32 s20, 4
  scratch_load_dword v12, v2, s20
  s_mov_b64 s[22:23], src_private_base
  v_mov_b32_e32 v4, 12
  v_mov_b32_e32 v5, s23
  flat_load_dword v13, v[4:5])",
                               4);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane);
    EXPECT_EQ(result[1][lane], 3 * lane);
    EXPECT_EQ(result[2][lane], 3 * lane);
    EXPECT_EQ(result[3][lane], 3 * lane);
  }
}

TEST(Vmem, FlatReachesLds) {
  auto result = runWaveProgram(R"(
  ds_write_b32 v1, v0
  s_mov_b64 s[22:23], src_shared_base
  v_mov_b32_e32 v2, v1
  v_mov_b32_e32 v3, s23
  s_waitcnt lgkmcnt(0)
  flat_load_dword v10, v[2:3])");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(result[0][lane], lane);
}

TEST(Vmem, AgprsAreLoadedAndStored) {
  auto result = runWaveProgram(R"(
  global_load_dword a3, v1, s[6:7]
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, a3
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v10, v1
  v_accvgpr_read_b32 v11, a3)",
                               2, pattern());
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], dwordAt(4 * lane));
    EXPECT_EQ(result[1][lane], dwordAt(4 * lane));
  }
}

/// ADD_TID_ENABLE (word 3, bit 23): the lane is added to the index, and bits 18:15 are bits 17:14
/// of the stride.
TEST(Vmem, BufferThatAddsTheLane) {
  auto result = runWaveProgram(bufferResource + R"(
  s_or_b32 s21, s21, 0x000c0000
  s_movk_i32 s22, 40
  s_mov_b32 s23, 0x00800000
  buffer_load_dword v10, off, s[20:23], 0 offset:4
  v_mov_b32_e32 v2, 3
  buffer_load_dword v11, v2, s[20:23], 0 idxen
  s_and_b32 s21, s21, 0xffff
  s_mov_b32 s23, 0x00808000
  s_movk_i32 s22, 1
  buffer_load_dword v12, off, s[20:23], 0 offset:8)",
                               3, pattern());
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane < 40 ? dwordAt(12 * lane + 4) : 0);
    EXPECT_EQ(result[1][lane], lane + 3 < 40 ? dwordAt(12 * (lane + 3)) : 0);
    EXPECT_EQ(result[2][lane], lane == 0 ? dwordAt(8) : 0) << "stride 1 << 14";
  }
}

/// SWIZZLE_ENABLE (word 1, bit 31), INDEX_STRIDE 8: dword d of record r is at
/// (r / 8 * stride + 4 * d) * 8 + r % 8 * 4.
TEST(Vmem, SwizzledBuffer) {
  auto result = runWaveProgram(bufferResource + R"(
  s_or_b32 s21, s21, 0x800c0000
  s_movk_i32 s22, 50
  s_mov_b32 s23, 0x00027000
  buffer_load_dword v10, v0, s[20:23], 0 idxen offset:8
  v_mov_b32_e32 v2, v0
  v_mov_b32_e32 v3, 5
  buffer_load_ubyte v11, v[2:3], s[20:23], 0 idxen offen
  buffer_load_dword v12, v0, s[20:23], 0 idxen offset:12)",
                               3, pattern());
  for (unsigned lane = 0; lane < 64; ++lane) {
    const unsigned block = lane / 8 * 12, side = lane % 8 * 4;
    EXPECT_EQ(result[0][lane], lane < 50 ? dwordAt((block + 8) * 8 + side) : 0);
    EXPECT_EQ(result[1][lane], lane < 50 ? byteAt((block + 4) * 8 + side + 1) : 0);
    EXPECT_EQ(result[2][lane], 0u) << "offset 12 is past the stride";
  }
  runWaveProgram(bufferResource + "  s_or_b32 s21, s21, 0x800c0000\n"
                                  "  buffer_load_dwordx2 v[10:11], v0, s[20:23], 0 idxen",
                 1, pattern(), 4096, "swizzled buffer access of 8 bytes: expected at most the 4");
}

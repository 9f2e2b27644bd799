// Instructions that no compiler emits: scalar buffer stores and atomics, LDS exchanges of two
// places.
#include "runtime/emulator/decode/Decoder.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu::test;

namespace {

/// Runs `body` with a V# of `bytes` bytes of `memory` in s[12:15] and gives the memory it leaves.
std::vector<uint32_t> runOnBuffer(const std::string &body, std::vector<uint32_t> memory,
                                  uint32_t bytes) {
  TestMachine m(AsmKernel{.body = "  s_load_dwordx2 s[12:13], s[0:1], 0x0\n"
                                  "  s_waitcnt lgkmcnt(0)\n  s_mov_b32 s14, " +
                                  std::to_string(bytes) + "\n  s_mov_b32 s15, 0x27000\n" + body +
                                  "\n  s_waitcnt lgkmcnt(0)\n  s_dcache_wb\n"});
  auto ptr = m.buffer(memory);
  EXPECT_EQ(m.run({ptr}), "");
  return m.read(ptr, memory.size());
}

TEST(RareOpcode, ScalarBufferStoreDropsWhatIsOutside) {
  auto memory = runOnBuffer("  s_mov_b32 s20, 7\n  s_mov_b32 s21, 8\n  s_mov_b32 s22, 9\n"
                            "  s_mov_b32 s23, 10\n  s_buffer_store_dwordx4 s[20:23], s[12:15], 0x8",
                            {1, 2, 3, 4, 5, 6}, 16);
  EXPECT_EQ(memory, (std::vector<uint32_t>{1, 2, 7, 8, 5, 6}));
}

TEST(RareOpcode, ScalarBufferAtomicReturnsTheOldValue) {
  auto memory = runOnBuffer("  s_mov_b32 s20, 100\n  s_buffer_atomic_add s20, s[12:15], 0x4 glc\n"
                            "  s_waitcnt lgkmcnt(0)\n  s_buffer_store_dword s20, s[12:15], 0x0\n"
                            "  s_mov_b32 s21, 55\n  s_buffer_atomic_swap s21, s[12:15], 0x40",
                            {1, 2, 3}, 12);
  EXPECT_EQ(memory, (std::vector<uint32_t>{2, 102, 3}));
}

TEST(RareOpcode, ScalarCompareAndSwap) {
  // The new value, then what to compare with.
  const std::string load = "  s_mov_b64 s[24:25], s[12:13]\n  s_mov_b32 s20, 50\n";
  auto hit = runOnBuffer(load + "  s_mov_b32 s21, 2\n  s_atomic_cmpswap s[20:21], s[24:25], 0x4",
                         {1, 2, 3}, 12);
  EXPECT_EQ(hit, (std::vector<uint32_t>{1, 50, 3}));
  auto miss = runOnBuffer(load + "  s_mov_b32 s21, 9\n  s_atomic_cmpswap s[20:21], s[24:25], 0x4",
                          {1, 2, 3}, 12);
  EXPECT_EQ(miss, (std::vector<uint32_t>{1, 2, 3}));
}

TEST(RareOpcode, LdsExchangeOfTwoPlaces) {
  // Lane l holds 10 l at dword l and 20 l at dword 64 + l, and exchanges them for l + 1 and l + 2.
  auto rows = runWaveProgram("  v_mul_u32_u24_e32 v2, 10, v0\n  v_mul_u32_u24_e32 v3, 20, v0\n"
                             "  ds_write_b32 v1, v2\n  ds_write_b32 v1, v3 offset:256\n"
                             "  v_add_u32_e32 v4, 1, v0\n  v_add_u32_e32 v5, 2, v0\n"
                             "  ds_wrxchg2st64_rtn_b32 v[10:11], v1, v4, v5 offset1:1\n"
                             "  ds_read_b32 v12, v1\n  ds_read_b32 v13, v1 offset:256",
                             4);
  for (uint32_t l = 0; l < 64; ++l) {
    EXPECT_EQ(rows[0][l], 10 * l);
    EXPECT_EQ(rows[1][l], 20 * l);
    EXPECT_EQ(rows[2][l], l + 1);
    EXPECT_EQ(rows[3][l], l + 2);
  }
}

TEST(RareOpcode, LdsWrapAndConditionalExchange) {
  // 5 steps down to 2 by 3, then wraps up by 10 because 2 is below 3.
  auto rows = runWaveProgram("  v_mov_b32_e32 v2, 5\n  ds_write_b32 v1, v2\n"
                             "  v_mov_b32_e32 v3, 3\n  v_mov_b32_e32 v4, 10\n"
                             "  ds_wrap_rtn_b32 v10, v1, v3, v4\n  s_waitcnt lgkmcnt(0)\n"
                             "  ds_wrap_rtn_b32 v11, v1, v3, v4\n  s_waitcnt lgkmcnt(0)\n"
                             "  ds_read_b32 v12, v1\n"
                             "  v_lshlrev_b32_e32 v5, 3, v0\n  s_waitcnt lgkmcnt(0)\n"
                             "  v_mov_b32_e32 v6, 0x11\n  v_mov_b32_e32 v7, 0x22\n"
                             "  ds_write_b64 v5, v[6:7] offset:1024\n"
                             "  v_mov_b32_e32 v8, 0x80000033\n  v_mov_b32_e32 v9, 0x44\n"
                             "  ds_condxchg32_rtn_b64 v[14:15], v5, v[8:9] offset:1024\n"
                             "  ds_read_b64 v[16:17], v5 offset:1024",
                             8);
  for (uint32_t l = 0; l < 64; ++l) {
    EXPECT_EQ(rows[0][l], 5u);
    EXPECT_EQ(rows[1][l], 2u);
    EXPECT_EQ(rows[2][l], 12u);
    EXPECT_EQ(rows[4][l], 0x11u);
    EXPECT_EQ(rows[5][l], 0x22u);
    EXPECT_EQ(rows[6][l], 0x33u) << "bit 31 asks for the write";
    EXPECT_EQ(rows[7][l], 0x22u) << "and without it nothing is written";
  }
}

// Bytes on which LLVM 22's own disassembler crashes are undecodable, not fatal: v_madmk_f16 with
// the literal 255, and an f8f6f4 instruction with a constant as A.
TEST(RareOpcode, BytesThatCrashTheDisassembler) {
  auto decoder = llvm::cantFail(mono::emu::Decoder::create());
  const uint32_t programs[][4] = {{0x48007543, 255, 0, 0}, {0xd3ad0404, 0x040a1480, 0, 0}};
  for (const auto &words : programs) {
    llvm::ArrayRef bytes(reinterpret_cast<const uint8_t *>(words), sizeof words);
    mono::emu::Instruction inst;
    std::string name;
    EXPECT_FALSE(decoder->decode(bytes, inst, name));
    EXPECT_EQ(decoder->print(bytes), "<undecodable>");
  }
}

} // namespace

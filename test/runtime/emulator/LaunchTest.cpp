// What a wave finds when it starts, and which launches are refused.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

/// out[flat work-item] = v0, for a workgroup of 6 x 4 x 3 = 72 work-items: two waves, the second
/// with 8 live lanes.
TEST(Launch, PackedWorkitemIdAndExecOfThePartialWave) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_and_b32_e32 v1, 0x3ff, v0
  v_bfe_u32 v2, v0, 10, 10
  v_bfe_u32 v3, v0, 20, 10
  v_mul_u32_u24_e32 v2, 6, v2
  v_mul_u32_u24_e32 v3, 24, v3
  v_add3_u32 v1, v1, v2, v3
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[8:9]
  v_mov_b32_e32 v4, exec_lo
  v_mov_b32_e32 v5, exec_hi
  global_store_dwordx2 v1, v[4:5], s[8:9] offset:2048)",
                   .workitemDims = 2};
  TestMachine m(kernel);
  DevicePtr out = m.buffer(std::vector<uint32_t>(1024), "out");
  ASSERT_EQ(m.run({out}, {1, 1, 1}, {6, 4, 3}), "");
  auto ids = m.read(out, 72);
  for (unsigned z = 0; z < 3; ++z)
    for (unsigned y = 0; y < 4; ++y)
      for (unsigned x = 0; x < 6; ++x)
        EXPECT_EQ(ids[x + 6 * y + 24 * z], x | y << 10 | z << 20);
  // Work-item n leaves exec_lo at dword n, and the last one exec_hi behind it.
  auto exec = m.read(out + 2048, 73);
  EXPECT_EQ(exec[0], 0xFFFFFFFFu);
  EXPECT_EQ(exec[71], 0xFFu) << "72 work-items leave 8 lanes for the second wave";
  EXPECT_EQ(exec[72], 0u);
}

/// Each workgroup stores its ids at its linear number.
TEST(Launch, WorkgroupIdsFollowTheKernargPointer) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_mul_i32 s5, s4, 5
  s_add_u32 s5, s5, s3
  s_mul_i32 s5, s5, 3
  s_add_u32 s5, s5, s2
  s_lshl_b32 s5, s5, 4
  v_mov_b32_e32 v1, s5
  v_mov_b32_e32 v2, s2
  v_mov_b32_e32 v3, s3
  v_mov_b32_e32 v4, s4
  s_waitcnt lgkmcnt(0)
  global_store_dwordx3 v1, v[2:4], s[8:9])",
                   .extraDirectives = "  .amdhsa_system_sgpr_workgroup_id_y 1\n"
                                      "  .amdhsa_system_sgpr_workgroup_id_z 1\n"};
  TestMachine m(kernel);
  DevicePtr out = m.output(3 * 5 * 2 * 4);
  ASSERT_EQ(m.run({out}, {3, 5, 2}, {1, 1, 1}), "");
  for (unsigned z = 0; z < 2; ++z)
    for (unsigned y = 0; y < 5; ++y)
      for (unsigned x = 0; x < 3; ++x)
        EXPECT_EQ(m.read(out + 16 * (x + 3 * (y + 5 * z)), 3), (std::vector<uint32_t>{x, y, z}));
}

/// With kernarg preload the hardware starts 256 bytes later and s2.. hold the arguments.
TEST(Launch, KernargPreload) {
  AsmKernel kernel{.body = R"(
  s_trap 2
  .fill 63, 4, 0xbf800000
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s6
  global_store_dwordx2 v1, v[2:3], s[2:3])",
                   .extraDirectives = "  .amdhsa_user_sgpr_kernarg_preload_length 4\n"
                                      "  .amdhsa_user_sgpr_kernarg_preload_offset 0\n"};
  TestMachine m(kernel);
  DevicePtr out = m.output(2);
  ASSERT_EQ(m.run({out, 0xABCD}, {1, 1, 1}, {1, 1, 1}), "");
  EXPECT_EQ(m.read(out, 2), (std::vector<uint32_t>{0xABCD, 0})) << "s6 is workgroup id x";
}

TEST(Launch, ModeRegisterComesFromTheDescriptor) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_getreg_b32 s10, hwreg(HW_REG_MODE)
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, s10
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[8:9])",
                   .extraDirectives = "  .amdhsa_float_round_mode_32 2\n"
                                      "  .amdhsa_float_denorm_mode_32 1\n"
                                      "  .amdhsa_float_denorm_mode_16_64 3\n"
                                      "  .amdhsa_dx10_clamp 1\n  .amdhsa_ieee_mode 0\n"};
  TestMachine m(kernel);
  DevicePtr out = m.output(1);
  ASSERT_EQ(m.run({out}, {1, 1, 1}, {1, 1, 1}), "");
  EXPECT_EQ(m.read(out, 1)[0], 2u | 1u << 4 | 3u << 6 | 1u << 8);
}

TEST(Launch, BadParametersAreErrors) {
  TestMachine m(AsmKernel{.body = "", .ldsBytes = 100 * 1024, .kernargBytes = 16});
  auto run = [&](auto change) {
    Launch launch = m.launch({0, 0});
    change(launch);
    return errorText(m.machine.run({launch}));
  };
  EXPECT_EQ(run([](Launch &) {}), "");
  EXPECT_NE(run([](Launch &l) {
              l.kernarg.resize(12);
            }).find("expected 16 bytes of kernel arguments, but got 12"),
            std::string::npos);
  EXPECT_NE(run([](Launch &l) { l.grid[1] = 0; }).find("at least 1"), std::string::npos);
  EXPECT_NE(run([](Launch &l) { l.block = {32, 33, 1}; }).find("at most 1024 work-items"),
            std::string::npos);
  EXPECT_NE(run([](Launch &l) { l.kernel = "nope"; }).find("there are: k"), std::string::npos);
  EXPECT_NE(run([](Launch &l) { l.dynamicLdsBytes = 64 * 1024; }).find("exceed the 163840"),
            std::string::npos);
  EXPECT_NE(run([](Launch &l) {
              l.resident = true;
              l.grid = {257, 1, 1};
            }).find("grid larger than the chip: 257 workgroups must be resident, but only 256 fit"),
            std::string::npos);
  EXPECT_EQ(run([](Launch &l) { l.grid = {257, 1, 1}; }), "") << "not resident: it queues";
  EXPECT_NE(run([](Launch &l) { l.rank = 1; }).find("rank"), std::string::npos);
  EXPECT_NE(run([](Launch &l) { l.module = nullptr; }).find("module"), std::string::npos);
}

/// 512 registers leave one wave a SIMD, so a CU takes 4 waves: 8 waves do not fit.
TEST(Launch, RegistersLimitTheWavesOfAWorkgroup) {
  TestMachine m(AsmKernel{.body = "", .vgprs = 256, .agprs = 256});
  EXPECT_EQ(m.run({}, {1, 1, 1}, {256, 1, 1}), "");
  EXPECT_NE(m.run({}, {1, 1, 1}, {512, 1, 1}).find("does not fit a compute unit"),
            std::string::npos);
}

/// 2 x 2 workgroups of 48 x 2, the last column 30 wide and the last row 1 high. Every work-item
/// adds 1 at its global position; a workgroup of 30 x 1 has a single wave, and its barrier needs no
/// other.
TEST(Launch, PartialWorkgroupsAtTheEndOfTheGrid) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_and_b32_e32 v1, 0x3ff, v0
  v_bfe_u32 v2, v0, 10, 10
  s_mul_i32 s4, s2, 48
  v_add_u32_e32 v1, s4, v1
  s_lshl_b32 s4, s3, 1
  v_add_u32_e32 v2, s4, v2
  v_lshl_add_u32 v3, v2, 7, v1
  v_lshlrev_b32_e32 v3, 2, v3
  v_mov_b32_e32 v4, 1
  s_barrier
  s_waitcnt lgkmcnt(0)
  global_atomic_add v3, v4, s[8:9])",
                   .workitemDims = 1,
                   .extraDirectives = "  .amdhsa_system_sgpr_workgroup_id_y 1\n"};
  TestMachine m(kernel);
  DevicePtr out = m.buffer(std::vector<uint32_t>(4 * 128), "out");
  Launch launch = m.launch({out}, {2, 2, 1}, {48, 2, 1});
  launch.remainder = {30, 1, 0};
  ASSERT_EQ(errorText(m.machine.run({launch})), "");
  const std::vector<uint32_t> count = m.read(out, 4 * 128);
  for (unsigned y = 0; y < 4; ++y)
    for (unsigned x = 0; x < 128; ++x)
      EXPECT_EQ(count[y * 128 + x], x < 78 && y < 3 ? 1u : 0u) << x << ", " << y;
}

TEST(Launch, PartialWorkgroupMustBeSmaller) {
  TestMachine m(AsmKernel{.body = ""});
  Launch launch = m.launch({}, {2, 1, 1}, {64, 1, 1});
  launch.remainder = {64, 0, 0};
  EXPECT_NE(errorText(m.machine.run({launch}))
                .find("expected fewer than 64 work-items in a partial workgroup, but got 64 in "
                      "dimension 0"),
            std::string::npos);
}

/// Code objects say whether they need or forbid XNACK and SRAM ECC; neither changes what the code
/// does, and the emulated chip takes all of them (llvm AMDGPUUsage, "Target ID").
TEST(Launch, TargetIdsOfEveryKind) {
  constexpr size_t features = 49; // bits 8 to 15 of e_flags: 3:2 SRAM ECC, 1:0 XNACK
  std::vector<uint8_t> file = assemble(AsmKernel{.body = "  v_mov_b32_e32 v1, 1"});
  EXPECT_EQ(file[features], 0x05) << "any of both is what the assembler writes by itself";
  for (unsigned xnack = 0; xnack < 4; ++xnack)
    for (unsigned ecc = 0; ecc < 4; ++ecc) {
      file[features] = uint8_t(xnack | ecc << 2);
      TestMachine machine(file, "k");
      EXPECT_EQ(machine.run({}), "") << "XNACK " << xnack << ", SRAM ECC " << ecc;
    }
}

/// 100 MiB of zeros that the file does not hold.
TEST(Launch, LargeZeroedGlobals) {
  constexpr uint64_t bytes = uint64_t(100) << 20;
  AsmKernel kernel{.body = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v3, 5
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[10:11]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, v2, v3
  global_store_dword v1, v2, s[8:9]
  s_endpgm
  .bss
  .globl room
  .type room,@object
  .p2align 8
room:
  .skip 104857600
  .size room, 104857600
  .text)"};
  TestMachine m(kernel);
  auto room = m.machine.global(m.modules[0], "room");
  ASSERT_TRUE(bool(room)) << llvm::toString(room.takeError());
  EXPECT_EQ(room->second, bytes);
  DevicePtr out = m.output(64);
  ASSERT_EQ(m.run({out, room->first + bytes - 256}), "");
  EXPECT_EQ(m.read(out, 64), std::vector<uint32_t>(64, 5));
}

// Every check: a program that must be reported, and its correct counterpart that must not.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

static void expectError(const std::string &body, const std::string &text) {
  runWaveProgram(body, 1, {1, 2, 3, 4}, 1024, text);
}
static void expectClean(const std::string &body) {
  runWaveProgram("  v_mov_b32_e32 v10, 0\n" + body, 1, std::vector<uint32_t>(64, 1), 1024);
}

TEST(Checks, NamesAreParsed) {
  Checks checks = Checks::defaults();
  EXPECT_TRUE(checks.has(Check::Waitcnt));
  EXPECT_FALSE(checks.has(Check::RegisterUninit));
  EXPECT_EQ(errorText(checks.apply("all,-waitcnt")), "");
  EXPECT_FALSE(checks.has(Check::Waitcnt));
  EXPECT_TRUE(checks.has(Check::Hazard));
  EXPECT_TRUE(checks.has(Check::GlobalRace));
  // Kernels of compilers fail it, so it must be asked for.
  EXPECT_FALSE(checks.has(Check::RegisterUninit));
  EXPECT_EQ(errorText(checks.apply("all,register-uninit")), "");
  EXPECT_TRUE(checks.has(Check::RegisterUninit));
  EXPECT_EQ(errorText(checks.apply("none,bounds")), "");
  EXPECT_TRUE(checks.has(Check::Bounds));
  EXPECT_FALSE(checks.has(Check::Deadlock));
  EXPECT_NE(
      errorText(checks.apply("bound")).find("unknown check 'bound'; known: all, none, waitcnt"),
      std::string::npos);
}

TEST(Checks, LoadUsedBeforeItsWait) {
  const char *where = "use of v2 before an s_waitcnt covers the load at pc 0x";
  expectError("  global_load_dword v2, v1, s[6:7]\n  v_mov_b32_e32 v10, v2", "out-of-bounds");
  expectError("  v_mov_b32_e32 v3, 0\n  global_load_dword v2, v3, s[6:7]\n  v_mov_b32_e32 v10, v2",
              where);
  expectError("  v_mov_b32_e32 v3, 0\n  global_load_dword v2, v3, s[6:7]\n  v_mov_b32_e32 v10, v2",
              "global_load_dword v2, v3, s[6:7]");
  expectClean("  global_load_dword v2, v1, s[6:7]\n  s_waitcnt vmcnt(0)\n  v_mov_b32_e32 v10, v2");
}

TEST(Checks, OverwriteOfAPendingDestination) {
  expectError("  v_mov_b32_e32 v3, 0\n  global_load_dword v2, v3, s[6:7]\n  v_mov_b32_e32 v2, 0",
              "overwrite of v2 before an s_waitcnt");
  expectClean("  v_mov_b32_e32 v3, 0\n  global_load_dword v2, v3, s[6:7]\n"
              "  global_load_dword v2, v3, s[6:7]\n  s_waitcnt vmcnt(0)\n  v_mov_b32_e32 v2, 0");
}

/// VMEM returns in order, stores included, so vmcnt(1) covers all but the youngest.
TEST(Checks, VmcntCountsExactly) {
  std::string loads = "  global_load_dword v2, v1, s[6:7]\n  global_load_dword v3, v1, s[6:7]\n"
                      "  global_store_dword v1, v0, s[6:7]\n";
  expectClean(loads + "  s_waitcnt vmcnt(2)\n  v_mov_b32_e32 v10, v2");
  expectClean(loads + "  s_waitcnt vmcnt(1)\n  v_mov_b32_e32 v10, v3");
  runWaveProgram(loads + "  s_waitcnt vmcnt(2)\n  v_mov_b32_e32 v10, v3", 1,
                 std::vector<uint32_t>(64), 1024, "use of v3");
}

TEST(Checks, LgkmcntOfLdsIsOrderedAndOfScalarLoadsIsNot) {
  std::string reads = "  ds_write_b32 v1, v0\n  ds_read_b32 v2, v1\n  ds_read_b32 v3, v1\n";
  expectClean(reads + "  s_waitcnt lgkmcnt(1)\n  v_mov_b32_e32 v10, v2");
  expectError(reads + "  s_waitcnt lgkmcnt(1)\n  v_mov_b32_e32 v10, v3", "use of v3");
  std::string loads = "  s_load_dword s20, s[6:7], 0x0\n  s_load_dword s21, s[6:7], 0x0\n";
  expectError(loads + "  s_waitcnt lgkmcnt(1)\n  s_mov_b32 s22, s20", "use of s20");
  expectClean(loads + "  s_waitcnt lgkmcnt(0)\n  s_mov_b32 s22, s20");
}

/// FLAT counts in both.
TEST(Checks, FlatNeedsBothWaits) {
  std::string load =
      "  v_mov_b32_e32 v4, s6\n  v_mov_b32_e32 v5, s7\n  flat_load_dword v2, v[4:5]\n";
  expectError(load + "  s_waitcnt vmcnt(0)\n  v_mov_b32_e32 v10, v2", "use of v2");
  expectError(load + "  s_waitcnt lgkmcnt(0)\n  v_mov_b32_e32 v10, v2", "use of v2");
  expectClean(load + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  v_mov_b32_e32 v10, v2");
}

/// It may return before older VMEM, so that a count above zero covers the others only as far as
/// they alone exceed it (CDNA4 ISA 4.4: the only sensible count after FLAT is zero).
TEST(Checks, FlatReturnsOutOfOrder) {
  std::string flat = "  flat_load_dword v3, v[4:5]\n",
              older = "  global_load_dword v2, v1, s[6:7]\n";
  std::string younger = "  global_load_dword v6, v1, s[6:7]\n  global_load_dword v7, v1, s[6:7]\n";
  std::string address = "  v_mov_b32_e32 v4, s6\n  v_mov_b32_e32 v5, s7\n  v_mov_b32_e32 v1, 0\n";
  std::string one = "  s_waitcnt vmcnt(1)\n", all = "  s_waitcnt vmcnt(0)\n";
  std::string useOlder = "  v_mov_b32_e32 v10, v2", useFlat = "  v_mov_b32_e32 v10, v3";
  expectError(address + older + flat + one + useOlder, "use of v2");
  expectClean(address + older + flat + all + useOlder);
  // At most one of four is out, so the oldest two of the three in order have returned.
  expectClean(address + older + flat + younger + one + useOlder);
  expectClean(address + older + flat + younger + one + "  v_mov_b32_e32 v10, v6");
  expectError(address + older + flat + younger + one + "  v_mov_b32_e32 v10, v7", "use of v7");
  expectError(address + flat + younger + one + "  s_waitcnt lgkmcnt(0)\n" + useFlat, "use of v3");
  expectClean(address + flat + younger + all + "  s_waitcnt lgkmcnt(0)\n" + useFlat);
}

/// The hardware counter holds 63: older loads have returned when more are issued.
TEST(Checks, FullCounterStallsTheIssue) {
  std::string body = "  v_mov_b32_e32 v3, 0\n  global_load_dword v2, v3, s[6:7]\n";
  std::string more;
  for (unsigned n = 0; n < 63; ++n)
    more += "  global_load_dword v4, v3, s[6:7]\n";
  expectError(body + more.substr(0, more.size() / 63 * 62) + "  v_mov_b32_e32 v10, v2",
              "use of v2");
  expectClean(body + more + "  v_mov_b32_e32 v10, v2");
  // Whatever is out of order, the table of those that are out has room for the next.
  std::string flat = "  v_mov_b32_e32 v4, s6\n  v_mov_b32_e32 v5, s7\n  v_mov_b32_e32 v6, 0\n"
                     "  flat_load_dword v3, v[4:5]\n";
  for (unsigned n = 0; n < 100; ++n)
    flat +=
        "  global_load_dword v7, v6, s[6:7]\n" + std::string(n % 4 ? "" : "  s_waitcnt vmcnt(2)\n");
  expectClean(flat + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  v_mov_b32_e32 v10, v3");
}

TEST(Checks, LoadToLdsReadBeforeItsWait) {
  std::string load = "  s_mov_b32 m0, 0\n  s_nop 0\n  global_load_lds_dword v1, s[6:7]\n";
  runWaveProgram(load + "  ds_read_b32 v10, v1", 1, std::vector<uint32_t>(64), 1024,
                 "before s_waitcnt vmcnt of wave 0 covers the load to LDS");
  expectClean(load + "  s_waitcnt vmcnt(0)\n  ds_read_b32 v10, v1\n  s_waitcnt lgkmcnt(0)");
}

/// FLAT reaches the same LDS and is checked in the same way.
TEST(Checks, FlatAccessOfLds) {
  std::string flat = "  s_mov_b64 s[22:23], src_shared_base\n  v_mov_b32_e32 v2, v1\n"
                     "  v_mov_b32_e32 v3, s23\n";
  std::string load = "  s_mov_b32 m0, 0\n  s_nop 0\n  global_load_lds_dword v1, s[6:7]\n";
  std::string wait = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  for (std::string access : {"  flat_load_dword v10, v[2:3]\n", "  flat_store_dword v[2:3], v1\n",
                             "  flat_atomic_add v[2:3], v1\n"}) {
    SCOPED_TRACE(access);
    runWaveProgram(flat + load + access, 1, std::vector<uint32_t>(64), 1024,
                   "before s_waitcnt vmcnt of wave 0 covers the load to LDS");
    expectClean(flat + load + wait + access + wait);
  }
  std::string outside = flat + "  v_mov_b32_e32 v2, 1021\n";
  for (std::string access : {"  flat_load_dword v10, v[2:3]\n", "  flat_store_dword v[2:3], v1\n"})
    expectError(outside + access, "out-of-bounds LDS access in lane 0: 4 bytes at 1021, but");
  expectError(flat + "  flat_load_dword v10, v[2:3]", "read of LDS nobody wrote in lane 0");
  expectError(flat + "  v_mov_b32_e32 v2, 2\n  flat_atomic_add v[2:3], v1",
              "atomic of 4 bytes in lane 0 at ");
}

TEST(Checks, OutOfBoundsNamesTheNearestAllocation) {
  expectError("  global_load_dword v10, v1, s[6:7]",
              "lane 4: address 0x"); // 4 dwords: lane 4 is the first outside
  expectError("  global_load_dword v10, v1, s[6:7]",
              "it starts 0 bytes past the end of 'in' (16 bytes");
  expectError("  v_mov_b32_e32 v2, 14\n  global_load_dword v10, v2, s[6:7]",
              "it runs 2 bytes past the end of 'in'");
  expectError("  v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v3, 0\n  global_store_dword v[2:3], v0, off",
              "not a device address");
  expectError("  v_mov_b32_e32 v2, 1021\n  ds_write_b32 v2, v0",
              "4 bytes at 1021, but the workgroup has 1024 bytes of LDS");
  expectError("  v_mov_b32_e32 v2, 62\n  scratch_store_dword v2, v0, off",
              "private memory byte 62 + 4, but the kernel has 64 bytes");
}

TEST(Checks, ReadOfMemoryNobodyWrote) {
  // v10.. go to the output at s[8:9], which nobody wrote yet.
  expectError("  global_load_dword v10, v1, s[8:9]",
              "read of memory nobody wrote in lane 0: 4 bytes at");
  expectClean("  global_store_dword v1, v0, s[8:9]\n  s_waitcnt vmcnt(0)\n  global_load_dword v10, "
              "v1, s[8:9]");
  expectError("  ds_read_b32 v10, v1", "read of LDS nobody wrote in lane 0: 4 bytes at 0 of 1024");
  expectError("  ds_write_b16 v1, v0\n  ds_read_b32 v10, v1", "read of LDS nobody wrote");
  expectClean("  ds_write_b32 v1, v0\n  ds_read_b32 v10, v1");
}

TEST(Checks, HostReadOfUnwrittenMemory) {
  Machine machine(1);
  DevicePtr ptr = llvm::cantFail(machine.allocate(0, 64, "out"));
  std::vector<uint8_t> bytes(64);
  EXPECT_EQ(errorText(machine.fill(0, ptr, 0, 60)), "");
  EXPECT_NE(errorText(machine.read(0, ptr, bytes)).find("nobody wrote 4 of them"),
            std::string::npos);
  EXPECT_EQ(errorText(machine.fill(0, ptr + 60, 0, 4)), "");
  EXPECT_EQ(errorText(machine.read(0, ptr, bytes)), "");
  EXPECT_EQ(errorText(machine.poison(0, ptr + 8, 8)), "");
  EXPECT_EQ(llvm::cantFail(machine.unwrittenBytes(0, ptr, 64)), 8u);
  EXPECT_NE(errorText(machine.write(0, ptr + 1, bytes)).find("runs 1 bytes past the end of 'out'"),
            std::string::npos);
  EXPECT_NE(errorText(machine.free(0, ptr + 4)), "");
  EXPECT_EQ(errorText(machine.free(0, ptr)), "");
  EXPECT_NE(errorText(machine.read(0, ptr, bytes)), "");
}

TEST(Checks, RegisterNobodyWrote) {
  Options options;
  options.checks.set(Check::RegisterUninit);
  TestMachine bad(AsmKernel{.body = "  v_mov_b32_e32 v1, v7"}, 1, options);
  EXPECT_NE(bad.run({}).find("read of v7, which nobody wrote"), std::string::npos);
  TestMachine good(AsmKernel{.body = "  v_mov_b32_e32 v7, s2\n  v_mov_b32_e32 v1, v7\n"}, 1,
                   options);
  EXPECT_EQ(good.run({}), "");
  TestMachine scalar(AsmKernel{.body = "  s_mov_b32 s9, s30"}, 1, options);
  EXPECT_NE(scalar.run({}).find("read of s30, which nobody wrote"), std::string::npos);
}

TEST(Checks, RegistersOutsideTheAllocation) {
  TestMachine m(AsmKernel{.body = "  v_mov_b32_e32 v40, 0", .vgprs = 24});
  EXPECT_NE(m.run({}).find("v40 is outside the 24 VGPRs"), std::string::npos);
  TestMachine a(AsmKernel{.body = "  v_accvgpr_write_b32 a9, 0", .vgprs = 24, .agprs = 8});
  EXPECT_NE(a.run({}).find("a9 is outside the 8 AGPRs"), std::string::npos);
}

TEST(Checks, ReportsSayWhoAndWhere) {
  TestMachine m(AsmKernel{.body = R"(
  s_cmp_eq_u32 s2, 3
  s_cbranch_scc0 .Lend
  s_trap 2
.Lend:)"});
  std::string text = m.run({}, {5, 1, 1});
  EXPECT_NE(text.find("rank 0, kernel 'k', workgroup (3, 0, 0), wave 0, pc 0x"), std::string::npos)
      << text;
  EXPECT_NE(text.find("s_trap 2: s_trap 2: the kernel aborted"), std::string::npos) << text;
}

TEST(Checks, MisalignedAtomicsAndUnknownInstructions) {
  expectError("  v_mov_b32_e32 v2, 2\n  global_atomic_add v2, v0, s[6:7]",
              "expected natural alignment");
  expectError("  v_mov_b32_e32 v2, 2\n  ds_add_u32 v2, v0", "expected natural alignment");
  expectError("  .long 0xffffffff", "no gfx950 instruction");
  expectError("  s_mov_b64 s[20:21], 0\n  s_setpc_b64 s[20:21]",
              "program counter is outside the code");
}

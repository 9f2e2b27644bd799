// Traces: clocks of wavefronts counted by hand, and stops at markers.
#include "runtime/emulator/Trace.h"
#include "test/runtime/emulator/AsmKernel.h"

#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// Workgroup 0 stores a word after 100 idle instructions, workgroup 1 polls it. Markers are 7
/// and 8.
const char *const handOver = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  s_waitcnt lgkmcnt(0)
  s_add_u32 m0, s2, 7
  s_ttracedata
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 consume
  .rept 100
  s_nop 0
  .endr
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, 1
  global_store_dwordx2 v1, v[2:3], s[8:9] sc1
  s_branch done
consume:
  global_load_dwordx2 v[2:3], v1, s[8:9] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s10, v3
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 done
  s_sleep 1
  s_branch consume
done:)";

/// Two wavefronts: the second takes 50 instructions more to the barrier.
const char *const meet = R"(
  s_mov_b32 m0, 1
  s_ttracedata
  v_readfirstlane_b32 s8, v0
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 arrive
  .rept 50
  s_nop 0
  .endr
arrive:
  s_barrier
  s_mov_b32 m0, 2
  s_ttracedata)";

Options traced(Trace &trace) {
  Options options = testOptions();
  options.trace = &trace;
  return options;
}

TEST(Trace, WaitsEndWhenTheWordHasBeenStored) {
  Trace trace;
  TestMachine m(AsmKernel{.body = handOver}, 1, traced(trace));
  DevicePtr word = m.buffer({0, 0});
  trace.watch(word, 8);
  ASSERT_EQ(m.run({word}, {2, 1, 1}), "");

  std::vector<Trace::Task> tasks = trace.tasks();
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].marker, 7u);
  EXPECT_EQ(tasks[1].marker, 8u);
  EXPECT_EQ(tasks[1].begin.workgroup, 1u);
  ASSERT_EQ(trace.waits().size(), 1u);
  const Trace::Wait &wait = trace.waits().front();
  EXPECT_EQ(wait.begin.workgroup, 1u);
  EXPECT_EQ(wait.word, word);
  // Compare, branch, 100 times nothing, two moves, store.
  EXPECT_EQ(wait.stored, (Trace::Place{0, 0, tasks[0].begin.step + 105}));
  EXPECT_EQ(wait.end, wait.stored.step + 1);
  // After the load: s_waitcnt, v_readfirstlane, compare, branch, s_endpgm.
  EXPECT_EQ(tasks[1].end, wait.end + 5);
  // After the store: branch, s_endpgm.
  EXPECT_EQ(tasks[0].end, wait.stored.step + 2);
}

TEST(Trace, WhatWasStoredLongAgoIsNotWaitedFor) {
  Trace trace;
  TestMachine m(AsmKernel{.body = handOver}, 1, traced(trace));
  DevicePtr word = m.buffer({0, 0});
  trace.watch(word, 8);
  // In the second run the consumer finds the word of the first and does not poll for another.
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(m.run({word}, {2, 1, 1}), "");
  std::vector<Trace::Task> tasks = trace.tasks();
  ASSERT_EQ(tasks.size(), 4u);
  ASSERT_GE(trace.waits().size(), 1u);
  EXPECT_EQ(trace.waits()[0].stored.step, tasks[0].begin.step + 105);
  for (const Trace::Wait &wait : trace.waits())
    EXPECT_GT(wait.end, wait.begin.step);
}

TEST(Trace, OtherMemoryIsNotWatched) {
  Trace trace;
  TestMachine m(AsmKernel{.body = handOver}, 1, traced(trace));
  DevicePtr word = m.buffer({0, 0});
  ASSERT_EQ(m.run({word}, {2, 1, 1}), "");
  EXPECT_TRUE(trace.waits().empty());
}

TEST(Trace, BarriersMakeClocksEqual) {
  Trace trace;
  TestMachine m(AsmKernel{.body = meet}, 1, traced(trace));
  ASSERT_EQ(m.run({}, {1, 1, 1}, {128, 1, 1}), "");
  std::vector<Trace::Task> tasks = trace.tasks();
  ASSERT_EQ(tasks.size(), 2u);
  // From the marker: v_readfirstlane, compare, branch, 50 times nothing, barrier, move, marker.
  EXPECT_EQ(tasks[1].begin.step, tasks[0].begin.step + 56);
  EXPECT_EQ(tasks[0].end, tasks[1].begin.step);
}

TEST(Trace, ClocksGoOnInTheNextRun) {
  Trace trace;
  TestMachine m(AsmKernel{.body = meet}, 1, traced(trace));
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(m.run({}, {1, 1, 1}, {128, 1, 1}), "");
  std::vector<Trace::Task> tasks = trace.tasks();
  ASSERT_EQ(tasks.size(), 4u);
  EXPECT_GE(tasks[2].begin.step, tasks[1].end);
  EXPECT_EQ(tasks[3].begin.step - tasks[2].begin.step, 56u);
}

TEST(Trace, StopsAtAMarkerAndShowsRegisters) {
  Trace trace;
  trace.stopAt({.marker = 8});
  TestMachine m(AsmKernel{.body = handOver}, 1, traced(trace));
  DevicePtr word = m.buffer({0, 0});
  std::string error = m.run({word}, {2, 1, 1});
  EXPECT_NE(error.find("workgroup (1, 0, 0)"), std::string::npos) << error;
  EXPECT_NE(error.find("s_ttracedata: stopped at a marker"), std::string::npos) << error;
  ASSERT_TRUE(trace.stopped().has_value());
  EXPECT_EQ(trace.stopped()->workgroup, 1u);
  const std::string &registers = trace.stopped()->registers;
  EXPECT_NE(registers.find("m0 0x00000008"), std::string::npos);
  EXPECT_NE(registers.find("s2 0x00000001"), std::string::npos);
  EXPECT_NE(registers.find("v0 0x00000000 0x00000001 0x00000002 0x00000003"), std::string::npos)
      << registers;
  // Registers that nobody wrote are not shown.
  EXPECT_EQ(registers.find("v5 "), std::string::npos);
}

/// Every lane of two wavefronts, the second late, writes its number to LDS in task 1, and -1 behind
/// it.
const char *const twoTasks = R"(
  s_mov_b32 m0, 1
  s_ttracedata
  v_readfirstlane_b32 s8, v0
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 store
  .rept 50
  s_nop 0
  .endr
store:
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 2
  s_ttracedata
  v_mov_b32_e32 v2, -1
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0))";

/// Runs it until the wavefronts have left the task of that marker.
void runBehind(Trace &trace, uint32_t marker) {
  trace.stopAt({.marker = marker, .rank = 0, .behind = true});
  TestMachine m(AsmKernel{.body = twoTasks, .ldsBytes = 1024}, 1, traced(trace));
  std::string error = m.run({}, {1, 1, 1}, {128, 1, 1});
  EXPECT_NE(error.find("stopped behind a task"), std::string::npos) << error;
  ASSERT_TRUE(trace.stopped().has_value());
  ASSERT_EQ(trace.stopped()->lds.size(), 1024u);
}

TEST(Trace, StopsWhenAllHaveLeftATask) {
  Trace trace;
  ASSERT_NO_FATAL_FAILURE(runBehind(trace, 1));
  for (uint32_t lane = 0; lane < 128; ++lane) {
    EXPECT_TRUE(trace.stopped()->ldsWritten[4 * lane]);
    EXPECT_EQ(llvm::support::endian::read32le(&trace.stopped()->lds[4 * lane]), lane);
  }
  EXPECT_FALSE(trace.stopped()->ldsWritten[512]);
}

TEST(Trace, StopsBehindTheLastTask) {
  Trace trace;
  ASSERT_NO_FATAL_FAILURE(runBehind(trace, 2));
  for (uint32_t lane = 0; lane < 128; ++lane)
    EXPECT_EQ(llvm::support::endian::read32le(&trace.stopped()->lds[4 * lane]), ~0u);
}

TEST(Trace, StopsOnOneRankOnly) {
  Trace trace;
  trace.stopAt({.marker = 1, .rank = 1});
  TestMachine m(AsmKernel{.body = twoTasks, .ldsBytes = 1024}, 1, traced(trace));
  EXPECT_EQ(m.run({}, {1, 1, 1}, {128, 1, 1}), "");
  EXPECT_FALSE(trace.stopped().has_value());
}

} // namespace

// Kernels in which workgroups hand data to each other.
#include "test/runtime/emulator/ExchangeKernels.h"

#include <gtest/gtest.h>

namespace mono::emu::test {

static const std::string waitVmem = "s_waitcnt vmcnt(0)";
static const std::string writeBack = "buffer_wbl2 sc1\n  s_waitcnt vmcnt(0)";

Exchange releaseAcquire(unsigned waves) {
  return {.waitBeforeBarrier = waitVmem,
          .release = writeBack,
          .acquire = "buffer_inv sc1",
          .waves = waves};
}

Exchange deviceScope(unsigned waves) {
  return {.storeBits = "sc1", .waitBeforeBarrier = waitVmem, .loadBits = "sc1", .waves = waves};
}

AsmKernel countUp() {
  return AsmKernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_load_dword s10, s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  s_xor_b32 s2, s2, s10
  s_lshl_b32 s11, s2, 8
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v1, s11, v1
  global_load_dword v2, v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, 1, v2
  global_store_dword v1, v2, s[8:9])"};
}

Options withChecks(const std::string &list) {
  Options options = testOptions();
  options.deadlockPatienceMs = 0;
  EXPECT_EQ(errorText(options.checks.apply(list)), "");
  return options;
}

Options adversarial(uint64_t seed, const std::string &checks) {
  Options options = withChecks(checks);
  options.coherence = Coherence::adversarial(seed);
  return options;
}

static std::string exchangeBody(const Exchange &e) {
  std::string data = e.isWide ? "x4 " : " ", registers = e.isWide ? "v[4:7]" : "v4";
  return R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dwordx2 s[12:13], s[0:1], 0x10
  v_lshlrev_b32_e32 v1, 5, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v9, 0
  v_readfirstlane_b32 s20, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v8, v1, s[8:9] offset:16
  s_waitcnt vmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lconsumer
  v_add_u32_e32 v4, 100, v0
  global_store_dword)" +
         data + "v1, " + registers + ", s[8:9] " + e.storeBits + "\n  " + e.waitBeforeBarrier + R"(
  s_barrier
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc0 .Lend
  )" + e.release +
         R"(
  v_mov_b32_e32 v3, 1
  global_store_dword v9, v3, s[10:11] )" +
         e.flagBits + R"(
  s_endpgm
.Lconsumer:
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc0 .Lread
  )" + e.beforePoll +
         R"(
.Lpoll:
  s_sleep 1
  global_load_dword v4, v9, s[10:11] )" +
         e.pollBits + "\n  " + e.besidePoll + R"(
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s16, v4
  s_cmp_eq_u32 s16, 1
  s_cbranch_scc0 .Lpoll
  )" + e.acquire +
         R"(
.Lread:
  )" + e.consumerBarrier +
         R"(
  global_load_dword)" +
         data + registers + ", v1, s[8:9] " + e.loadBits + R"(
  s_waitcnt vmcnt(0)
  global_store_dword v2, v4, s[12:13]
.Lend:)";
}

RunResult run(const Exchange &e, const Options &options) {
  unsigned items = 64 * e.waves;
  TestMachine m(AsmKernel{.body = exchangeBody(e)}, 1, options);
  DevicePtr data = m.buffer(std::vector<uint32_t>(8 * items), "data");
  DevicePtr flag = m.buffer({0, 0}, "flag"), out = m.output(items);
  RunResult result{m.run({data, flag, out}, {2, 1, 1}, {items, 1, 1})};
  if (!result.error.empty())
    return result;
  result.instructions = m.machine.stats(0).totalInstructions();
  std::vector<uint32_t> expected;
  for (unsigned n = 0; n < items; ++n)
    expected.push_back(100 + n);
  result.isRight = m.read(out, items) == expected;
  return result;
}

// ---- grids -------------------------------------------------------------------------------------

/// s[8:9] output, s[10:11] counter, s[12:13] scratch, s14 the number of workgroups; v1 = 4 * lane,
/// v2 = 256 * workgroup + 4 * lane, v9 = 0.
static const char *gridProlog = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dwordx4 s[12:15], s[0:1], 0x10
  v_lshlrev_b32_e32 v1, 2, v0
  s_lshl_b32 s16, s2, 8
  v_add_u32_e32 v2, s16, v1
  v_mov_b32_e32 v9, 0
  s_waitcnt lgkmcnt(0)
)";
/// Counts this workgroup; s17 is how many have counted so far.
static const std::string countIn = R"(
  s_mov_b64 s[18:19], exec
  s_mov_b64 exec, 1
  v_mov_b32_e32 v4, 1
  global_atomic_add v5, v9, v4, s[10:11] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s17, v5
  s_mov_b64 exec, s[18:19]
  s_add_u32 s17, s17, 1
)";

GridKernel lastBlockReduction(const std::string &release, const std::string &acquire) {
  return {.body = gridProlog + std::string(R"(
  s_add_u32 s20, s2, 1
  v_mul_lo_u32 v3, v0, s20
  global_store_dword v2, v3, s[12:13]
  )") + release + countIn +
                  R"(
  s_cmp_eq_u32 s17, s14
  s_cbranch_scc0 .Lend
  )" + acquire + R"(
  v_mov_b32_e32 v6, 0
.Ladd:
  global_load_dword v7, v1, s[12:13]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v6, v6, v7
  s_add_u32 s12, s12, 256
  s_addc_u32 s13, s13, 0
  s_sub_u32 s17, s17, 1
  s_cmp_eq_u32 s17, 0
  s_cbranch_scc0 .Ladd
  global_store_dword v1, v6, s[8:9]
.Lend:)",
          .expected = [](unsigned lane, unsigned n) { return lane * n * (n + 1) / 2; }};
}

GridKernel gridBarrier(const std::string &release, const std::string &acquire) {
  return {.body = gridProlog + std::string(R"(
  v_add_u32_e32 v3, s16, v0
  global_store_dword v2, v3, s[12:13]
  )") + release + countIn +
                  R"(
.Lpoll:
  s_sleep 1
  global_load_dword v5, v9, s[10:11] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s17, v5
  s_cmp_eq_u32 s17, s14
  s_cbranch_scc0 .Lpoll
  )" + acquire + R"(
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lend
  global_load_dword v7, v1, s[12:13] offset:768
  s_waitcnt vmcnt(0)
  global_store_dword v1, v7, s[8:9]
.Lend:)",
          .expected = [](unsigned lane, unsigned) { return 768 + lane; }};
}

GridKernel atomicCounters() {
  return {.body = gridProlog + std::string(R"(
  global_atomic_add v1, v0, s[12:13]
  s_waitcnt vmcnt(0)
)") + countIn + R"(
  s_cmp_eq_u32 s17, s14
  s_cbranch_scc0 .Lend
  global_load_dword v7, v1, s[12:13] sc1
  s_waitcnt vmcnt(0)
  global_store_dword v1, v7, s[8:9]
.Lend:)",
          .expected = [](unsigned lane, unsigned n) { return lane * n; }};
}

RunResult run(const GridKernel &kernel, const Options &options) {
  TestMachine m(AsmKernel{.body = kernel.body}, 1, options);
  DevicePtr out = m.output(64), counter = m.buffer({0}, "counter");
  DevicePtr scratch = m.buffer(std::vector<uint32_t>(64 * kernel.workgroups + 64), "scratch");
  RunResult result{m.run({out, counter, scratch, kernel.workgroups}, {kernel.workgroups, 1, 1})};
  if (!result.error.empty())
    return result;
  result.instructions = m.machine.stats(0).totalInstructions();
  std::vector<uint32_t> expected;
  for (unsigned lane = 0; lane < 64; ++lane)
    expected.push_back(kernel.expected(lane, kernel.workgroups));
  result.isRight = m.read(out, 64) == expected;
  return result;
}

// ---- tagged words ------------------------------------------------------------------------------

static std::string taggedBody(unsigned dwords, const std::string &access) {
  std::string width = dwords == 2 ? "x2" : "x4", shift = dwords == 2 ? "3" : "4";
  std::string data = dwords == 2 ? "v[4:5]" : "v[4:7]", tag = dwords == 2 ? "v5" : "v7";
  return R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dword s12, s[0:1], 0x10
  v_lshlrev_b32_e32 v1, )" +
         shift + R"(, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s12, s12, s2
  s_cmp_eq_u32 s12, 0
  s_cbranch_scc0 .Lpoll
  v_add_u32_e32 v4, 100, v0
  v_mov_b32_e32 v5, 1
  v_mov_b32_e32 v6, 1
  v_mov_b32_e32 v7, 1
  global_store_dword)" +
         width + " v1, " + data + ", s[8:9] " + access + R"(
  s_endpgm
.Lpoll:
  s_sleep 1
  global_load_dword)" +
         width + " " + data + ", v1, s[8:9] " + access + R"(
  s_waitcnt vmcnt(0)
  v_cmp_ne_u32_e32 vcc, 1, )" +
         tag + R"(
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz .Lpoll
  s_mov_b64 exec, -1
  global_store_dword v2, v4, s[10:11]
)";
}

RunResult runTagged(unsigned dwords, const Options &options, const std::string &bits,
                    bool acrossRanks, unsigned offset) {
  unsigned ranks = acrossRanks ? 2 : 1, reader = ranks - 1;
  std::string access = "offset:" + std::to_string(offset) + " " + bits;
  TestMachine m(AsmKernel{.body = taggedBody(dwords, access)}, ranks, options);
  DevicePtr mail = m.buffer(std::vector<uint32_t>(64 * dwords + offset / 4), "mail", reader,
                            MemoryKind::PeerVisible);
  DevicePtr out = m.output(64, "out", reader);
  std::vector<Launch> launches;
  for (uint64_t rank = 0; rank < ranks; ++rank)
    launches.push_back(
        m.launch({mail, out, rank}, {acrossRanks ? 1u : 2u, 1, 1}, {64, 1, 1}, unsigned(rank)));
  RunResult result{errorText(m.machine.run(launches))};
  if (!result.error.empty())
    return result;
  std::vector<uint32_t> expected;
  for (unsigned lane = 0; lane < 64; ++lane)
    expected.push_back(100 + lane);
  result.isRight = m.read(out, 64, reader) == expected;
  return result;
}

} // namespace mono::emu::test

// Each check by its name: it finds the defect planted for it, is silent on the correct program, and
// is silent about the defect when it is switched off.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// Bodies run with v0 = work-item, v1 = 4 * v0, s2 = workgroup, s[6:7] = 64 ones, s[8:9] = 128
/// dwords nobody wrote.
struct CheckCase {
  const char *name;
  const char *bad, *good;
  const char *report;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {64, 1, 1};
};

#define MONO_MFMA "  v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[12:15], 0\n"

const CheckCase kCases[] = {
    {"waitcnt", "  global_load_dword v2, v1, s[6:7]\n  v_mov_b32_e32 v3, v2",
     "  global_load_dword v2, v1, s[6:7]\n  s_waitcnt vmcnt(0)\n  v_mov_b32_e32 v3, v2",
     "use of v2 before an s_waitcnt"},
    {"bounds", "  global_load_dword v2, v1, s[6:7] offset:4", "  global_load_dword v2, v1, s[6:7]",
     "out-of-bounds access in lane 63"},
    {"mem-uninit", "  global_load_dword v2, v1, s[8:9]",
     "  global_store_dword v1, v0, s[8:9]\n  s_waitcnt vmcnt(0)\n"
     "  global_load_dword v2, v1, s[8:9]",
     "read of memory nobody wrote"},
    {"lds-uninit", "  ds_read_b32 v2, v1", "  ds_write_b32 v1, v0\n  ds_read_b32 v2, v1",
     "read of LDS nobody wrote"},
    {"register-uninit", "  v_mov_b32_e32 v2, v30",
     "  v_mov_b32_e32 v30, 0\n  v_mov_b32_e32 v2, v30", "read of v30, which nobody wrote"},
    {"alignment", "  s_add_u32 s6, s6, 2\n  s_load_dword s20, s[6:7], 0x0",
     "  s_add_u32 s6, s6, 4\n  s_load_dword s20, s[6:7], 0x0", "expected a multiple of 4"},
    {"deadlock",
     ".Lpoll:\n  s_sleep 1\n  s_load_dword s20, s[6:7], 0x0\n  s_waitcnt lgkmcnt(0)\n"
     "  s_cmp_eq_u32 s20, 2\n  s_cbranch_scc0 .Lpoll",
     ".Lpoll:\n  s_sleep 1\n  s_load_dword s20, s[6:7], 0x0\n  s_waitcnt lgkmcnt(0)\n"
     "  s_cmp_eq_u32 s20, 1\n  s_cbranch_scc0 .Lpoll",
     "deadlock: 1 waves wait"},
    {"lds-race",
     "  v_mov_b32_e32 v2, 0\n  ds_write_b32 v2, v0",
     "  ds_write_b32 v1, v0",
     "LDS race",
     {1, 1, 1},
     {128, 1, 1}},
    {"global-race",
     "  global_store_dword v1, v0, s[8:9]",
     "  s_lshl_b32 s20, s2, 8\n  v_add_u32_e32 v2, s20, v1\n  global_store_dword v2, v0, s[8:9]",
     "race",
     {2, 1, 1}},
    {"exec",
     "  v_lshlrev_b32_e32 v2, 3, v0\n  ds_write_b64 v2, v[0:1]\n  s_waitcnt lgkmcnt(0)\n"
     "  s_mov_b64 exec, 0xff\n  ds_read_b64_tr_b16 v[4:5], v2",
     "  v_lshlrev_b32_e32 v2, 3, v0\n  ds_write_b64 v2, v[0:1]\n  s_waitcnt lgkmcnt(0)\n"
     "  ds_read_b64_tr_b16 v[4:5], v2",
     "expected all lanes active"},
    {"hazard", MONO_MFMA "  v_mov_b32_e32 v2, v4", MONO_MFMA "  s_nop 7\n  v_mov_b32_e32 v2, v4",
     "wait states"},
};

#undef MONO_MFMA

class CheckSwitch : public testing::TestWithParam<CheckCase> {
protected:
  /// The error of `body` under `checks`.
  std::string run(const char *body, const Checks &checks) {
    Options options;
    options.checks = checks;
    options.instructionBudget = 1'000'000; // ends the poll when nobody looks for deadlocks
    const std::string prologue = "  s_load_dwordx4 s[8:11], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
                                 "  s_mov_b64 s[6:7], s[10:11]\n  v_lshlrev_b32_e32 v1, 2, v0\n";
    TestMachine m(AsmKernel{.body = prologue + body, .ldsBytes = 1024}, 1, options);
    DevicePtr out = m.output(128), in = m.buffer(std::vector<uint32_t>(64, 1));
    return m.run({out, in}, GetParam().grid, GetParam().block);
  }
  static Checks checksOf(const std::string &list) {
    Checks checks = Checks::thorough();
    EXPECT_EQ(errorText(checks.apply(list)), "");
    return checks;
  }
};

TEST_P(CheckSwitch, AloneFindsTheDefectAndNothingElse) {
  const Checks only = checksOf(std::string("none,") + GetParam().name);
  const std::string text = run(GetParam().bad, only);
  EXPECT_NE(text.find(GetParam().report), std::string::npos) << text;
  EXPECT_EQ(run(GetParam().good, only), "");
}

TEST_P(CheckSwitch, OffIsSilentAboutTheDefect) {
  const std::string text = run(GetParam().bad, checksOf(std::string("-") + GetParam().name));
  if (std::string(GetParam().name) == "deadlock")
    EXPECT_NE(text.find("instruction budget of 1000000"), std::string::npos) << text;
  else
    EXPECT_EQ(text, "");
}

TEST_P(CheckSwitch, TheCorrectProgramPassesAllOtherChecks) {
  EXPECT_EQ(run(GetParam().good, Checks::thorough()), "");
}

INSTANTIATE_TEST_SUITE_P(All, CheckSwitch, testing::ValuesIn(kCases), [](const auto &info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
});

/// A check without a case here would never have been switched.
TEST(CheckNames, EveryCheckHasACase) {
  ASSERT_EQ(std::size(kCases), checkCount);
  for (unsigned n = 0; n < checkCount; ++n)
    EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), [&](const CheckCase &c) {
      return checkName(Check(n)) == c.name;
    })) << checkName(Check(n)).str();
}

} // namespace

// Damaged code objects by the ten thousand: the loader and the machine answer with a value or an
// error, and never crash or hang.
#include "runtime/emulator/decode/CodeObject.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

constexpr uint32_t seed = 20261130;
constexpr unsigned parsed = 100'000, executed = 1'000;

/// A kernel with a little of everything the loader reads: both register files, LDS, scratch,
/// memory, a branch.
std::vector<uint8_t> wholeFile() {
  return assemble(AsmKernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_accvgpr_write_b32 a0, v0
  ds_write_b32 v1, v0
  scratch_store_dword off, v0, off
  s_waitcnt lgkmcnt(0)
  s_cbranch_scc1 1f
  v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[12:15], 0
  global_store_dword v1, v0, s[8:9]
1:)",
                            .agprs = 8,
                            .ldsBytes = 4096,
                            .scratchBytes = 64});
}

/// Puts values that sizes and offsets trip over at a random 4- or 8-byte field.
void plantValue(std::vector<uint8_t> &file, std::mt19937 &random) {
  constexpr uint64_t values[] = {0,          1,          0x7fffffff, 0x80000000,   0xffffffff,
                                 0xfffffff8, 1ull << 32, 1ull << 63, ~uint64_t(0), ~uint64_t(7),
                                 0x40000000, 0x1000};
  const uint64_t value = values[random() % std::size(values)];
  const size_t bytes = random() % 2 ? 4 : 8;
  if (file.size() < bytes)
    return;
  const size_t at = random() % (file.size() - bytes + 1) / 4 * 4;
  std::memcpy(&file[at], &value, bytes);
}

/// One to four random changes: flipped bits, planted values, copied or removed pieces.
std::vector<uint8_t> damaged(const std::vector<uint8_t> &good, std::mt19937 &random) {
  std::vector<uint8_t> file = good;
  for (unsigned changes = 1 + random() % 4; changes && !file.empty(); --changes)
    switch (random() % 8) {
    case 0:
      file.resize(random() % file.size());
      break;
    case 1: {
      const size_t from = random() % file.size(), to = random() % file.size();
      std::copy_n(file.begin() + long(from),
                  std::min<size_t>({random() % 64, file.size() - from, file.size() - to}),
                  file.begin() + long(to));
      break;
    }
    case 2:
    case 3:
    case 4:
      plantValue(file, random);
      break;
    default:
      file[random() % file.size()] ^= uint8_t(1u << random() % 8);
    }
  return file;
}

/// Loads and runs every kernel the file is found to hold; errors are what is expected.
void runAll(const std::vector<uint8_t> &file) {
  Options options;
  options.threads = 1;
  options.instructionBudget = 1000;
  Machine machine(1, options);
  auto module = machine.load(0, file);
  if (!module) {
    llvm::consumeError(module.takeError());
    return;
  }
  for (const std::string &name : machine.kernelNames(*module)) {
    auto info = machine.kernel(*module, name);
    ASSERT_TRUE(bool(info)) << llvm::toString(info.takeError());
    Launch launch;
    launch.module = *module;
    launch.kernel = name;
    launch.block = {64, 1, 1};
    launch.kernarg.resize(std::min<uint64_t>(info->kernargBytes, 1 << 20));
    llvm::consumeError(machine.run({launch}));
  }
}

TEST(LoaderFuzz, DamagedFilesAreReadOrRejected) {
  const std::vector<uint8_t> good = wholeFile();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  unsigned rejected = 0;
  for (unsigned n = 0; n < parsed; ++n) {
    auto object = parseCodeObject(damaged(good, random));
    if (!object) {
      EXPECT_FALSE(llvm::toString(object.takeError()).empty());
      ++rejected;
      continue;
    }
    for (const auto &[name, kernel] : object->kernels)
      ASSERT_LT(kernel.setup.entryOffset, object->image.size()) << name;
  }
  // Most of the file is sections nobody needs, so a good part must still load.
  EXPECT_GT(rejected, parsed / 10);
  EXPECT_LT(rejected, parsed);
}

TEST(LoaderFuzz, WhatLoadsAlsoRuns) {
  const std::vector<uint8_t> good = wholeFile();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (unsigned n = 0; n < executed; ++n)
    runAll(damaged(good, random));
}

/// Code object versions 4 to 6 differ in the ABI version of the ELF header, and v6 in nothing that
/// this kernel uses.
TEST(CodeObjectVersion, FourToSixLoadAndRun) {
  constexpr size_t abiVersion = 8; // EI_ABIVERSION
  std::vector<uint8_t> file = assemble(AsmKernel{.body = "  v_mov_b32_e32 v1, 1"});
  for (uint8_t version : {2, 3, 4}) {
    file[abiVersion] = version;
    TestMachine machine(file, "k");
    EXPECT_EQ(machine.run({}), "") << "ABI version " << unsigned(version);
  }
}

} // namespace

// Table check: every vector instruction that LLVM can decode for gfx950 has a handler, and every
// registered vector handler answers to a name that LLVM knows.
#include "runtime/emulator/decode/Decoder.h"
#include "runtime/emulator/exec/Handlers.h"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace mono::emu;

namespace {

std::set<std::string> vectorNames() {
  const std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  std::set<std::string> names;
  for (const std::string &name : decoder->allBaseNames())
    if (name.starts_with("V_"))
      names.insert(name);
  return names;
}

TEST(ValuCoverage, EveryRegisteredNameIsAnOpcode) {
  const std::set<std::string> names = vectorNames();
  for (const auto &entry : defaultHandlers().entries())
    if (entry.first().starts_with("V_"))
      EXPECT_TRUE(names.count(entry.first().str())) << entry.first().str();
}

/// Encodings of opcode `op` in each vector format, with operands that suit most of them (CDNA4 ISA,
/// "Microcode Formats"). Registers are even, so that pairs are aligned.
std::vector<std::array<uint32_t, 4>> encodingsOf(uint32_t op) {
  constexpr uint32_t v2 = 0x102, v4 = 0x104 << 9, v6 = 0x106 << 18;
  std::vector<std::array<uint32_t, 4>> result;
  if (op < 256)
    result.push_back({0x7e000000 | 4 << 17 | op << 9 | v2}); // VOP1
  if (op < 64)
    result.push_back({op << 25 | 4 << 17 | 6 << 9 | v2, 0x3f800001}); // VOP2
  if (op < 256)
    result.push_back({0x7c000000 | op << 17 | 6 << 9 | v2}); // VOPC
  // VOP3 with one to three sources, and with VCC as the mask source; VOP3P with and without AGPRs.
  for (uint32_t sources : {v2 | v4 | v6, v2 | v4, v2, v2 | v4 | 106 << 18}) {
    result.push_back({0xd0000000 | op << 16 | 4, sources});
    if (op < 128)
      for (uint32_t flags : {0x4000u, 0xc000u})
        result.push_back({0xd3800000 | op << 16 | flags | 4, sources});
  }
  return result;
}

TEST(ValuCoverage, EveryDecodableOpcodeHasAHandler) {
  const std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  // Partitions a screen between shader engines; no use in compute code.
  const std::set<std::string> kUnimplemented = {"V_SCREEN_PARTITION_4SE_B32"};
  std::set<std::string> seen;
  for (uint32_t op = 0; op < 1024; ++op)
    for (const std::array<uint32_t, 4> &words : encodingsOf(op)) {
      Instruction inst;
      std::string name;
      const auto *bytes = reinterpret_cast<const uint8_t *>(words.data());
      if (!decoder->decode({bytes, sizeof words}, inst, name) || !name.starts_with("V_") ||
          !seen.insert(name).second || kUnimplemented.count(name))
        continue;
      EXPECT_NE(defaultHandlers().find(name), nullptr) << name;
    }
  EXPECT_GT(seen.size(), 600u) << "the encodings above should reach nearly all opcodes";
}

TEST(ValuCoverage, NoNameIsRegisteredTwice) { EXPECT_EQ(defaultHandlers().duplicates(), 0u); }

} // namespace

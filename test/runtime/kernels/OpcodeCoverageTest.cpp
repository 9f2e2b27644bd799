// Which instructions LLVM's disassembler knows for gfx950 and the emulator does not execute: none
// but those named here with a reason, and global wave sync (DS_GWS_*), whose handlers only say why
// they refuse it.
#include "runtime/emulator/decode/Decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

using namespace mono::emu;

namespace {

/// A microcode format of the CDNA4 ISA: the bits that name it, and where its opcode stands.
struct Encoding {
  const char *name;
  uint32_t fixedBits, fixedMask;
  unsigned opcodeShift, opcodeBits;
};

const Encoding encodings[] = {
    {"SOP2", 0x80000000, 0xc0000000, 23, 7},   {"SOPK", 0xb0000000, 0xf0000000, 23, 5},
    {"SOP1", 0xbe800000, 0xff800000, 8, 8},    {"SOPC", 0xbf000000, 0xff800000, 16, 7},
    {"SOPP", 0xbf800000, 0xff800000, 16, 7},   {"SMEM", 0xc0000000, 0xfc000000, 18, 8},
    {"VOP1", 0x7e000000, 0xfe000000, 9, 8},    {"VOP2", 0x00000000, 0x80000000, 25, 6},
    {"VOPC", 0x7c000000, 0xfe000000, 17, 8},   {"VOP3", 0xd0000000, 0xfc000000, 16, 10},
    {"VOP3P", 0xd3800000, 0xff800000, 16, 7},  {"DS", 0xd8000000, 0xfc000000, 17, 8},
    {"FLAT", 0xdc000000, 0xfc00c000, 18, 7},   {"SCRATCH", 0xdc004000, 0xfc00c000, 18, 7},
    {"GLOBAL", 0xdc008000, 0xfc00c000, 18, 7}, {"MUBUF", 0xe0000000, 0xfc000000, 18, 7},
    {"MTBUF", 0xe8000000, 0xfc000000, 15, 4},
};

/// Random bits with whole bytes left 0, as the fields that a form does not use must be.
uint32_t sparseBits(std::mt19937 &random) {
  uint32_t bits = uint32_t(random()), keep = uint32_t(random());
  for (unsigned byte = 0; byte < 4; ++byte)
    if (keep >> byte & 1)
      bits &= ~(0xffu << 8 * byte);
  return bits;
}

/// Names found behind every opcode of every format, by filling the other bits at random: a form
/// that decodes at all decodes for a good part of the fillings.
std::map<std::string, std::string> decodableNames(Decoder &decoder) {
  constexpr unsigned fillings = 500;
  std::mt19937 random(7);
  std::map<std::string, std::string> names;
  auto look = [&](const uint32_t (&words)[4], const char *format) {
    Instruction inst;
    std::string name;
    auto *bytes = reinterpret_cast<const uint8_t *>(words);
    if (decoder.decode({bytes, sizeof words}, inst, name))
      names.emplace(name, format);
  };
  for (const Encoding &e : encodings) {
    uint32_t opcodeMask = ((1u << e.opcodeBits) - 1) << e.opcodeShift;
    for (uint32_t op = 0; op < 1u << e.opcodeBits; ++op)
      for (unsigned filling = 0; filling < fillings; ++filling) {
        uint32_t fill = filling ? sparseBits(random) & ~(e.fixedMask | opcodeMask) : 0;
        uint32_t second = filling ? sparseBits(random) : 0;
        look({e.fixedBits | op << e.opcodeShift | fill, second, 0, 0}, e.name);
      }
  }
  // The 16-byte form VOP3PX2: scales, then the f8f6f4 instruction proper.
  for (uint32_t op : {0xd3ad0000u, 0xd3ae0000u})
    look({0xd3ac0000, 0x00000000 | 0x102 | 0x103 << 9, op | 0x0800,
          0x104 | 0x10c << 9 | 0x114 << 18},
         "VOP3PX2");
  return names;
}

/// Why an opcode is left out, or null. Each reason covers a family by the start of its names.
const char *excuseOf(llvm::StringRef name) {
  static const std::pair<const char *, const char *> excuses[] = {
      {"BUFFER_LOAD_FORMAT_X_LDS", "texels straight to LDS; no compiler emits it"},
      {"V_MFMA_LD_SCALE_B32", "first half of a scaled MFMA; assemblers emit it with the second"},
      {"V_SCREEN_PARTITION_4SE_B32", "screen tiles of shader engines; graphics only"},
      {"S_CBRANCH_G_FORK", "fork and join of hand-made control flow; no compiler emits it"},
      {"S_CBRANCH_I_FORK", "fork and join of hand-made control flow; no compiler emits it"},
      {"S_CBRANCH_JOIN", "fork and join of hand-made control flow; no compiler emits it"},
      {"S_RFE_", "return from a trap handler, which no code object contains"},
  };
  for (const auto &[prefix, reason] : excuses)
    if (name.starts_with(prefix))
      return reason;
  return nullptr;
}

TEST(OpcodeCoverage, EveryDecodableOpcodeIsExecutedOrExcused) {
  std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  std::map<std::string, std::string> names = decodableNames(*decoder);
  unsigned missing = 0, excused = 0;
  for (const auto &[name, format] : names) {
    bool implemented = defaultHandlers().find(name) != nullptr;
    if (const char *reason = excuseOf(name)) {
      ++excused;
      EXPECT_FALSE(implemented) << name << " is implemented, but excused: " << reason;
    } else if (!implemented) {
      ++missing;
      ADD_FAILURE() << format << ": " << name << " has no handler";
    }
  }
  RecordProperty("decodable", int(names.size()));
  RecordProperty("excused", int(excused));
  RecordProperty("missing", int(missing));
  EXPECT_GT(excused, 0u) << "a family that decodes to nothing needs no excuse";
  EXPECT_GT(names.size(), 1000u) << "the formats above should reach the whole instruction set";
}

// The other direction: a handler under a name that no gfx950 code decodes to can never run.
TEST(OpcodeCoverage, EveryHandlerIsReachable) {
  std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  std::map<std::string, std::string> names = decodableNames(*decoder);
  for (const auto &entry : defaultHandlers().entries())
    EXPECT_TRUE(names.count(entry.first().str())) << entry.first().str();
}

} // namespace

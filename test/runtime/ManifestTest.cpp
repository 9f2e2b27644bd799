// Manifest text: every field's faults, and the code object around it.
#include "runtime/Manifest.h"
#include "runtime/CodeObject.h"
#include "test/runtime/Assembler.h"
#include "test/runtime/ExchangeKernel.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mono;
using namespace mono::test;

namespace {

/// The exchange manifest with the first `from` replaced by `to`.
std::string edited(const std::string &from, const std::string &to) {
  std::string text = exchangeManifest();
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string errorOf(llvm::Expected<Manifest> manifest) {
  if (manifest)
    return "";
  return llvm::toString(manifest.takeError());
}

TEST(Manifest, ReadsEveryField) {
  llvm::Expected<Manifest> manifest = parseManifest(exchangeManifest());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->tool, "by hand");
  EXPECT_EQ(manifest->sourceFile, "exchange.s");
  EXPECT_EQ(manifest->schedule, "exchange");
  EXPECT_EQ(manifest->target, "gfx950");
  ASSERT_NE(manifest->param("TP"), nullptr);
  EXPECT_EQ(*manifest->param("TP"), 2);
  EXPECT_EQ(manifest->param("CTX"), nullptr);
  EXPECT_EQ(manifest->ctas, 4u);
  EXPECT_EQ(manifest->threads, 64u);
  EXPECT_EQ(manifest->ranks, 2u);
  ASSERT_EQ(manifest->operands.size(), 2u);
  EXPECT_EQ(manifest->operands[1].access, OperandAccess::Write);
  EXPECT_EQ(manifest->operands[1].type.describe(), "i32 [4, 64], row_major");
  EXPECT_EQ(manifest->kernargBytes(), 44u);
  ASSERT_EQ(manifest->mailboxes.size(), 1u);
  EXPECT_EQ(manifest->mailboxes[0].scope, MailboxScope::Peers);
  EXPECT_EQ(manifest->stages[0].tasks, 4u);
}

/// One edit of the good manifest and a part of the message it must give.
struct BadManifest {
  const char *from, *to, *message;
};

class ManifestFault : public testing::TestWithParam<BadManifest> {};

TEST_P(ManifestFault, IsNamed) {
  std::string error = errorOf(parseManifest(edited(GetParam().from, GetParam().to)));
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << "got: " << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, ManifestFault,
    testing::Values(
        BadManifest{"\"monoc_manifest\": 1", "\"monoc_manifest\": 2",
                    "expected manifest version 1, but got 2"},
        BadManifest{"\"monoc_manifest\": 1,", "",
                    "monoc_manifest: expected an integer, but the key is missing"},
        BadManifest{"\"tool\": \"by hand\"", "\"tool\": 7",
                    "tool: expected a string, but got a number"},
        BadManifest{"\"hash\": \"0\"", "\"hash\": \"\"", "source: 'hash' is an empty string"},
        BadManifest{"\"S\": 4", "\"S\": \"4\"", "parameter 'S' is not an integer"},
        BadManifest{"\"threads\": 64", "\"threads\": 100",
                    "expected a multiple of the 64 lanes of a wavefront, but got 100"},
        BadManifest{"\"threads\": 64", "\"threads\": 2048",
                    "grid.threads: expected an integer in [64, 1024], but got 2048"},
        BadManifest{"\"ranks\": 2", "\"ranks\": 9", "ranks: expected an integer in [1, 8]"},
        BadManifest{"\"lds_bytes\": 0", "\"lds_bytes\": 163841",
                    "lds_bytes: expected an integer in [0, 163840], but got 163841"},
        BadManifest{
            "\"access\": \"read\"", "\"access\": \"readwrite\"",
            "operands[0]: access: expected one of read, write, update, but got 'readwrite'"},
        BadManifest{"\"role\": \"activation\"", "\"role\": \"bias\"",
                    "role: expected one of weight, activation"},
        BadManifest{"\"element\": \"i32\"", "\"element\": \"f64\"",
                    "element: expected one of bf16, f32, i32, f4E2M1FN, f8E8M0FNU, f8E4M3FN, but "
                    "got 'f64'"},
        BadManifest{"\"layout\": \"row_major\"", "\"layout\": \"mfma_rows<32>\"",
                    "expected layout row_major or mfma_rows<16>, but got 'mfma_rows<32>'"},
        BadManifest{"\"layout\": \"row_major\"", "\"layout\": \"mfma_rows<16>\"",
                    "layout mfma_rows<16>: expected element type bf16, f4E2M1FN, f8E4M3FN or "
                    "f8E8M0FNU, but "
                    "got i32"},
        BadManifest{"[4, 64]", "[4, 0]", "shape: expected integers in [1, "},
        BadManifest{"[4, 64]", "[4, 1.5]", "shape: expected a list of integers"},
        BadManifest{"[4, 64]", "[1099511627776, 1099511627776]", "at most 2^40 elements"},
        BadManifest{"[4, 64]", "[1,1,1,1,1,1,1,1,256]", "at most 8 numbers, but got 9"},
        BadManifest{"\"bytes\": 1024", "\"bytes\": 1000",
                    "operand 'in': expected 1024 bytes (i32 [4, 64], row_major), but got 1000"},
        BadManifest{"\"name\": \"out\"", "\"name\": \"in\"", "operand 'in' appears twice"},
        BadManifest{"\"kind\": \"tagged\"", "\"kind\": \"mutex\"",
                    "mailboxes[0]: kind: expected one of tagged, counted"},
        BadManifest{"\"scope\": \"peers\"", "\"scope\": \"world\"",
                    "scope: expected one of device, peers"},
        BadManifest{"\"slots\": 2", "\"slots\": 1",
                    "mailbox 'parts': expected 4096 bytes (1 slots of tagged i32 [2, 256]"},
        BadManifest{"\"kind\": \"tagged\", \"scope\": \"peers\", \"slots\": 2",
                    "\"kind\": \"counted\", \"scope\": \"peers\", \"slots\": 5",
                    "mailbox 'parts': expected at least 10240 bytes"},
        BadManifest{"\"offset\": 0", "\"offset\": 4", "multiple of 8 bytes, but got 4"},
        BadManifest{
            "\"peers\": 8192", "\"peers\": 8000",
            "mailbox 'parts' ends at byte 4096, but the slot of the peer mailbox memory has "
            "4000 bytes"},
        BadManifest{"\"epoch_bytes\"", "\"hears_all\": 1, \"epoch_bytes\"",
                    "hears_all: expected a boolean, but got a number"},
        BadManifest{"\"epoch_bytes\": 16", "\"epoch_bytes\": 4",
                    "epoch_bytes: expected 16 (one i32 for each of 4 workgroups), but got 4"},
        BadManifest{"\"base\": 0", "\"base\": 4", "stages[0].base: expected an integer in [0, 3]"},
        BadManifest{"\"base\": 0", "\"base\": 0, \"posts\": \"parts\"",
                    "stages[0].posts: expected a list of strings, but got a string"},
        BadManifest{"\"base\": 0", "\"base\": 0, \"posts\": [\"\"]",
                    "stages[0]: 'posts' has an empty string"},
        BadManifest{"\"base\": 0", "\"base\": 0, \"posts\": [\"part\"]",
                    "kernel 'exchange' has no mailbox 'part'; it has parts"},
        BadManifest{"\"operands\": [", "\"operands\": [3, ",
                    "operands: expected a list of objects"},
        BadManifest{"{\"ctas\": 4, \"threads\": 64}", "7",
                    "grid: expected an object, but got a number"}));

TEST(Manifest, RejectsOverlappingMailboxes) {
  std::string second = R"("mailboxes": [
    {"name": "early", "kind": "tagged", "scope": "peers", "slots": 2, "shape": [4],
     "element": "bf16", "offset": 4088, "bytes": 32},)";
  std::string text = edited("\"mailboxes\": [", second);
  size_t at = text.find("\"peers\": 8192");
  text.replace(at, 13, "\"peers\": 9000");
  EXPECT_NE(errorOf(parseManifest(text))
                .find("mailboxes 'parts' (bytes 0 to 4096) and 'early' (from byte 4088) overlap"),
            std::string::npos);
}

/// A manifest with 1000 bytes of LDS and one region of two padded rows.
std::string withRegion(const std::string &more) {
  std::string text = edited("\"lds_bytes\": 0", "\"lds_bytes\": 1000, \"regions\": [{\"name\": "
                                                "\"row\", \"shape\": [2, 100], \"element\": "
                                                "\"bf16\", \"last_stage\": 0, " +
                                                    more + "}]");
  return text;
}

TEST(Manifest, KnowsRegionsAndWhoPosts) {
  std::string text = withRegion(R"("row_bytes": 208, "offset": 16, "first_stage": 0)");
  text.replace(text.find("\"base\": 0"), 9, R"("base": 0, "posts": ["parts"])");
  llvm::Expected<Manifest> manifest = parseManifest(text);
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  ASSERT_EQ(manifest->regions.size(), 1u);
  EXPECT_EQ(manifest->regions[0].rows(), 2u);
  EXPECT_EQ(manifest->regions[0].payloadRowBytes(), 200u);
  EXPECT_TRUE(manifest->regions[0].writers.empty()); // not known
  EXPECT_EQ(manifest->firstPoster("parts"), 0u);
  EXPECT_EQ(parseManifest(exchangeManifest())->firstPoster("parts"), std::nullopt);
}

TEST(Manifest, KnowsWhoWritesARegion) {
  llvm::Expected<Manifest> manifest = parseManifest(
      withRegion(R"("row_bytes": 208, "offset": 16, "first_stage": 0, "written_by": [0])"));
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->regions[0].writers, (llvm::SmallVector<int64_t>{0}));
}

TEST(Manifest, RejectsRegionsThatCannotBe) {
  auto expect = [](const std::string &fields, const char *message) {
    std::string error = errorOf(parseManifest(withRegion(fields)));
    EXPECT_NE(error.find(message), std::string::npos) << "got: " << error;
  };
  expect(
      R"("row_bytes": 199, "offset": 0, "first_stage": 0)",
      "region 'row': expected rows of at least 200 bytes (bf16 [2, 100], row_major), but got 199");
  // Rows from 600 to 800 and from 808 to 1008.
  expect(R"("row_bytes": 208, "offset": 600, "first_stage": 0)",
         "region 'row' ends at byte 1008, but a workgroup has 1000 bytes of LDS");
  expect(R"("row_bytes": 208, "offset": 0, "first_stage": 0, "written_by": [1])",
         "written_by: expected integers in [0, 0], but got 1");
  expect(R"("row_bytes": 208, "offset": 0, "first_stage": 1)",
         "first_stage: expected an integer in [0, 0], but got 1");
}

TEST(Manifest, RegionsHaveDimensions) {
  std::string text = withRegion(R"("row_bytes": 208, "offset": 16, "first_stage": 0)");
  text.replace(text.find("[2, 100]"), 8, "[]");
  EXPECT_EQ(
      errorOf(parseManifest(text)),
      "manifest: regions[0]: region 'row': expected a shape of at least 1 dimension, but got none");
}

/// As the kernels count (docs/manifest.md): after the largest multiple of all slots that 32 bits
/// hold comes 1.
TEST(Manifest, TagsBeginAgain) {
  Manifest manifest;
  manifest.mailboxes.resize(3);
  Mailbox &peers = manifest.mailboxes[0], &others = manifest.mailboxes[1],
          &device = manifest.mailboxes[2];
  peers.scope = others.scope = MailboxScope::Peers;
  device.scope = MailboxScope::Device;
  device.slots = 7; // does not count
  auto expectLast = [&](unsigned slots, unsigned otherSlots, uint32_t last) {
    peers.slots = slots;
    others.slots = otherSlots;
    EXPECT_EQ(manifest.nextTag(0), 1u);
    EXPECT_EQ(manifest.nextTag(41), 42u);
    EXPECT_EQ(manifest.nextTag(last - 1), last);
    EXPECT_EQ(manifest.nextTag(last), 1u);
  };
  // Below 2^32 - 1, which marks a workgroup that has left.
  expectLast(1, 1, 4294967294);
  expectLast(2, 2, 4294967294);
  expectLast(3, 1, 4294967292);
  expectLast(2, 3, 4294967292);
}

TEST(Manifest, RejectsWhatIsNotAnObject) {
  EXPECT_NE(errorOf(parseManifest("[1]")).find("expected a JSON object, but got a list"),
            std::string::npos);
  EXPECT_EQ(errorOf(parseManifest("{\"a\":")).find("manifest: not valid JSON: "), 0u);
  std::string deep = "{\"a\":" + std::string(1'000'000, '[');
  EXPECT_NE(errorOf(parseManifest(deep)).find("nested at most 32 deep, but got 1000001"),
            std::string::npos);
}

TEST(Manifest, EveryPrefixIsAnError) {
  std::string text = exchangeManifest();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(errorOf(parseManifest(text.substr(0, length))), "") << length;
}

TEST(CodeObject, GivesItsManifest) {
  llvm::Expected<Manifest> manifest = readManifest(exchangeCodeObject());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->kernel, "exchange");
  EXPECT_EQ(manifest->dynamicLdsBytes, 0u);
}

TEST(CodeObject, LdsBeyondTheDescriptorIsDynamic) {
  std::string text = edited("\"lds_bytes\": 0", "\"lds_bytes\": 4096");
  llvm::Expected<Manifest> manifest = readManifest(exchangeCodeObject(text, 44, 1024));
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->dynamicLdsBytes, 3072u);
}

TEST(CodeObject, FaultsAreNamed) {
  auto expect = [](llvm::ArrayRef<uint8_t> bytes, const char *message) {
    std::string error = errorOf(readManifest(bytes));
    EXPECT_NE(error.find(message), std::string::npos) << "got: " << error;
  };
  expect({}, "not a code object: expected an ELF file, but got 0 other bytes");
  expect(exchangeCodeObject("", 44), "the code object has no manifest");
  expect(exchangeCodeObject(exchangeManifest(), 52),
         "expected 44 bytes of kernel arguments (2 operands), but the code object says 52");
  expect(exchangeCodeObject(exchangeManifest(), 44, 256),
         "expected at most 0 bytes of LDS, but the code object says 256");
  expect(exchangeCodeObject(edited("\"kernel\": \"exchange\"", "\"kernel\": \"other\"")),
         "there is no kernel 'other'");
  expect(exchangeCodeObject(edited("\"target\": \"gfx950\"", "\"target\": \"gfx942\"")),
         "the manifest is for chip gfx942, but the code object is for gfx950");
}

/// Fields of the ELF header (ELF64): e_machine at 18, e_shoff at 40, e_phoff at 32; of a program
/// header p_filesz at 32; of a symbol st_value at 8.
TEST(CodeObject, BrokenOnesAreNamed) {
  const std::vector<uint8_t> good = exchangeCodeObject();
  auto patched = [&](size_t at, uint64_t value, size_t bytes) {
    std::vector<uint8_t> file = good;
    std::memcpy(&file[at], &value, bytes);
    return file;
  };
  EXPECT_EQ(errorOf(readManifest(patched(4, 1, 1))),
            "not a code object: expected a little-endian 64-bit ELF file");
  EXPECT_EQ(errorOf(readManifest(patched(18, 62, 2))),
            "not a code object: expected ELF machine 224 (AMDGPU), but got 62");
  EXPECT_EQ(errorOf(readManifest(patched(40, uint64_t(1) << 60, 8))).find("broken code object: "),
            0u);
  uint64_t segments;
  std::memcpy(&segments, &good[32], sizeof(segments));
  EXPECT_EQ(llvm::toString(checkSegments(patched(segments + 32, 1 << 30, 8))),
            fmt::format("broken code object: a segment of 1073741824 bytes at {} does not fit its "
                        "{} bytes",
                        *reinterpret_cast<const uint64_t *>(&good[segments + 8]), good.size()));
}

/// The descriptor's symbol points behind its section.
TEST(CodeObject, SymbolsLieInTheirSections) {
  std::vector<uint8_t> file = exchangeCodeObject();
  auto elf = openCodeObject(file);
  ASSERT_TRUE(bool(elf)) << llvm::toString(elf.takeError());
  for (const auto &section : llvm::cantFail(elf->sections()))
    if (section.sh_type == llvm::ELF::SHT_DYNSYM)
      for (uint64_t at = section.sh_offset + 24; at < section.sh_offset + section.sh_size; at += 24)
        file[at + 11] = 1; // st_value plus 2^24
  EXPECT_EQ(errorOf(readManifest(file)),
            "broken code object: a symbol of 64 bytes is not inside its section");
}

TEST(CodeObject, NamesBothChips) {
  KernelText kernel;
  kernel.kernargBytes = 44;
  kernel.manifest = exchangeManifest();
  std::string error = errorOf(readManifest(assemble(kernelAssembly(kernel, "gfx942"), "gfx942")));
  EXPECT_EQ(error, "the manifest is for chip gfx950, but the code object is for gfx942");
}

TEST(CodeObject, TruncationIsAnError) {
  std::vector<uint8_t> bytes = exchangeCodeObject();
  for (size_t length = 0; length < bytes.size(); length += 8)
    EXPECT_NE(errorOf(readManifest(llvm::ArrayRef(bytes).take_front(length))), "") << length;
}

TEST(CodeObject, FlippedBytesNeverCrash) {
  std::vector<uint8_t> good = exchangeCodeObject();
  size_t errors = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t value : {0x00, 0xFF, 0x80}) {
      std::vector<uint8_t> bad = good;
      bad[at] = value;
      errors += !errorOf(readManifest(bad)).empty();
    }
  EXPECT_GT(errors, 0u);
}

} // namespace

// The loader: what it reads from a good code object, and that no bad one gets through or crashes
// it.
#include "runtime/emulator/decode/CodeObject.h"
#include "runtime/emulator/decode/MessagePack.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <random>

using namespace mono::emu;
using namespace mono::emu::test;

static const std::vector<uint8_t> &goodFile() {
  static const std::vector<uint8_t> file = assemble(AsmKernel{.body = "  v_mov_b32_e32 v0, 1",
                                                              .vgprs = 40,
                                                              .agprs = 24,
                                                              .ldsBytes = 4096,
                                                              .kernargBytes = 48});
  return file;
}

static std::string parseError(const std::vector<uint8_t> &file) {
  auto object = parseCodeObject(file);
  if (object)
    return "";
  return errorText(object.takeError());
}

TEST(CodeObject, ReadsDescriptorAndMetadata) {
  CodeObject object = llvm::cantFail(parseCodeObject(goodFile()));
  ASSERT_EQ(object.kernels.size(), 1u);
  const KernelDescription &k = object.kernels.at("k");
  EXPECT_EQ(k.info.vgprs, 64u) << "40 VGPRs and 24 AGPRs";
  EXPECT_EQ(k.info.accumOffset, 40u);
  EXPECT_EQ(k.info.archVgprs, 40u);
  EXPECT_EQ(k.info.agprs, 24u);
  EXPECT_EQ(k.info.ldsBytes, 4096u);
  EXPECT_EQ(k.info.kernargBytes, 48u);
  EXPECT_TRUE(k.setup.kernargPtr);
  EXPECT_EQ(k.setup.userSgprs, 2u);
}

/// Byte of a header field set to a value, and a piece of the message that names the fault.
TEST(CodeObject, WrongHeaderFieldsAreNamed) {
  auto patched = [](size_t at, uint8_t value) {
    std::vector<uint8_t> file = goodFile();
    file[at] = value;
    return parseError(file);
  };
  EXPECT_NE(patched(0, 0).find("no ELF magic"), std::string::npos);
  EXPECT_NE(patched(4, 1).find("expected 64-bit little-endian ELF"), std::string::npos);
  EXPECT_NE(patched(7, 0).find("expected OS ABI HSA (64), but got 0"), std::string::npos);
  EXPECT_NE(patched(8, 1).find("expected ABI version 2 to 4"), std::string::npos);
  EXPECT_NE(patched(16, 1).find("expected a linked shared object"), std::string::npos);
  EXPECT_NE(patched(18, 62).find("expected machine AMDGPU (224)"), std::string::npos);
  EXPECT_NE(patched(48, 0x4c).find("expected gfx950, but got gfx942"), std::string::npos);
}

/// Segments may reach up to 2 GiB, but the file fills only the first 256 MiB, descriptors among
/// them.
TEST(CodeObject, SizesOfSegmentsAreBounded) {
  // ELF64: program headers of 56 bytes; type at 0, p_vaddr at 16, p_filesz at 32, p_memsz at 40.
  auto patched = [](size_t field, uint64_t value, bool all) {
    std::vector<uint8_t> file = goodFile();
    uint64_t table;
    uint16_t count;
    std::memcpy(&table, &file[32], sizeof(table));
    std::memcpy(&count, &file[56], sizeof(count));
    for (size_t n = 0; n < count; ++n) {
      uint8_t *header = &file[table + 56 * n];
      if (header[0] != 1) // PT_LOAD
        continue;
      std::memcpy(header + field, &value, sizeof(value));
      if (!all)
        break;
    }
    return parseError(file);
  };
  EXPECT_EQ(patched(40, uint64_t(1) << 30, false), "");
  EXPECT_NE(patched(40, uint64_t(3) << 30, false).find("beyond the limit of 2147483648 bytes"),
            std::string::npos);
  EXPECT_NE(patched(16, uint64_t(1) << 29, false).find("fills segment at 0x20000000 up to"),
            std::string::npos);
  EXPECT_NE(patched(32, 0, true).find("the file does not fill its descriptor"), std::string::npos);
}

/// LLVM cannot compare map keys that are arrays or maps; a file can hold them all the same.
TEST(CodeObject, MetadataKeysAreScalars) {
  auto isRead = [](llvm::StringRef blob) {
    llvm::msgpack::Document document;
    return readMessagePack(blob, document);
  };
  EXPECT_TRUE(isRead({"\x82\xa1k\x01\x02\x90", 6})) << "{'k': 1, 2: []}";
  EXPECT_TRUE(isRead({"\x92\x80\x91\x81\xa1k\x01", 7})) << "[{}, [{'k': 1}]]";
  EXPECT_FALSE(isRead({"\x82\x90\x01\x90\x02", 5})) << "{[]: 1, []: 2}";
  EXPECT_FALSE(isRead({"\x81\xa1k\x82\x80\x01\x80\x02", 8})) << "{'k': {{}: 1, {}: 2}}";
  EXPECT_FALSE(isRead({"\x82\xa1k\x01", 4})) << "ends early";
  EXPECT_FALSE(isRead(""));
}

TEST(CodeObject, OtherChipIsNamed) {
  std::vector<uint8_t> file = assemble(AsmKernel{.body = "", .chip = "gfx90a"});
  EXPECT_NE(parseError(file).find("expected gfx950, but got gfx90a"), std::string::npos);
}

TEST(CodeObject, EveryTruncationIsAnError) {
  const std::vector<uint8_t> &file = goodFile();
  for (size_t size = 0; size < file.size(); size += 64)
    EXPECT_NE(parseError({file.begin(), file.begin() + size}), "") << size << " bytes";
}

/// Flipped bytes may leave the file valid; they may not crash, and what is accepted must be sane.
TEST(CodeObject, FlippedBytesNeverCrash) {
  const std::vector<uint8_t> &file = goodFile();
  std::mt19937 random(20260801);
  unsigned rejected = 0;
  for (size_t at = 0; at < file.size(); ++at)
    for (uint8_t flip :
         {uint8_t(0x01), uint8_t(0x80), uint8_t(0xFF), uint8_t(1u << random() % 8)}) {
      std::vector<uint8_t> bad = file;
      bad[at] ^= flip;
      auto object = parseCodeObject(bad);
      if (!object) {
        llvm::consumeError(object.takeError());
        ++rejected;
        continue;
      }
      for (const auto &[name, kernel] : object->kernels) {
        EXPECT_LT(kernel.setup.entryOffset, object->image.size());
        EXPECT_LE(kernel.setup.ldsBytes, 163840u);
      }
    }
  EXPECT_GT(rejected, 500u);
}

/// A corrupt file that still loads must still not crash when it runs.
TEST(CodeObject, FlippedBytesNeverCrashTheMachine) {
  const std::vector<uint8_t> &file = goodFile();
  std::mt19937 random(7);
  Options options;
  options.threads = 1;
  options.instructionBudget = 10000;
  for (unsigned n = 0; n < 300; ++n) {
    std::vector<uint8_t> bad = file;
    for (unsigned flips = 0; flips < 3; ++flips)
      bad[random() % bad.size()] ^= uint8_t(1u << random() % 8);
    Machine machine(1, options);
    auto module = machine.load(0, bad);
    if (!module) {
      llvm::consumeError(module.takeError());
      continue;
    }
    for (const std::string &name : machine.kernelNames(*module)) {
      Launch launch;
      launch.module = *module;
      launch.kernel = name;
      launch.block = {64, 1, 1};
      launch.kernarg.resize(
          std::min<uint64_t>(llvm::cantFail(machine.kernel(*module, name)).kernargBytes, 1 << 20));
      llvm::consumeError(machine.run({launch}));
    }
  }
}

/// Random code bytes behind a good header: every instruction either runs or is reported.
TEST(CodeObject, RandomCodeNeverCrashesTheMachine) {
  std::mt19937 random(99);
  Options options;
  options.threads = 1;
  options.instructionBudget = 2000;
  for (unsigned n = 0; n < 40; ++n) {
    std::string body;
    for (unsigned w = 0; w < 64; ++w)
      body += "  .long " + std::to_string(uint32_t(random())) + "\n";
    TestMachine m(AsmKernel{.body = body, .vgprs = 256, .agprs = 256, .ldsBytes = 65536}, 1,
                  options);
    m.run({}, {1, 1, 1}, {64, 1, 1});
  }
}

// What the emulator refuses or ends a run for, with the whole message: files, metadata, launches,
// memory and instructions.
#include "runtime/emulator/decode/CodeObject.h"
#include "runtime/emulator/decode/KernelDescriptor.h"
#include "test/runtime/emulator/AsmKernel.h"

#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;
using llvm::object::ELF64LE;

namespace {

// ---- files -------------------------------------------------------------------------------------

using File = std::vector<uint8_t>;

std::string parseError(const File &file) {
  auto object = parseCodeObject(file);
  return object ? "" : errorText(object.takeError());
}

void expectIn(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

File goodFile() { return assemble(AsmKernel{.body = "  v_mov_b32_e32 v0, 1"}); }

/// The parts of a file as structures that can be written to.
struct Elf {
  File file;
  explicit Elf(File bytes) : file(std::move(bytes)) {}

  template <typename T> T &at(uint64_t offset) { return *reinterpret_cast<T *>(&file[offset]); }
  ELF64LE::Ehdr &header() { return at<ELF64LE::Ehdr>(0); }
  llvm::MutableArrayRef<ELF64LE::Phdr> segments() {
    return {&at<ELF64LE::Phdr>(header().e_phoff), header().e_phnum};
  }
  ELF64LE::Phdr &segment(unsigned type) {
    return *llvm::find_if(segments(), [&](const auto &s) { return s.p_type == type; });
  }
  ELF64LE::Shdr &section(unsigned type) {
    llvm::MutableArrayRef<ELF64LE::Shdr> all(&at<ELF64LE::Shdr>(header().e_shoff),
                                             header().e_shnum);
    return *llvm::find_if(all, [&](const auto &s) { return s.sh_type == type; });
  }
};

TEST(Refusal, OfFilesThatAreShortOrEmpty) {
  EXPECT_EQ(parseError(File(10)),
            "code object of 10 bytes: shorter than an ELF header of 64 bytes");
  EXPECT_EQ(parseError({}), "code object of 0 bytes: shorter than an ELF header of 64 bytes");
}

TEST(Refusal, OfSegmentsThatCannotBe) {
  Elf none(goodFile());
  for (ELF64LE::Phdr &segment : none.segments())
    segment.p_type = llvm::ELF::PT_NULL;
  EXPECT_EQ(parseError(none.file), "code object: no loadable segment");

  Elf small(goodFile());
  uint64_t bytes = small.segment(llvm::ELF::PT_LOAD).p_filesz;
  small.segment(llvm::ELF::PT_LOAD).p_memsz = bytes - 1;
  expectIn(parseError(small.file), "code object: segment at 0x0 has " + std::to_string(bytes) +
                                       " file bytes for " + std::to_string(bytes - 1) +
                                       " memory bytes");

  Elf long_(goodFile());
  long_.segment(llvm::ELF::PT_LOAD).p_offset = long_.file.size();
  expectIn(parseError(long_.file), " bytes runs past the end of the file of ");

  Elf note(goodFile());
  note.segment(llvm::ELF::PT_NOTE).p_align = 16;
  EXPECT_EQ(parseError(note.file), "code object: note segment with alignment 16");
}

TEST(Refusal, OfSymbolsOutsideTheFile) {
  Elf elf(goodFile());
  const ELF64LE::Shdr &table = elf.section(llvm::ELF::SHT_DYNSYM);
  for (uint64_t n = 1; n < table.sh_size / sizeof(ELF64LE::Sym); ++n)
    elf.at<ELF64LE::Sym>(table.sh_offset + n * sizeof(ELF64LE::Sym)).st_size = 1 << 30;
  expectIn(parseError(elf.file), " of 1073741824 bytes is outside the image of ");
}

TEST(Refusal, OfFilesWithoutKernels) {
  EXPECT_EQ(parseError(assembleFile("  .text\n  .globl f\nf:\n  s_endpgm\n")),
            "code object: no kernel descriptor");
}

/// A pointer to a symbol in constant data.
File withPointerTo(const std::string &symbol) {
  return assembleFile("  .text\n  .globl f\nf:\n  s_endpgm\n  .section .data.rel.ro,\"aw\"\n"
                      "  .p2align 3\n  .quad " +
                      symbol + "\n");
}

TEST(Refusal, OfRelocations) {
  expectIn(parseError(withPointerTo("nowhere")), "needs the undefined symbol 'nowhere'");
  auto patched = [](auto change) {
    Elf elf(withPointerTo("f"));
    change(elf.at<ELF64LE::Rela>(elf.section(llvm::ELF::SHT_RELA).sh_offset));
    return parseError(elf.file);
  };
  expectIn(patched([](ELF64LE::Rela &rela) { rela.r_offset = uint64_t(1) << 40; }),
           "code object: relocation at 0x10000000000 is outside the image of ");
  expectIn(patched([](ELF64LE::Rela &rela) { rela.setSymbolAndType(0, 99, false); }),
           " of type 99 is not supported; expected RELATIVE64 or ABS64");
}

// ---- descriptors and metadata ------------------------------------------------------------------

/// The error of a descriptor of zeros but for one 32-bit word, in an image of 4 KB.
std::string descriptorError(unsigned offset, uint32_t word) {
  std::vector<uint8_t> image(4096);
  llvm::support::endian::write32le(&image[offset], word);
  auto kernel = parseKernelDescriptor("k", image, 0);
  return kernel ? "" : errorText(kernel.takeError());
}

TEST(Refusal, OfDescriptors) {
  using namespace llvm::amdhsa;
  EXPECT_EQ(descriptorError(GROUP_SEGMENT_FIXED_SIZE_OFFSET, 163841),
            "kernel 'k': expected at most 163840 bytes of LDS, but got 163841");
  EXPECT_EQ(descriptorError(PRIVATE_SEGMENT_FIXED_SIZE_OFFSET, 1 << 21),
            "kernel 'k': expected at most 1048576 bytes of scratch a work-item, but got 2097152");
  // A kernarg pointer (bit 3 of the properties) takes two user SGPRs, and rsrc2 has none.
  EXPECT_EQ(descriptorError(KERNEL_CODE_PROPERTIES_OFFSET, 1 << 3),
            "kernel 'k': the enabled user SGPRs take 2, but rsrc2 reserves 0");
  EXPECT_EQ(descriptorError(KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET, 4096),
            "kernel 'k': entry point 0x1000 is outside the code object of 4096 bytes or not a "
            "multiple of 4");
}

/// The error of metadata that `fill` writes, for a kernel 'k' with 16 bytes of arguments.
std::string metadataError(llvm::function_ref<void(llvm::msgpack::Document &)> fill) {
  CodeObject object;
  object.kernels["k"].info.kernargBytes = 16;
  llvm::msgpack::Document document;
  fill(document);
  std::string blob;
  document.writeToBlob(blob);
  return errorText(applyMetadata(blob, object));
}

/// The same of one kernel with these numbers.
std::string kernelError(llvm::StringRef symbol,
                        std::vector<std::pair<const char *, uint64_t>> numbers) {
  return metadataError([&](llvm::msgpack::Document &document) {
    auto kernels = document.getArrayNode();
    auto kernel = document.getMapNode();
    kernel[".symbol"] = document.getNode(symbol, /*Copy=*/true);
    for (auto [key, value] : numbers)
      kernel[key] = document.getNode(value);
    kernels.push_back(kernel);
    document.getRoot().getMap(/*Convert=*/true)["amdhsa.kernels"] = kernels;
  });
}

TEST(Refusal, OfMetadata) {
  expectIn(metadataError([](auto &document) { document.getRoot() = document.getNode(7); }),
           " bytes: not a msgpack map");
  auto kernels = [](auto make) {
    return metadataError([&](llvm::msgpack::Document &document) {
      document.getRoot().getMap(/*Convert=*/true)["amdhsa.kernels"] = make(document);
    });
  };
  EXPECT_EQ(kernels([](auto &document) { return document.getNode(7); }),
            "metadata note: amdhsa.kernels is not an array");
  EXPECT_EQ(kernels([](auto &document) {
              auto list = document.getArrayNode();
              list.push_back(document.getNode(7));
              return list;
            }),
            "metadata note: an entry of amdhsa.kernels is not a map");
  EXPECT_EQ(kernelError("k.kd", {}), "");
  EXPECT_EQ(kernelError("other.kd", {}),
            "kernel 'other' has metadata, but no descriptor symbol 'other.kd'");
  EXPECT_EQ(kernelError("k.kd", {{".wavefront_size", 32}}),
            "kernel 'k': expected wavefront size 64, but got 32");
  EXPECT_EQ(kernelError("k.kd", {{".kernarg_segment_size", 24}}),
            "kernel 'k': the metadata say kernarg segment of 24 bytes, but the descriptor says 16");
}

TEST(Refusal, OfArgumentsOutsideTheirSegment) {
  EXPECT_EQ(metadataError([](llvm::msgpack::Document &document) {
              auto kernels = document.getArrayNode(), args = document.getArrayNode();
              auto kernel = document.getMapNode(), arg = document.getMapNode();
              arg[".offset"] = document.getNode(uint64_t(12));
              arg[".size"] = document.getNode(uint64_t(8));
              args.push_back(arg);
              kernel[".symbol"] = document.getNode("k.kd");
              kernel[".args"] = args;
              kernels.push_back(kernel);
              document.getRoot().getMap(/*Convert=*/true)["amdhsa.kernels"] = kernels;
            }),
            "kernel 'k': argument at 12 of 8 bytes is outside the kernarg segment of 16 bytes");
}

// ---- launches ----------------------------------------------------------------------------------

TEST(Refusal, OfLaunches) {
  TestMachine m(AsmKernel{.body = "", .ldsBytes = 100 * 1024, .kernargBytes = 16});
  auto run = [&](auto change) {
    Launch launch = m.launch({0, 0});
    change(launch);
    return errorText(m.machine.run({launch}));
  };
  EXPECT_EQ(run([](Launch &l) { l.grid[1] = 0; }),
            "kernel 'k': expected a grid and workgroup of at least 1 in each dimension, but got "
            "(1, 0, 1) x (64, 1, 1)");
  EXPECT_EQ(run([](Launch &l) { l.block = {32, 33, 1}; }),
            "kernel 'k': expected at most 1024 work-items per workgroup, but got 32 x 33 x 1");
  EXPECT_EQ(run([](Launch &l) { l.grid = {65536, 65536, 1}; }),
            "kernel 'k': expected fewer than 2^32 workgroups, but got 65536 x 65536 x 1");
  EXPECT_EQ(run([](Launch &l) { l.kernel = "nope"; }),
            "no kernel 'nope' in the code object; there are: k");
  EXPECT_EQ(run([](Launch &l) { l.dynamicLdsBytes = 65536; }),
            "kernel 'k': 102400 static and 65536 dynamic bytes of LDS exceed the 163840 of a "
            "compute unit");
  EXPECT_EQ(run([](Launch &l) { l.rank = 1; }), "expected a rank below 1, but got 1");
  EXPECT_EQ(run([](Launch &l) { l.module = nullptr; }),
            "launch of 'k' on rank 0: its module is not loaded on that rank");
  TestMachine wide(AsmKernel{.body = "", .vgprs = 256, .agprs = 256});
  EXPECT_EQ(wide.run({}, {1, 1, 1}, {512, 1, 1}),
            "kernel 'k': a workgroup of 8 waves with 512 VGPRs and 0 bytes of LDS does not fit a "
            "compute unit");
}

TEST(Refusal, OfModulesAndVariables) {
  TestMachine m(AsmKernel{.body = ""});
  EXPECT_EQ(errorText(m.machine.kernel(nullptr, "k").takeError()), "not a module of this machine");
  EXPECT_EQ(errorText(m.machine.global(m.modules[0], "room").takeError()),
            "no global variable 'room' in the code object");
}

// ---- memory ------------------------------------------------------------------------------------

TEST(Refusal, OfMemory) {
  Machine machine(1);
  auto error = [](auto result) { return errorText(result.takeError()); };
  EXPECT_EQ(error(machine.allocate(0, uint64_t(300) << 30, "all")),
            "allocation 'all': expected at most 309237645312 bytes, what rank 0 has left of "
            "309237645312, but got 322122547200");
  DevicePtr ptr = llvm::cantFail(machine.allocate(0, 16, "some"));
  expectIn(errorText(machine.free(0, ptr + 4)), ": not the start of an allocation of rank 0");
  uint8_t bytes[16];
  EXPECT_EQ(errorText(machine.read(0, ptr, bytes)),
            "read of 16 bytes at byte 0 of 'some': nobody wrote 16 of them");
  expectIn(errorText(machine.mapHost(reinterpret_cast<void *>(ptr), 16, "mine")),
           "host memory 'mine': 0x");
  expectIn(errorText(machine.mapHost(reinterpret_cast<void *>(ptr), 16, "mine")),
           " is a device address");
  expectIn(errorText(machine.unmapHost(bytes)), " is not the start of mapped host memory");
}

/// Blocks of 1 byte, 100 GiB apart, leave no room for 200 GiB.
TEST(Refusal, OfMemoryWithoutAddresses) {
  Machine machine(1);
  constexpr uint64_t gap = uint64_t(100) << 30;
  for (uint64_t room = 0; room < windowBytes; room += gap) {
    DevicePtr between = llvm::cantFail(machine.allocate(0, gap, "gap"));
    llvm::cantFail(machine.allocate(0, 1, "block"));
    llvm::cantFail(machine.free(0, between));
  }
  EXPECT_EQ(
      errorText(machine.allocate(0, 2 * gap, "much").takeError()),
      "allocation 'much': expected 214748364800 free addresses in a row, but rank 0 has fewer; "
      "free what lies between");
}

// ---- instructions ------------------------------------------------------------------------------

std::string runError(const std::string &body, unsigned ldsBytes = 0) {
  TestMachine m(AsmKernel{.body = body, .vgprs = 64, .agprs = 0, .ldsBytes = ldsBytes});
  return m.run({});
}

TEST(Refusal, OfRegistersThatAreNotThere) {
  expectIn(runError("  v_mov_b32_e32 v200, 0"), "v200 is outside the 64 VGPRs of this kernel");
  expectIn(runError("  v_accvgpr_write_b32 a10, 0"), "a10 is outside the 0 AGPRs of this kernel");
  expectIn(runError("  s_mov_b32 s8, 60\n  s_set_gpr_idx_on s8, gpr_idx(DST)\n"
                    "  v_mov_b32_e32 v8, 0\n  s_set_gpr_idx_off"),
           "indexed v68 is outside the 64 VGPRs of this kernel");
  expectIn(runError("  s_mov_b32 m0, 100\n  s_mov_b32 s10, 0\n  s_movreld_b32 s10, s10"),
           "scalar register s10 + m0 = 110 is outside s0-s101");
  expectIn(runError("  s_getreg_b32 s10, hwreg(30)"),
           "s_getreg_b32 of hardware register 30 is not supported");
  expectIn(runError("  s_setreg_imm32_b32 hwreg(4), 0"),
           "s_setreg of hardware register 4 is not supported");
}

TEST(Refusal, OfAtomicsOutOfLine) {
  expectIn(runError("  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_mov_b32_e32 v1, 2\n"
                    "  s_waitcnt lgkmcnt(0)\n  global_atomic_add v1, v0, s[8:9]"),
           "atomic of 4 bytes in lane 0 at 0x2: expected natural alignment");
  expectIn(runError("  v_mov_b32_e32 v1, 2\n  ds_add_u32 v1, v0", 64),
           "LDS atomic of 4 bytes in lane 0 at 2: expected natural alignment");
}

TEST(Refusal, OfLoadsBesideLds) {
  expectIn(runError("  v_mov_b32_e32 v1, 0\n  s_mov_b32 m0, 100\n"
                    "  global_load_lds_dword v1, s[0:1]",
                    64),
           "LDS write of 4 bytes at 100 (m0 = 100, lane 0) is outside the workgroup's 64 bytes");
}

} // namespace

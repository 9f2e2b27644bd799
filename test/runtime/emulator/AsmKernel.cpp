// Code objects for tests, assembled and linked in process.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include "lld/Common/Driver.h"
#include "llvm-c/Target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace mono::emu::test {

// ---- assembling and linking --------------------------------------------------------------------

static llvm::SmallVector<char, 0> assembleObject(const std::string &text, const std::string &chip) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> asmInfo(target->createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, chip, ""));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text), llvm::SMLoc());
  llvm::MCContext context(triple, asmInfo.get(), registers.get(), subtarget.get(), &sources);
  std::unique_ptr<llvm::MCObjectFileInfo> fileInfo(
      target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(fileInfo.get());

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *asmInfo));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  EXPECT_FALSE(parser->Run(/*NoInitialTextSection=*/false)) << "does not assemble:\n" << text;
  return object;
}

static std::vector<uint8_t> link(llvm::ArrayRef<char> object) {
  llvm::SmallString<128> input, output;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernel", "o", input));
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernel", "hsaco", output));
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(input, error);
    stream.write(object.data(), object.size());
  }
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::DriverDef driver = {lld::Gnu, &lld::elf::link};
  const char *args[] = {"ld.lld", "-shared", input.c_str(), "-o", output.c_str()};
  lld::Result result = lld::lldMain(args, stream, stream, {driver});
  EXPECT_EQ(result.retCode, 0) << messages;
  auto buffer = llvm::MemoryBuffer::getFile(output);
  std::vector<uint8_t> bytes;
  if (buffer)
    bytes.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(output);
  return bytes;
}

std::vector<uint8_t> assembleFile(const std::string &text, const std::string &chip) {
  return link(assembleObject(text, chip));
}

std::vector<uint8_t> assembleBytes(const std::string &text) {
  llvm::SmallVector<char, 0> object = assembleObject(text, "gfx950");
  auto file = llvm::cantFail(llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "object")));
  for (const llvm::object::SectionRef &section : file->sections())
    if (llvm::cantFail(section.getName()) == ".text") {
      llvm::StringRef bytes = llvm::cantFail(section.getContents());
      return {bytes.bytes_begin(), bytes.bytes_end()};
    }
  return {};
}

static std::string line(const std::string &directive, uint64_t value) {
  return "  .amdhsa_" + directive + " " + std::to_string(value) + "\n";
}

std::vector<uint8_t> assemble(const AsmKernel &k) {
  unsigned accumOffset = std::max((k.vgprs + 3) / 4 * 4, 4u);
  std::string text =
      "  .text\n  .globl k\n  .p2align 8\n  .type k,@function\nk:\n" + k.body +
      "\n  s_endpgm\n  .size k, .-k\n  .rodata\n  .p2align 6\n"
      "  .amdhsa_kernel k\n" +
      line("user_sgpr_kernarg_segment_ptr", 1) + line("group_segment_fixed_size", k.ldsBytes) +
      line("private_segment_fixed_size", k.scratchBytes) + line("kernarg_size", k.kernargBytes) +
      line("next_free_vgpr", k.agprs ? accumOffset + k.agprs : k.vgprs) +
      line("next_free_sgpr", 96) + line("accum_offset", accumOffset) +
      line("system_vgpr_workitem_id", k.workitemDims) +
      // The mode of compiled kernels, unless the test says another; the assembler's default would
      // flush f32 denormals.
      (k.extraDirectives.find("float_denorm_mode_32") == std::string::npos
           ? line("float_denorm_mode_32", 3)
           : "") +
      (k.scratchBytes ? line("enable_private_segment", 1) : "") + k.extraDirectives +
      "  .end_amdhsa_kernel\n";
  text += R"(
  .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--)" +
          k.chip + R"(
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_align: 8
    .kernarg_segment_size: )" +
          std::to_string(k.kernargBytes) +
          "\n    .group_segment_fixed_size: " + std::to_string(k.ldsBytes) +
          "\n    .private_segment_fixed_size: " + std::to_string(k.scratchBytes) + R"(
    .max_flat_workgroup_size: 1024
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: )" +
          std::to_string(k.vgprs) + "\n    .agpr_count: " + std::to_string(k.agprs) +
          "\n  .end_amdgpu_metadata\n";
  return assembleFile(text, k.chip);
}

// ---- running -----------------------------------------------------------------------------------

std::string errorText(llvm::Error error) { return error ? llvm::toString(std::move(error)) : ""; }

TestMachine::TestMachine(const AsmKernel &kernel, unsigned ranks, const Options &options)
    : machine(ranks, options), kernelName("k") {
  load(assemble(kernel));
}
TestMachine::TestMachine(const std::vector<uint8_t> &codeObject, const std::string &name,
                         unsigned ranks, const Options &options)
    : machine(ranks, options), kernelName(name) {
  load(codeObject);
}

void TestMachine::load(const std::vector<uint8_t> &codeObject) {
  for (unsigned rank = 0; rank < machine.ranks(); ++rank)
    modules.push_back(llvm::cantFail(machine.load(rank, codeObject)));
}

DevicePtr TestMachine::buffer(const std::vector<uint32_t> &values, const std::string &name,
                              unsigned rank, MemoryKind kind) {
  DevicePtr ptr = llvm::cantFail(machine.allocate(rank, values.size() * 4, name, kind));
  llvm::cantFail(machine.write(rank, ptr, bytesOf(values)));
  return ptr;
}
DevicePtr TestMachine::output(size_t dwords, const std::string &name, unsigned rank) {
  return llvm::cantFail(machine.allocate(rank, dwords * 4, name));
}

std::vector<uint32_t> TestMachine::read(DevicePtr ptr, size_t dwords, unsigned rank) {
  std::vector<uint8_t> bytes(dwords * 4);
  EXPECT_EQ(errorText(machine.read(rank, ptr, bytes)), "");
  std::vector<uint32_t> values(dwords);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Launch TestMachine::launch(const std::vector<uint64_t> &args, std::array<uint32_t, 3> grid,
                           std::array<uint32_t, 3> block, unsigned rank) {
  Launch launch;
  launch.rank = rank;
  launch.module = modules[rank];
  launch.kernel = kernelName;
  launch.grid = grid;
  launch.block = block;
  launch.kernarg = bytesOf(args);
  launch.kernarg.resize(llvm::cantFail(machine.kernel(modules[rank], kernelName)).kernargBytes);
  return launch;
}

std::string TestMachine::run(const std::vector<uint64_t> &args, std::array<uint32_t, 3> grid,
                             std::array<uint32_t, 3> block) {
  return errorText(machine.run({launch(args, grid, block)}));
}

std::vector<std::vector<uint32_t>> runWaveProgram(const std::string &body, unsigned registers,
                                                  const std::vector<uint32_t> &input,
                                                  unsigned ldsBytes,
                                                  const std::string &expectError) {
  std::string text = "  s_load_dwordx4 s[8:11], s[0:1], 0x0\n"
                     "  s_waitcnt lgkmcnt(0)\n"
                     "  s_mov_b64 s[6:7], s[10:11]\n"
                     "  v_lshlrev_b32_e32 v1, 2, v0\n" +
                     body +
                     "\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_mov_b64 exec, -1\n"
                     "  v_mbcnt_lo_u32_b32 v1, -1, 0\n  v_mbcnt_hi_u32_b32 v1, -1, v1\n"
                     "  v_lshlrev_b32_e32 v1, 2, v1\n";
  for (unsigned r = 0; r < registers; ++r)
    text += "  global_store_dword v1, v" + std::to_string(10 + r) +
            ", s[8:9] offset:" + std::to_string(256 * r) + "\n";
  TestMachine m(AsmKernel{.body = text, .agprs = 16, .ldsBytes = ldsBytes, .scratchBytes = 64});
  DevicePtr out = m.output(64 * registers), in = m.buffer(input);
  std::string error = m.run({out, in});
  if (!expectError.empty()) {
    EXPECT_NE(error.find(expectError), std::string::npos) << error;
    return {};
  }
  EXPECT_EQ(error, "");
  std::vector<std::vector<uint32_t>> result;
  if (!error.empty())
    return std::vector<std::vector<uint32_t>>(registers, std::vector<uint32_t>(64));
  std::vector<uint32_t> all = m.read(out, 64 * registers);
  for (unsigned r = 0; r < registers; ++r)
    result.emplace_back(all.begin() + 64 * r, all.begin() + 64 * (r + 1));
  return result;
}

void limitMemory(uint64_t bytes) {
  uint64_t pages = 0; // the first number of statm: all that is mapped
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{pages * uint64_t(sysconf(_SC_PAGESIZE)) + bytes, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

bool canLimitMemory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

} // namespace mono::emu::test

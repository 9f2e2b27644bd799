// Code objects for tests, assembled and linked in process from gfx950 assembly, and a small machine
// to run them on.
#pragma once

#include "runtime/emulator/Emulator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mono::emu::test {

/// A kernel named "k". s[0:1] is the kernarg pointer, workgroup ids follow in s2, s3, s4 (if
/// enabled), v0 is the packed work-item id.
struct AsmKernel {
  std::string body = ""; ///< assembly; s_endpgm is appended
  unsigned vgprs = 64;
  unsigned agprs = 0;
  unsigned ldsBytes = 0;
  unsigned scratchBytes = 0;
  unsigned kernargBytes = 64;
  unsigned workitemDims = 0;        ///< 0 x, 1 x y, 2 x y z
  std::string extraDirectives = ""; ///< more .amdhsa_ lines
  std::string chip = "gfx950";
};

/// Assembly text of a whole file to a linked code object. A test failure if it doesn't assemble.
std::vector<uint8_t> assembleFile(const std::string &text, const std::string &chip = "gfx950");
std::vector<uint8_t> assemble(const AsmKernel &kernel);
/// The machine code of a few instructions, without any file around it.
std::vector<uint8_t> assembleBytes(const std::string &text);

/// Little-endian bytes of a vector of plain values.
template <typename T> std::vector<uint8_t> bytesOf(const std::vector<T> &values) {
  auto *p = reinterpret_cast<const uint8_t *>(values.data());
  return {p, p + values.size() * sizeof(T)};
}

/// What tests run with unless they say otherwise: checks that are too slow for every day as well.
inline Options testOptions() {
  Options options;
  options.checks = Checks::thorough();
  return options;
}

/// A machine with one kernel loaded on every rank.
class TestMachine {
public:
  explicit TestMachine(const AsmKernel &kernel, unsigned ranks = 1,
                       const Options &options = testOptions());
  TestMachine(const std::vector<uint8_t> &codeObject, const std::string &name, unsigned ranks = 1,
              const Options &options = testOptions());

  Machine machine;
  std::vector<Module *> modules;

  /// Memory with these dwords in it.
  DevicePtr buffer(const std::vector<uint32_t> &values, const std::string &name = "in",
                   unsigned rank = 0, MemoryKind kind = MemoryKind::Device);
  /// Memory nobody wrote.
  DevicePtr output(size_t dwords, const std::string &name = "out", unsigned rank = 0);
  std::vector<uint32_t> read(DevicePtr ptr, size_t dwords, unsigned rank = 0);

  /// Kernel arguments are 8-byte words, padded with zeros to the segment.
  Launch launch(const std::vector<uint64_t> &args, std::array<uint32_t, 3> grid = {1, 1, 1},
                std::array<uint32_t, 3> block = {64, 1, 1}, unsigned rank = 0);
  /// Runs one launch and returns the error text, empty if it went well.
  std::string run(const std::vector<uint64_t> &args, std::array<uint32_t, 3> grid = {1, 1, 1},
                  std::array<uint32_t, 3> block = {64, 1, 1});

private:
  void load(const std::vector<uint8_t> &codeObject);
  std::string kernelName;
};

/// The process may map `bytes` more from now on; only where canLimitMemory(), for death tests.
void limitMemory(uint64_t bytes);
/// False under sanitizers, which map the address space themselves.
bool canLimitMemory();

/// Text of an error, empty for success.
std::string errorText(llvm::Error error);

/// Runs `body` on one wave of 64 lanes and returns the 64 dwords it leaves in v10 and on, one
/// vector a register, `registers` of them. `input` is at s[6:7] (and loaded), 64 lanes may use v1 =
/// lane * 4. The body starts with v0 = lane id and s[8:9] the output pointer reserved.
std::vector<std::vector<uint32_t>> runWaveProgram(const std::string &body, unsigned registers = 1,
                                                  const std::vector<uint32_t> &input = {0},
                                                  unsigned ldsBytes = 4096,
                                                  const std::string &expectError = "");

} // namespace mono::emu::test

// A schedule as text, compiled and run on emulated GPUs, mostly one: for tests of what an op
// computes.
#pragma once

#include "lowering/Compile.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"
#include "runtime/Manifest.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mono::test {

/// `text` with every "$NAME" replaced by what `names` has for NAME; no name is the start of
/// another.
inline std::string substitute(std::string text,
                              const std::vector<std::pair<std::string, std::string>> &names) {
  for (const auto &[name, value] : names)
    for (size_t at = 0; (at = text.find("$" + name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size() + 1, value);
  return text;
}

class OneGpu {
public:
  using Params = std::vector<std::pair<std::string, int64_t>>;

  /// Whatever goes wrong here or below is a failure of the running test. Imports start at the root
  /// of the sources.
  explicit OneGpu(const std::string &schedule, const emu::Options &options = {},
                  const Params &params = {}) {
    if (llvm::Error error = create(schedule, options, params))
      ADD_FAILURE() << llvm::toString(std::move(error)) << " in\n" << schedule;
  }

  template <typename T>
  void write(llvm::StringRef operand, const std::vector<T> &values, unsigned rank = 0) {
    if (group)
      expectNone(group->write(
          rank, operand,
          {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)}));
  }

  void launch() {
    if (group)
      expectNone(group->launch());
  }

  /// The same, and once more from the same operands on adversarial memory of a few seeds: whatever
  /// order wavefronts and stores come in, the results must have the same bits.
  void launchOnAnyMemory() {
    if (!group)
      return;
    Contents inputs = contents(OperandAccess::Write);
    launch();
    Contents results = contents(OperandAccess::Read);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << "adversarial memory, seed " << seed);
      emu::Options options;
      options.coherence = emu::Coherence::adversarial(seed);
      OneGpu other;
      other.codeObject = codeObject;
      expectNone(other.load(options));
      if (!other.group)
        return;
      for (const auto &[place, bytes] : inputs)
        expectNone(other.group->write(place.first, place.second, bytes));
      other.launch();
      for (const auto &[place, bytes] : other.contents(OperandAccess::Read))
        EXPECT_TRUE(bytes == results[place])
            << "operand '" << place.second << "' of rank " << place.first << " differs";
    }
  }

  template <typename T>
  std::vector<T> read(llvm::StringRef operand, size_t count, unsigned rank = 0) {
    std::vector<T> values(count);
    if (group)
      expectNone(group->read(
          rank, operand, {reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(T)}));
    return values;
  }

  emu::Stats stats(unsigned rank = 0) { return node ? node->machine().stats(rank) : emu::Stats(); }

  /// Bytes of an operand that the launches have loaded so far, whatever caches had of them.
  uint64_t bytesRead(llvm::StringRef operand, unsigned rank = 0) {
    uint64_t bytes = 0;
    emu::Stats all = stats(rank);
    for (const emu::AllocationTraffic &traffic : all.traffic)
      if (traffic.name == operand && traffic.rank == rank)
        bytes += traffic.bytesRead;
    return bytes;
  }

  std::vector<KernelResources> resources;

private:
  /// Bytes of operands by rank and name.
  using Contents = std::map<std::pair<unsigned, std::string>, std::vector<uint8_t>>;

  OneGpu() = default;

  /// All operands but those with one access.
  Contents contents(OperandAccess but) {
    Contents result;
    for (unsigned rank = 0; rank < group->ranks(); ++rank)
      for (const Operand &operand : group->manifest().operands)
        if (operand.access != but)
          result[{rank, operand.name}] = read<uint8_t>(operand.name, operand.type.bytes(), rank);
    return result;
  }

  llvm::Error create(const std::string &schedule, const emu::Options &options,
                     const Params &params) {
    CompileOptions compileOptions;
    compileOptions.params = params;
    std::string diagnostics; // told with an error only: a test may well leave a region unread
    llvm::raw_string_ostream stream(diagnostics);
    compileOptions.diagnostics = &stream;
    auto compiled =
        compile(llvm::MemoryBuffer::getMemBufferCopy(schedule, MONO_SOURCE_DIR "/test.mlir"),
                compileOptions);
    if (!compiled)
      return llvm::createStringError(llvm::toString(compiled.takeError()) + "\n" + diagnostics);
    resources = compiled->resources;
    codeObject = std::move(compiled->output);
    return load(options);
  }

  llvm::Error load(const emu::Options &options) {
    auto manifest = readManifest(codeObject);
    if (!manifest)
      return manifest.takeError();
    auto created = EmulatorNode::create(manifest->ranks, options);
    if (!created)
      return created.takeError();
    node = std::move(*created);
    auto made = Group::create(node->devices(), codeObject);
    if (!made)
      return made.takeError();
    group.emplace(std::move(*made));
    return llvm::Error::success();
  }

  static void expectNone(llvm::Error error) {
    if (error)
      ADD_FAILURE() << llvm::toString(std::move(error));
  }

  std::vector<uint8_t> codeObject;
  std::unique_ptr<EmulatorNode> node;
  std::optional<Group> group;
};

} // namespace mono::test

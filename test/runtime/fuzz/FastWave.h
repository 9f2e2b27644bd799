// The emulator as the fuzzer drives it: one wavefront whose whole state can be set and read,
// stepped an instruction at a time or run to the end.
#pragma once

#include "runtime/emulator/Memory.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Program.h"
#include "runtime/emulator/exec/Workgroup.h"
#include "test/runtime/fuzz/FuzzProgram.h"

#include <memory>

namespace mono::fuzz {

/// Machine code of several programs, decoded once.
class CodeBatch {
public:
  /// Assembles and decodes. A line that does not assemble is reported by the assembler on stderr
  /// and leaves its program without code.
  explicit CodeBatch(llvm::ArrayRef<FuzzProgram> programs);

  /// Image offsets of the instructions of program `n`, s_endpgm last, in the order of its lines
  /// without labels. Empty if the batch did not assemble.
  llvm::ArrayRef<uint64_t> offsets(size_t n) const { return programOffsets[n]; }
  const emu::Program &code() const { return *decoded; }

private:
  std::shared_ptr<const emu::Program> decoded;
  std::vector<std::vector<uint64_t>> programOffsets;
};

/// One workgroup of one wavefront on a memory of one allocation.
class FastWave {
public:
  FastWave();

  uint64_t memoryBase() const { return allocation->base; }
  /// Puts the wave at the start of program `n` of the batch, with the given state.
  void start(const CodeBatch &batch, size_t n, const State &state);
  /// Executes one instruction; the text of the fault if there is one.
  std::string step();
  /// Runs to the end; the text of the fault if there is one.
  std::string run();
  /// Image offset of the next instruction.
  uint64_t offset() const { return wave().pc; }
  /// Everything a program can change.
  void read(State &state) const;
  /// Registers without copying: row n of the vector file, AGPRs from kVgprs on.
  const uint32_t *row(unsigned n) const { return wave().vgprs + size_t(n) * kLanes; }

private:
  emu::Wave &wave() const { return workgroup->waves().front(); }

  emu::AddressSpace memory{1};
  emu::Allocation *allocation;
  emu::LaunchContext launch;
  std::unique_ptr<emu::Workgroup> workgroup;
  emu::ExecStats stats;
};

} // namespace mono::fuzz

// The emulator as the fuzzer drives it.
#include "test/runtime/fuzz/FastWave.h"

#include "runtime/emulator/decode/Decoder.h"
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/Interpreter.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <algorithm>
#include <cstring>

namespace mono::fuzz {

static std::string batchText(llvm::ArrayRef<FuzzProgram> programs) {
  std::string text;
  for (const FuzzProgram &program : programs) {
    for (const std::string &line : program.lines)
      text += line + "\n";
    text += "s_endpgm\n";
  }
  return text;
}

static size_t instructionCount(const FuzzProgram &program) {
  return size_t(std::count_if(program.lines.begin(), program.lines.end(),
                              [](const std::string &line) { return !isLabel(line); })) +
         1;
}

CodeBatch::CodeBatch(llvm::ArrayRef<FuzzProgram> programs) : programOffsets(programs.size()) {
  const std::vector<uint8_t> image = emu::test::assembleBytes(batchText(programs));
  const emu::CodeRange whole{0, image.size()};
  decoded = llvm::cantFail(emu::decodeProgram(image, whole, {}, emu::defaultHandlers()));
  auto instruction = decoded->instructions().begin();
  for (size_t n = 0; n < programs.size(); ++n) {
    std::vector<uint64_t> offsets;
    for (; instruction->size; ++instruction) {
      offsets.push_back(instruction->pc);
      if (decoded->name(*instruction) == "S_ENDPGM")
        break;
    }
    if (instruction->size)
      ++instruction;
    if (offsets.size() == instructionCount(programs[n]))
      programOffsets[n] = std::move(offsets);
  }
}

FastWave::FastWave() {
  allocation = llvm::cantFail(memory.allocate(0, kMemoryBytes, "memory", emu::MemoryKind::Device));
  launch.grid = {1, 1, 1};
  launch.block = {kLanes, 1, 1};
  launch.setup.vgprs = kVgprs + kAgprs;
  launch.setup.accumOffset = kVgprs;
  launch.setup.scratchBytes = kScratchBytes;
  launch.ldsBytes = launch.setup.ldsBytes = kLdsBytes;
  launch.kernel = "fuzz";
  launch.memory = &memory;
  // Accesses out of bounds are part of what is compared, and races are sought in known programs.
  launch.checks =
      emu::Checks::defaults().set(emu::Check::Bounds, false).set(emu::Check::LdsRace, false);
  workgroup = std::make_unique<emu::Workgroup>(launch);
  stats.traffic.resize(memory.idLimit());
}

void FastWave::start(const CodeBatch &batch, size_t n, const State &state) {
  launch.program = &batch.code();
  workgroup->reset(0, &stats);
  emu::Wave &w = wave();
  w.pc = batch.offsets(n).front();
  for (unsigned r = 0; r < kVgprs; ++r)
    std::copy(state.vgprs[r].begin(), state.vgprs[r].end(), w.vgpr(r));
  for (unsigned r = 0; r < kAgprs; ++r)
    std::copy(state.agprs[r].begin(), state.agprs[r].end(), w.vgpr(kVgprs + r));
  w.sgprs = state.sgprs;
  w.scc = state.scc;
  w.modeRegister = state.mode;
  std::memcpy(workgroup->lds().data(), state.lds.data(), state.lds.size());
  for (uint32_t at = 0; at < kLdsBytes; at += 64)
    workgroup->lds().markWritten(at, 64);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    std::memcpy(workgroup->scratch(w, lane), &state.scratch[lane * kScratchBytes], kScratchBytes);
  std::memcpy(allocation->data(), state.memory.data(), state.memory.size());
  allocation->markWritten(allocation->base, allocation->size);
}

std::string FastWave::step() {
  emu::runWave(wave(), 1);
  return wave().faultMessage();
}

std::string FastWave::run() {
  constexpr uint64_t kLimit = 100000;
  if (emu::runWave(wave(), kLimit) == kLimit)
    return "the program does not end";
  return wave().faultMessage();
}

void FastWave::read(State &state) const {
  for (unsigned r = 0; r < kVgprs; ++r)
    std::copy_n(row(r), kLanes, state.vgprs[r].begin());
  for (unsigned r = 0; r < kAgprs; ++r)
    std::copy_n(row(kVgprs + r), kLanes, state.agprs[r].begin());
  state.sgprs = wave().sgprs;
  state.scc = wave().scc;
  state.mode = wave().modeRegister;
  std::memcpy(state.lds.data(), workgroup->lds().data(), state.lds.size());
  for (unsigned lane = 0; lane < kLanes; ++lane)
    std::memcpy(&state.scratch[lane * kScratchBytes], workgroup->scratch(wave(), lane),
                kScratchBytes);
  std::memcpy(state.memory.data(), allocation->data(), state.memory.size());
}

} // namespace mono::fuzz

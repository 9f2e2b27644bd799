// One workgroup on a compute unit: storage, initial state, barrier.
#include "runtime/emulator/exec/Workgroup.h"

#include "runtime/emulator/RaceGlobal.h"
#include "runtime/emulator/Trace.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Hazard.h"
#include "runtime/emulator/exec/Program.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace mono::emu {

void Workgroup::AlignedDelete::operator()(uint32_t *p) const {
  ::operator delete[](p, std::align_val_t(64));
}

static size_t registersPerWave(const LaunchContext &launch) {
  return size_t(launch.setup.vgprs) * Wave::lanes;
}

Workgroup::Workgroup(const LaunchContext &launch)
    : context(launch), localMemory(launch.ldsBytes), waveList(launch.wavesPerWorkgroup()) {
  size_t dwords = registersPerWave(launch) * waveList.size();
  vectorRegisters.reset(
      static_cast<uint32_t *>(::operator new[](dwords * sizeof(uint32_t), std::align_val_t(64))));
  // A wave alone races only with its own loads to LDS.
  if (launch.checks.has(Check::LdsRace) && launch.ldsBytes &&
      (waveList.size() > 1 || launch.program->loadsToLds()))
    raceDetector = std::make_unique<RaceLds>(launch.ldsBytes, unsigned(waveList.size()));
  if (launch.setup.scratchBytes)
    scratchMemory.reset(
        new uint8_t[size_t(launch.setup.scratchBytes) * Wave::lanes * waveList.size()]);
}

std::array<uint32_t, 3> Workgroup::coordinates() const {
  uint64_t x = context.grid[0], y = context.grid[1];
  return {uint32_t(id % x), uint32_t(id / x % y), uint32_t(id / (x * y))};
}

std::array<uint32_t, 3> Workgroup::extent() const {
  std::array<uint32_t, 3> result = context.block;
  const std::array<uint32_t, 3> at = coordinates();
  for (unsigned d = 0; d < 3; ++d)
    if (context.remainder[d] && at[d] + 1 == context.grid[d])
      result[d] = context.remainder[d];
  return result;
}

unsigned Workgroup::workItems() const {
  const std::array<uint32_t, 3> size = extent();
  return size[0] * size[1] * size[2];
}

uint8_t *Workgroup::scratch(const Wave &wave, unsigned lane) {
  return scratchMemory.get() +
         (size_t(wave.indexInWorkgroup) * Wave::lanes + lane) * context.setup.scratchBytes;
}

void Workgroup::reset(uint64_t linearId, ExecStats *stats) {
  id = linearId;
  localMemory.reset();
  if (raceDetector)
    raceDetector->reset();
  std::fill_n(vectorRegisters.get(), registersPerWave(context) * waveList.size(), poisonDword);
  // A partial workgroup has no waves without work-items.
  live = (workItems() + Wave::lanes - 1) / Wave::lanes;
  atBarrier = 0;
  for (unsigned i = 0; i < waveList.size(); ++i) {
    waveList[i] = Wave();
    waveList[i].stats = stats;
    if (i >= live) {
      waveList[i].workgroup = this;
      waveList[i].status = WaveStatus::Ended;
      continue;
    }
    setUpWave(waveList[i], i);
    if (context.coherence)
      context.coherence->open(waveList[i]);
    if (context.hazards)
      waveList[i].hazards = std::make_shared<HazardTracker>(*context.hazards, context.setup.vgprs);
  }
  if (context.race)
    raceNumber = context.race->order().enter(*this);
}

void Workgroup::setUpWave(Wave &wave, unsigned index) {
  const KernelSetup &setup = context.setup;
  wave.workgroup = this;
  wave.indexInWorkgroup = index;
  wave.program = context.program;
  wave.codeBase = context.codeBase;
  wave.pc = context.codeBase + setup.entryOffset;
  wave.vgprs = vectorRegisters.get() + registersPerWave(context) * index;
  wave.numVgprs = setup.vgprs;
  wave.accumOffset = std::min(setup.accumOffset, setup.vgprs);
  wave.modeRegister = setup.modeRegister;
  wave.sumOrder = context.mfmaOrder;
  wave.sgprs.fill(poisonDword);
  unsigned liveLanes = std::min(workItems() - index * Wave::lanes, Wave::lanes);
  wave.setExec(liveLanes == 64 ? Wave::allLanes : (uint64_t(1) << liveLanes) - 1);
  setUpScalars(wave);
  setUpWorkitemIds(wave);
}

/// User SGPRs dense in the order of the descriptor bits, then the system SGPRs (AMDGPUUsage "SGPR
/// register set up order"; GFX950 has architected flat scratch, so no scratch offset).
void Workgroup::setUpScalars(Wave &wave) {
  const KernelSetup &setup = context.setup;
  unsigned next = 0;
  auto put64 = [&](bool enabled, uint64_t value) {
    if (!enabled)
      return;
    wave.setSgpr64(next, value);
    next += 2;
  };
  next += setup.privateSegmentBuffer ? 4 : 0;
  put64(setup.dispatchPtr, context.dispatchPacketAddress);
  put64(setup.queuePtr, 0);
  put64(setup.kernargPtr, context.kernargAddress);
  put64(setup.dispatchId, context.launchIndex);
  put64(setup.flatScratchInit, 0);
  if (setup.privateSize)
    wave.sgprs[next++] = setup.scratchBytes;
  for (unsigned i = 0; i < setup.preloadDwords; ++i) {
    size_t at = 4 * size_t(setup.preloadOffsetDwords + i);
    if (at + 4 <= context.kernarg.size() && next < sgpr::flatScratch)
      std::memcpy(&wave.sgprs[next], &context.kernarg[at], 4);
    ++next;
  }
  // The count of user SGPRs in rsrc2 is what the hardware goes by.
  next = setup.userSgprs;
  std::array<uint32_t, 3> position = coordinates();
  if (setup.workgroupIdX)
    wave.sgprs[next++] = position[0];
  if (setup.workgroupIdY)
    wave.sgprs[next++] = position[1];
  if (setup.workgroupIdZ)
    wave.sgprs[next++] = position[2];
  if (setup.workgroupInfo)
    wave.sgprs[next++] = uint32_t(waveList.size());
  wave.writtenSgprs = {(uint64_t(1) << next) - 1, uint64_t(3) << (sgpr::exec - 64)};
}

/// v0 = x | y << 10 | z << 20, dimensions that are not enabled read as zero.
void Workgroup::setUpWorkitemIds(Wave &wave) {
  uint32_t *v0 = wave.vgpr(0u);
  wave.writtenVgprs[0] = 1;
  unsigned dims = context.setup.workitemIdDims;
  const std::array<uint32_t, 3> size = extent();
  forEachLane(wave.exec(), [&](unsigned lane) {
    unsigned flat = wave.indexInWorkgroup * Wave::lanes + lane;
    unsigned x = flat % size[0], rest = flat / size[0];
    unsigned y = rest % size[1], z = rest / size[1];
    v0[lane] = x | (dims >= 1 ? y << 10 : 0) | (dims >= 2 ? z << 20 : 0);
  });
}

void Workgroup::arriveAtBarrier(Wave &wave) {
  wave.status = WaveStatus::AtBarrier;
  ++atBarrier;
  releaseBarrierIfComplete(&wave);
}

void Workgroup::waveEnded(Wave &wave) {
  if (context.trace && !context.trace->mayEnd(wave))
    return;
  wave.status = WaveStatus::Ended;
  localMemory.dropPendingDma(&wave);
  if (context.coherence)
    context.coherence->close(wave);
  --live;
  releaseBarrierIfComplete(nullptr);
}

void Workgroup::releaseBarrierIfComplete(const Wave *arriving) {
  if (live == 0 || atBarrier < live)
    return;
  atBarrier = 0;
  if (raceDetector)
    raceDetector->barrier(waveList);
  if (context.race)
    context.race->order().barrier(*this);
  if (context.trace)
    context.trace->barrier(*this, arriving);
  for (Wave &wave : waveList)
    if (wave.status == WaveStatus::AtBarrier)
      wave.status = WaveStatus::Running;
}

} // namespace mono::emu

// One workgroup on a compute unit: its waves, LDS and barrier, and what its launch has in common.
#pragma once

#include "runtime/emulator/Checks.h"
#include "runtime/emulator/Occupancy.h"
#include "runtime/emulator/exec/Lds.h"
#include "runtime/emulator/exec/RaceLds.h"
#include "runtime/emulator/exec/Wave.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace mono::emu {

class AddressSpace;
class CoherenceModel;
class HazardTable;
class RaceGlobal;
class StoreFaults;

/// Register set-up of a kernel, decoded from its descriptor (AMDGPUUsage "Initial Kernel Execution
/// State").
struct KernelSetup {
  uint64_t entryOffset = 0; ///< of the first instruction in the image, preload prologue skipped
  unsigned vgprs = 8;       ///< unified, a multiple of 8
  unsigned accumOffset = 4;
  uint32_t modeRegister = 0;
  uint32_t ldsBytes = 0;
  uint32_t scratchBytes = 0; ///< per lane
  uint32_t kernargBytes = 0;
  bool dispatchPtr = false, queuePtr = false, kernargPtr = false, dispatchId = false;
  bool flatScratchInit = false, privateSize = false, privateSegmentBuffer = false;
  unsigned preloadDwords = 0, preloadOffsetDwords = 0; ///< kernarg preload
  unsigned userSgprs = 0;
  bool workgroupIdX = false, workgroupIdY = false, workgroupIdZ = false, workgroupInfo = false;
  unsigned workitemIdDims = 0; ///< 0: x, 1: x y, 2: x y z in the packed v0
};

/// What all workgroups of one launch share; constant while it runs.
struct LaunchContext {
  unsigned rank = 0;
  unsigned launchIndex = 0; ///< number of the launch in the run
  std::array<uint32_t, 3> grid{}, block{};
  std::array<uint32_t, 3> remainder{}; ///< extent of the last workgroup in a dimension, 0: as block
  KernelSetup setup;
  std::string kernel;
  const Program *program = nullptr;
  uint64_t codeBase = 0;
  uint64_t kernargAddress = 0;
  std::vector<uint8_t> kernarg; ///< host copy, for kernarg preload
  uint64_t dispatchPacketAddress = 0;
  uint32_t ldsBytes = 0; ///< static + dynamic
  Occupancy occupancy;
  const AddressSpace *memory = nullptr;
  CoherenceModel *coherence = nullptr;        ///< null: memory is coherent
  RaceGlobal *race = nullptr;                 ///< null unless the check global-race is on
  StoreFaults *faults = nullptr;              ///< null unless some are planted
  std::shared_ptr<const HazardTable> hazards; ///< null unless the check hazard is on
  Checks checks;
  uint64_t mfmaOrder = 0; ///< Options::mfmaOrder

  unsigned workItems() const { return block[0] * block[1] * block[2]; }
  unsigned wavesPerWorkgroup() const { return (workItems() + 63) / 64; }
  uint64_t workgroups() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
};

/// Owns the storage of its waves; reset() prepares it for a workgroup of a launch.
class Workgroup {
public:
  /// Storage for workgroups of this launch.
  explicit Workgroup(const LaunchContext &launch);

  /// Becomes workgroup `linearId` (x fastest) in its initial state; `stats` counts for it.
  void reset(uint64_t linearId, ExecStats *stats);

  const LaunchContext &launch() const { return context; }
  uint64_t linearId() const { return id; }
  std::array<uint32_t, 3> coordinates() const;
  /// Its work-items in each dimension: fewer than the launch's block at the end of a partial grid.
  std::array<uint32_t, 3> extent() const;
  std::vector<Wave> &waves() { return waveList; }
  const std::vector<Wave> &waves() const { return waveList; }
  /// Its number in LaunchContext::race.
  uint32_t raceId() const { return raceNumber; }
  Lds &lds() { return localMemory; }
  /// Null unless the check lds-race is on and there are waves to race.
  RaceLds *ldsRace() { return raceDetector.get(); }
  /// The private memory of one lane: `launch().setup.scratchBytes` bytes.
  uint8_t *scratch(const Wave &wave, unsigned lane);

  /// Called by s_barrier; releases all waves when every live one has arrived (CDNA4 ISA 4.3: ended
  /// waves do not count).
  void arriveAtBarrier(Wave &wave);
  /// Called when a wave ends.
  void waveEnded(Wave &wave);
  unsigned liveWaves() const { return live; }

private:
  void setUpWave(Wave &wave, unsigned index);
  void setUpScalars(Wave &wave);
  void setUpWorkitemIds(Wave &wave);
  unsigned workItems() const;
  void releaseBarrierIfComplete();

  const LaunchContext &context;
  uint64_t id = 0;
  uint32_t raceNumber = 0;
  Lds localMemory;
  std::unique_ptr<RaceLds> raceDetector;
  struct AlignedDelete {
    void operator()(uint32_t *p) const;
  };
  std::unique_ptr<uint32_t[], AlignedDelete> vectorRegisters;
  std::unique_ptr<uint8_t[]> scratchMemory;
  std::vector<Wave> waveList;
  unsigned live = 0;
  unsigned atBarrier = 0;
};

} // namespace mono::emu

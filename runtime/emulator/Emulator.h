// Public face of the gfx950 emulator: a machine of N devices that loads and runs code objects.
#pragma once

#include "runtime/emulator/Checks.h"
#include "runtime/emulator/Stats.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mono::emu {

/// A device virtual address. Addresses of different ranks never overlap, so an address alone says
/// whose memory it is.
using DevicePtr = uint64_t;

/// Rank r owns the addresses [(16 + r) << 40, (17 + r) << 40) of a 48-bit address space.
inline constexpr unsigned rankShift = 40, firstWindow = 16, maxRanks = 64;
inline constexpr uint64_t windowBytes = uint64_t(1) << rankShift;
/// True for the addresses of ranks, whether a machine has that many or not.
constexpr bool isDeviceWindow(uint64_t address) {
  return (address >> rankShift) - firstWindow < maxRanks;
}

enum class MemoryKind : uint8_t {
  Device,      ///< visible to its own rank only
  PeerVisible, ///< fine-grained, uncached: every rank may load, store and do atomics
};

class Trace; ///< of runs, Trace.h

/// How memory behaves between waves.
struct Coherence {
  /// False: every store is visible to everybody at once, workgroups run on several host threads.
  /// True: stale caches, late and torn stores, random order of waves, workgroups and ranks, as far
  /// as gfx950 allows it; one host thread; the same seed gives the same run.
  bool isAdversarial = false;
  uint64_t seed = 0;

  static Coherence fast() { return {}; }
  static Coherence adversarial(uint64_t seed) { return {true, seed}; }
};

struct Options {
  unsigned threads = 0; ///< host threads that run workgroups; 0: one a hardware thread
  /// Wave instructions of one run() over all ranks before it fails as a runaway.
  uint64_t instructionBudget = 20'000'000'000;
  /// Rounds in which every live wave only polled or waited, with no memory change anywhere, before
  /// the run fails as a deadlock.
  unsigned deadlockRounds = 64;
  /// Instructions a wave runs before the next one gets its turn.
  unsigned quantum = 20'000;
  Checks checks = Checks::defaults();
  Coherence coherence;
  /// Seed of the order in which a matrix instruction sums; 0: k ascending, which is the fastest.
  /// The hardware's order is not documented, so a correct kernel's results move only within
  /// rounding.
  uint64_t mfmaOrder = 0;
  /// A deadlock must also last this long before it is reported while memory is mapped or shared
  /// that the host or another process may write (mapHost, share).
  unsigned deadlockPatienceMs = 2000;
  /// Called about every million wave instructions with those the run has executed so far, from its
  /// host threads, by one of them at a time. Must not call the machine but for peek().
  std::function<void(uint64_t executed)> onProgress;
  Trace *trace = nullptr;          ///< records the runs on one host thread; not owned
  bool countBankConflicts = false; ///< Stats::ldsBankConflicts; costs time at each LDS access
  bool countWorkgroups = false;    ///< AllocationTraffic::readByWorkgroup
  /// Stats::caches and AllocationTraffic::bytesFromHbm; costs time at each memory access.
  bool modelCaches = false;
};

/// What a kernel needs, from its descriptor and the code object's metadata.
struct KernelInfo {
  std::string name;
  unsigned vgprs = 0;       ///< unified total as allocated (VGPR + AGPR), a multiple of 8
  unsigned accumOffset = 0; ///< first AGPR in the unified file
  unsigned archVgprs = 0;   ///< .vgpr_count of the metadata, 0 if absent
  unsigned agprs = 0;       ///< .agpr_count
  unsigned sgprs = 0;       ///< .sgpr_count
  unsigned vgprSpills = 0;  ///< .vgpr_spill_count
  unsigned sgprSpills = 0;
  uint64_t ldsBytes = 0;         ///< static LDS
  uint64_t scratchBytes = 0;     ///< per work-item
  uint64_t kernargBytes = 0;     ///< kernarg segment size
  unsigned maxWorkgroupSize = 0; ///< .max_flat_workgroup_size, 0 if absent
};

/// One kernel argument as the metadata describes it (amdhsa.kernels[].args).
struct KernelArg {
  uint64_t offset = 0;
  uint64_t size = 0;
  std::string valueKind; ///< "by_value", "global_buffer", "hidden_block_count_x", ...
};

class Module; ///< opaque; see Machine::load

struct Launch {
  unsigned rank = 0;
  Module *module = nullptr;
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};  ///< in workgroups
  std::array<uint32_t, 3> block = {1, 1, 1}; ///< in work-items, product at most 1024
  /// Work-items of the last workgroup in each dimension where that is smaller; 0: it is not.
  std::array<uint32_t, 3> remainder = {0, 0, 0};
  uint32_t dynamicLdsBytes = 0;
  std::vector<uint8_t> kernarg; ///< exactly the kernarg segment; see Machine::run
  /// The whole grid must be on the chip at once (a spinning schedule); otherwise workgroups queue.
  bool resident = false;
  DevicePtr multigridSync = 0; ///< value of hidden_multigrid_sync_arg: grid barrier of a
                               ///< cooperative launch
};

/// What has become of a launch.
enum class LaunchEnd : uint8_t {
  Whole,   ///< all its workgroups have ended
  Failed,  ///< the error is its own
  Stopped, ///< not begun, or not at its end, when another one failed
};

/// A defect of a link or of memory, for tests of what a program does then. It happens once, to the
/// next store of a kernel that covers the byte at `address`.
struct StoreFault {
  DevicePtr address = 0;
  uint8_t flips = 0; ///< bits of that byte that are turned over; 0: the store of the lane is lost
};

/// N ranks, each one gfx950 device (256 CUs). Calls may come from several host threads; they are
/// serialised. Every error names what was asked and what was allowed.
class Machine {
public:
  /// `ranks` is brought into 1..maxRanks.
  explicit Machine(unsigned ranks, const Options &options = {});
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// An error if the host CPU lacks AVX2, FMA or F16C, which the execution code is compiled for.
  static llvm::Error checkHost();

  unsigned ranks() const;
  const Options &options() const;

  /// New device memory, 256-byte aligned, with unmapped room on both sides. Nothing has been
  /// written to it: reading it is an error until someone writes. `name` is what reports call it. At
  /// least 1 byte.
  llvm::Expected<DevicePtr> allocate(unsigned rank, uint64_t bytes, llvm::StringRef name,
                                     MemoryKind kind = MemoryKind::Device);
  /// Frees memory; `ptr` must be what allocate() returned. Its addresses are given out again only
  /// after nearly all others of the rank, so that a use after free is found.
  llvm::Error free(unsigned rank, DevicePtr ptr);

  /// Copies between host and device. The range must lie inside one allocation of `rank`; read() of
  /// bytes nobody wrote is an error under the check mem-uninit.
  llvm::Error write(unsigned rank, DevicePtr ptr, llvm::ArrayRef<uint8_t> bytes);
  llvm::Error read(unsigned rank, DevicePtr ptr, llvm::MutableArrayRef<uint8_t> bytes);
  llvm::Error fill(unsigned rank, DevicePtr ptr, uint8_t value, uint64_t bytes);
  /// Marks bytes as never written; their content becomes 0xA5. Memory that others may write, mapped
  /// or shared, changes its content only.
  llvm::Error poison(unsigned rank, DevicePtr ptr, uint64_t bytes);
  /// Number of bytes of the range that nobody wrote.
  llvm::Expected<uint64_t> unwrittenBytes(unsigned rank, DevicePtr ptr, uint64_t bytes);

  /// Makes host memory visible to all ranks at its own address, as written memory. It must stay
  /// mapped until unmapHost(), and may not overlap another mapping.
  llvm::Error mapHost(void *start, uint64_t bytes, llvm::StringRef name);
  llvm::Error unmapHost(void *start);

  /// Copies between any two places: device memory of any rank, or host memory for an address
  /// outside the device windows, which the caller vouches for. The ranges may overlap. Unlike
  /// read(), it takes unwritten bytes along: from device to device they stay unwritten.
  llvm::Error copy(uint64_t to, uint64_t from, uint64_t bytes);

  /// Moves an allocation into shared memory that another process can map, and counts it as written.
  /// The file descriptor belongs to the machine and lives as long as the allocation.
  llvm::Expected<int> share(unsigned rank, DevicePtr ptr);

  /// Validates a code object and places it in the memory of `rank`. The module lives as long as the
  /// machine, or until unload().
  llvm::Expected<Module *> load(unsigned rank, llvm::ArrayRef<uint8_t> codeObject);
  llvm::Error unload(Module *module);

  llvm::Expected<KernelInfo> kernel(Module *module, llvm::StringRef name);
  llvm::Expected<std::vector<KernelArg>> kernelArgs(Module *module, llvm::StringRef name);
  std::vector<std::string> kernelNames(Module *module);
  /// Device address and size of a global variable of the module.
  llvm::Expected<std::pair<DevicePtr, uint64_t>> global(Module *module, llvm::StringRef name);

  /// Runs all launches concurrently until all of them have ended. Launches of one rank run one
  /// after another in the given order, launches of different ranks side by side. `kernarg` shorter
  /// than the segment is accepted if the metadata say the rest is hidden arguments, which are then
  /// filled in; any other size is an error. Errors: bad launch parameters, and everything the
  /// checks find, as text with rank, workgroup, wave, pc and disassembly. `ends`, if given,
  /// receives one per launch.
  llvm::Error run(llvm::ArrayRef<Launch> launches, std::vector<LaunchEnd> *ends = nullptr);

  /// The 8-byte word at `address`, a multiple of 8, as it is now; 0 if there is none. Only for
  /// Options::onProgress, which runs while nothing is allocated or freed.
  uint64_t peek(DevicePtr address) const;

  /// Plants a fault for the runs to come.
  void inject(const StoreFault &fault);
  /// How many planted faults no store has met yet.
  size_t faultsWaiting() const;

  Stats stats(unsigned rank) const;
  void resetStats();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace mono::emu

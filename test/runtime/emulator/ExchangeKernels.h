// Kernels in which workgroups hand data to each other through device memory, right or with one
// thing missing.
#pragma once

#include "test/runtime/emulator/AsmKernel.h"

#include <functional>

namespace mono::emu::test {

/// Workgroup 0 stores 1 or 4 dwords a work-item, its wave 0 then raises a flag; workgroup 1 polls
/// the flag in its wave 0 and then copies the first dword of each to the output. Before that both
/// have read what lies between the data, so that old lines are in their caches.
struct Exchange {
  std::string storeBits = "";                     ///< of the data
  std::string waitBeforeBarrier = "";             ///< in every producing wave
  std::string release = "";                       ///< in the wave that posts
  std::string flagBits = "sc1", pollBits = "sc1"; ///< of the flag
  std::string beforePoll = "";                    ///< in the wave that polls, once
  std::string besidePoll = ""; ///< between the load of the flag and the wait for it
  std::string acquire = "";    ///< in the wave that polled
  std::string loadBits = "";   ///< of the data
  std::string consumerBarrier = "s_barrier";
  unsigned waves = 1;
  bool isWide = false; ///< 4 dwords: too wide to be single-copy atomic
};

/// Plain data with buffer_wbl2 and buffer_inv; data of device scope with waits only.
Exchange releaseAcquire(unsigned waves = 1);
Exchange deviceScope(unsigned waves = 1);

struct RunResult {
  std::string error; ///< of Machine::run
  uint64_t instructions = 0;
  bool isRight = false; ///< no error, and the output is what it must be
};

RunResult run(const Exchange &exchange, const Options &options);

/// A kernel for `workgroups` workgroups of one wave that leaves in each of the first 64 dwords of
/// the output what `expected` says. Arguments: output, a zeroed counter, zeroed scratch memory of
/// 64 dwords a workgroup.
struct GridKernel {
  std::string body;
  unsigned workgroups = 16;
  std::function<uint32_t(unsigned lane, unsigned workgroups)> expected;
};

/// The workgroup that counts last adds up what all have stored.
GridKernel lastBlockReduction(const std::string &release, const std::string &acquire);
/// All workgroups meet, then each reads what its neighbour stored.
GridKernel gridBarrier(const std::string &release, const std::string &acquire);
/// All workgroups add to one row of counters; the last one to finish copies it out.
GridKernel atomicCounters();

RunResult run(const GridKernel &kernel, const Options &options);

/// Each lane of workgroup 0 posts {payload, ..., tag}; its lane of workgroup 1 waits for the tag.
/// `dwords` is 2, which cannot tear at multiples of 8, or 4. The mail begins at byte `offset`.
RunResult runTagged(unsigned dwords, const Options &options, const std::string &bits = "sc1",
                    bool acrossRanks = false, unsigned offset = 0);

/// Adds 1 to 64 dwords a workgroup. Arguments: the dwords, and x: workgroup n takes row n ^ x.
AsmKernel countUp();

/// Default checks, or those of the list.
Options withChecks(const std::string &list = "");
Options adversarial(uint64_t seed, const std::string &checks = "");

} // namespace mono::emu::test

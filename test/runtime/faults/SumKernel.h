// An all-reduce over ranks for tests of what goes wrong: y = sum of x over ranks, [S, 256] f32.
#pragma once

#include "runtime/Group.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mono::test {

inline constexpr unsigned sumRanks = 8, sumColumns = 256;

/// The code object for S rows; `watchdogCycles` as monoc --watchdog takes it. A test failure if it
/// doesn't compile.
std::vector<uint8_t> sumCodeObject(unsigned rows, int64_t watchdogCycles);

/// Gives `rank` its x for a launch: (rank + 1) (launch + 1) in every element.
llvm::Error writeTerms(Group &group, unsigned rank, unsigned launch);
/// Error unless y of `rank` is what that launch must give.
llvm::Error checkSums(Group &group, unsigned rank, unsigned launch);

/// Regular expression for what a watchdog says of `rank` that waited for what `peer` was to post.
std::string waitedFor(unsigned rank, unsigned peer, int64_t cycles, unsigned wanted, unsigned seen);

} // namespace mono::test

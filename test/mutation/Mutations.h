// Small changes to a bound schedule, each a mistake an author could make.
#pragma once

#include "dialect/Mono.h"
#include <random>
#include <string>

namespace mono::test {

using Random = std::mt19937_64;

/// Number of kinds of mistakes.
size_t mutationKinds();

/// "post dropped".
llvm::StringRef mutationName(size_t kind);

/// Makes one mistake of the given kind at a random place. Returns what was done ("slots of 'm': 2
/// -> 1"), or nothing if the schedule has no place for it. The result may not even verify.
std::optional<std::string> mutate(ScheduleOp schedule, size_t kind, Random &random);

} // namespace mono::test

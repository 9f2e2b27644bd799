// One rank of the sum kernel as a process of its own, with a fault of its choice.
#pragma once

#include "llvm/Support/Error.h"

#include <string>

namespace mono::test {

/// The command line of a rank: rank, code object, folder in which all ranks meet, what goes wrong.
struct RankArguments {
  unsigned rank = 0;
  std::string code, folder;
  /// "none"; "late": starts half a second after the others; "too-late": starts when all others have
  /// given up; "killed": ends without a word after it has joined; "replacement": only takes part in
  /// the second group; "shares", of all ranks: no fault, but the kernel in the file CODE.second
  /// takes turns with the first on its mailboxes.
  std::string fault;
};

/// Joins, launches twice and checks the sums. After a launch that failed it prints the message and
/// joins a second group, in the place of which "recovered" is printed when all went well. Prints
/// "good" if nothing went wrong at all.
llvm::Error runRank(const RankArguments &arguments);

} // namespace mono::test

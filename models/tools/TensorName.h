// Names of tensors in files, of one rank or of all.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>
#include <optional>
#include <string>

namespace mono::tools {

/// "rank3/x" taken apart; a name without a rank is that of all ranks.
struct TensorName {
  llvm::StringRef name;
  std::optional<unsigned> rank;

  static TensorName parse(llvm::StringRef text) {
    llvm::StringRef rest = text;
    unsigned rank = 0;
    if (rest.consume_front("rank") && !rest.consumeInteger(10, rank) && rest.consume_front("/") &&
        !rest.empty())
      return {rest, rank};
    return {text, std::nullopt};
  }
};

inline std::string rankName(unsigned rank, llvm::StringRef name) {
  return fmt::format("rank{}/{}", rank, name);
}

} // namespace mono::tools

// Hints for misspelt names.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mono {

/// The name among `names` that looks most like `name`, for a hint; empty if none is close: more
/// than two letters, or half of the name, differ.
template <typename Names> llvm::StringRef nearestName(llvm::StringRef name, const Names &names) {
  size_t best = std::min<size_t>(3, name.size() / 2 + 1);
  llvm::StringRef nearest;
  for (llvm::StringRef other : names) {
    size_t distance = name.edit_distance_insensitive(other);
    if (distance >= best)
      continue;
    best = distance;
    nearest = other;
  }
  return nearest;
}

/// "; did you mean 'NAME'?", or nothing if no name is close.
template <typename Names> std::string nearestHint(llvm::StringRef name, const Names &names) {
  llvm::StringRef nearest = nearestName(name, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?";
}

} // namespace mono

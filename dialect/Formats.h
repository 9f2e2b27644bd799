// Names of number formats, which a parameter can choose between: `-D ATTN=mxfp8`.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mono {

/// A format's number is its place.
inline constexpr llvm::StringLiteral kFormatNames[] = {"bf16", "mxfp8"};

/// The number of the format called so; none for other words.
inline std::optional<int64_t> formatNumber(llvm::StringRef name) {
  const auto *found = llvm::find(kFormatNames, name);
  if (found == std::end(kFormatNames))
    return std::nullopt;
  return found - std::begin(kFormatNames);
}

/// Its name, or the number where there is none.
inline std::string formatName(int64_t number) {
  bool known = number >= 0 && number < int64_t(std::size(kFormatNames));
  return known ? kFormatNames[number].str() : std::to_string(number);
}

} // namespace mono

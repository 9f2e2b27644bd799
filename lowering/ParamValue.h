// The values of parameters as command lines give them: `-D NAME=INT`, `-D NAME=FORMAT`.
#pragma once

#include "dialect/Formats.h"
#include <optional>
#include <string>
#include <utility>

namespace mono {

/// Reads a decimal number, or the name of a number format, which stands for its number. False for
/// anything else.
inline bool parseParamValue(llvm::StringRef text, int64_t &value) {
  if (!text.getAsInteger(10, value))
    return true;
  std::optional<int64_t> format = formatNumber(text);
  value = format.value_or(0);
  return format.has_value();
}

/// Reads NAME=VALUE; nothing if it is none.
inline std::optional<std::pair<std::string, int64_t>> parseParam(llvm::StringRef text) {
  auto [name, number] = text.split('=');
  int64_t value = 0;
  if (name.empty() || !parseParamValue(number, value))
    return std::nullopt;
  return std::pair(name.str(), value);
}

} // namespace mono

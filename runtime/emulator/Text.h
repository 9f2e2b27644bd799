// Errors from fmt format strings.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <fmt/format.h>

#include <string>

template <> struct fmt::formatter<llvm::StringRef> : fmt::formatter<std::string_view> {
  template <typename Context> auto format(llvm::StringRef s, Context &ctx) const {
    return fmt::formatter<std::string_view>::format(std::string_view(s.data(), s.size()), ctx);
  }
};

namespace mono::emu {

/// An llvm::Error with formatted text: lower case, no final period.
template <typename... Args>
llvm::Error makeError(fmt::format_string<Args...> format, Args &&...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 fmt::format(format, std::forward<Args>(args)...));
}

} // namespace mono::emu

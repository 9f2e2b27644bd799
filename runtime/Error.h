// Error values with formatted text: every recoverable failure of the runtime is an llvm::Error made
// here. Texts start lower-case, end without a period and carry the numbers and their units.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

template <> struct fmt::formatter<llvm::StringRef> : fmt::formatter<std::string_view> {
  template <typename Context> auto format(llvm::StringRef text, Context &context) const {
    return fmt::formatter<std::string_view>::format(std::string_view(text.data(), text.size()),
                                                    context);
  }
};
// Since fmt 10 what converts to a text is not one of itself.
template <> struct fmt::formatter<llvm::StringLiteral> : fmt::formatter<llvm::StringRef> {};

namespace mono {

/// An error whose text is the formatted message.
template <typename... Args>
llvm::Error makeError(fmt::format_string<Args...> format, Args &&...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::StringRef(fmt::format(format, std::forward<Args>(args)...)));
}

/// The same error with "CONTEXT: " before its text; success stays success.
inline llvm::Error addContext(llvm::Error error, llvm::StringRef context) {
  if (!error)
    return llvm::Error::success();
  return makeError("{}: {}", context, llvm::toString(std::move(error)));
}

} // namespace mono

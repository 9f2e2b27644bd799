// Errors on their way to the C interface: text, and the status a program can branch on.
#pragma once

#include "mono/mono.h"
#include "runtime/Error.h"

namespace mono::facade {

/// An error that knows its status.
class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;
  StatusError(mono_status status, std::string text) : status(status), text(std::move(text)) {}

  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  const mono_status status;
  const std::string text;
};

template <typename... Args>
llvm::Error makeStatusError(mono_status status, fmt::format_string<Args...> format,
                            Args &&...args) {
  return llvm::make_error<StatusError>(status, fmt::format(format, std::forward<Args>(args)...));
}

/// Gives an error of the runtime or the compiler its status; one that has a status keeps it, and
/// success stays success.
inline llvm::Error withStatus(mono_status status, llvm::Error error) {
  if (!error || error.isA<StatusError>())
    return error;
  return makeStatusError(status, "{}", llvm::toString(std::move(error)));
}

} // namespace mono::facade

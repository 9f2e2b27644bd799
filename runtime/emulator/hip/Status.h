// Error codes of the API: the thread's last error, names, and what went wrong in words.
#pragma once

#include "runtime/emulator/hip/HipAbi.h"

#include "llvm/Support/Error.h"

#include <fmt/format.h>

#include <string>

namespace mono::hipemu {

/// Stores a failure as the calling thread's last error and returns it. hipErrorNotReady is an
/// answer, not a failure.
hipError_t remember(hipError_t status);

/// Prints `text` to stderr behind "hip-emulator: ".
void print(const std::string &text);
/// Prints it only if MONO_HIP_LOG is set and not 0: programs probe for errors.
void log(const std::string &text);

/// Logs the reason of a failed call and returns its code.
hipError_t fail(hipError_t status, llvm::Error why);
template <typename... Args>
hipError_t fail(hipError_t status, fmt::format_string<Args...> format, Args &&...args) {
  log(fmt::format(format, std::forward<Args>(args)...));
  return status;
}

/// Success, or `status` with the error logged.
inline hipError_t toStatus(llvm::Error error, hipError_t status) {
  return error ? fail(status, std::move(error)) : hipSuccess;
}

/// "hipErrorInvalidValue"; null for a number that is no error code.
const char *errorName(hipError_t status);
/// "invalid argument".
const char *errorText(hipError_t status);

} // namespace mono::hipemu

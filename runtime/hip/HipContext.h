// One device of an open HIP library, and how calls are made on it without disturbing the caller.
#pragma once

#include "runtime/hip/HipLibrary.h"

namespace mono::hip {

/// Shared by a device and everything that lives on it.
struct HipContext {
  std::shared_ptr<const HipLibrary> library;
  /// The device's number in HIP.
  int ordinal = 0;

  const api::Functions &hip() const { return library->functions(); }
  llvm::Error check(api::Status status, llvm::StringRef call) const {
    return library->check(status, call);
  }

  /// Runs `work` with this device current on the calling thread, and gives the thread back the
  /// device it had: the host application has its own idea of it.
  template <typename Work> llvm::Error run(Work work) const {
    int before = 0;
    if (llvm::Error error = check(hip().hipGetDevice(&before), "hipGetDevice"))
      return error;
    if (before == ordinal)
      return work();
    if (llvm::Error error = check(hip().hipSetDevice(ordinal), "hipSetDevice"))
      return error;
    llvm::Error result = work();
    return llvm::joinErrors(std::move(result), check(hip().hipSetDevice(before), "hipSetDevice"));
  }
};

} // namespace mono::hip

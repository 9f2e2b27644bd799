// libamdhip64, opened at run time: the table of its functions and the one place where its results
// become errors.
#pragma once

#include "runtime/hip/HipTypes.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mono::hip {

namespace api {

/// The functions of HipFunctions.def by their own names.
struct Functions {
#define MONO_HIP_REQUIRED(NAME, PARAMETERS) Status(*NAME) PARAMETERS = nullptr;
#define MONO_HIP_OPTIONAL(NAME, PARAMETERS) Status(*NAME) PARAMETERS = nullptr;
#include "runtime/hip/HipFunctions.def"
  const char *(*hipGetErrorName)(Status status) = nullptr;
  const char *(*hipGetErrorString)(Status status) = nullptr;
};

} // namespace api

/// One HIP library. It is never closed: unloading HIP while its threads live is not safe.
class HipLibrary {
public:
  /// Opens the file that the environment variable MONO_HIP_LIBRARY names, or without it the first
  /// of libamdhip64.so.7, .6, .5 and libamdhip64.so the loader finds. Errors: none can be opened,
  /// one is older than HIP 5, or it lacks a function.
  static llvm::Expected<std::shared_ptr<const HipLibrary>> open();
  /// Opens this file and no other.
  static llvm::Expected<std::shared_ptr<const HipLibrary>> open(const std::string &file);

  const api::Functions &functions() const { return table; }
  /// The name it was opened by.
  const std::string &name() const { return file; }
  /// "6.2" and so on.
  std::string version() const;

  /// Success, or an error that names the call, the HIP error and its number. Every result of HIP
  /// goes through here.
  llvm::Error check(api::Status status, llvm::StringRef call) const;

private:
  HipLibrary() = default;
  llvm::Error load(void *handle);
  llvm::Error checkVersion();

  api::Functions table;
  std::string file;
  int versionNumber = 0; ///< major * 10,000,000 + minor * 100,000 + patch
};

} // namespace mono::hip

// A compiled schedule in memory: from text through the cache and the compiler, or from a code
// object.
#pragma once

#include "mono/Cache.h"
#include "runtime/Manifest.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mono::facade {

struct CompileSettings {
  std::vector<std::pair<std::string, int64_t>> params;
  std::string linker = "lld";
  int64_t watchdogCycles = 0;
  CacheSettings cache;
};

/// Immutable, so any number of threads may use it.
struct CompiledKernel {
  std::vector<uint8_t> codeObject;
  Manifest manifest;
  bool fromCache = false;
  std::string
      cacheNote; ///< why the cache was not used, or could not be written; empty if all went well

  /// Compiles `source`, or takes the result from the cache. The identifier of the buffer is its
  /// file name; imports are relative to its folder. The text of an error has the compiler's
  /// diagnostics.
  static llvm::Expected<std::shared_ptr<const CompiledKernel>>
  compile(std::unique_ptr<llvm::MemoryBuffer> source, const CompileSettings &settings);

  /// Takes a finished code object.
  static llvm::Expected<std::shared_ptr<const CompiledKernel>>
  load(std::vector<uint8_t> codeObject);
};

} // namespace mono::facade

// What a compilation read besides the schedule file itself.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mono {

using Digest = std::array<uint8_t, 32>;

/// SHA-256 of a file's contents.
Digest digestOf(llvm::StringRef contents);

/// A file that was imported, directly or through other imports.
struct ImportedFile {
  std::string path; ///< as it was opened
  Digest digest;    ///< of the contents that were compiled
};

} // namespace mono

// Files that a tool writes are none of those it reads.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mono {

/// Whether writing to one of the paths would overwrite the other: both name one file, or will once
/// it is there. False for devices and pipes, and for paths that are empty.
bool isSameFile(llvm::StringRef path, llvm::StringRef other);

} // namespace mono

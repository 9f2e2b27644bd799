// Files that a tool writes are none of those it reads.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mono {

/// Whether writing to one of the paths would overwrite the other: both name one file, or will once
/// it is there. False for devices and pipes, and for paths that are empty.
bool isSameFile(llvm::StringRef path, llvm::StringRef other);

/// A file that an option of the command line names to be written; an empty path is none.
struct Target {
  llvm::StringRef option, path;
};

/// Error: one of the targets is a source, or a target before it.
llvm::Error checkDistinct(llvm::ArrayRef<Target> targets, llvm::ArrayRef<llvm::StringRef> sources);

} // namespace mono

// Files from outside, whole.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace mono {

/// The bytes of the file at `path`, mapped where the system can. Errors name the path; a device is
/// one, since its bytes may never end.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path);

} // namespace mono

// Opening of files, with errors that name them.
#include "runtime/File.h"
#include "runtime/Error.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace mono {

Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && (status.type() == sys::fs::file_type::character_file ||
                                         status.type() == sys::fs::file_type::block_file))
    return makeError("{}: expected a file, but it is a device", path);
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{}: {}", path, buffer.getError().message());
  return std::move(*buffer);
}

} // namespace mono

// Opening of files, with errors that name them; temporary files.
#include "runtime/File.h"
#include "runtime/Error.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace mono {

static constexpr uint64_t maxTextBytes = 64 << 20;

/// Looks before the file is opened, which for a pipe would wait until somebody writes. What can't
/// be looked at is left to the opening, whose error says why.
static Error checkKind(StringRef path, uint64_t maxBytes) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return Error::success();
  switch (status.type()) {
  case sys::fs::file_type::character_file:
  case sys::fs::file_type::block_file:
    return makeError("{}: expected a file, but it is a device", path);
  case sys::fs::file_type::fifo_file:
    return makeError("{}: expected a file, but it is a pipe", path);
  default:
    if (status.getSize() > maxBytes)
      return makeError("{}: expected at most {} bytes, but got {}", path, maxBytes,
                       status.getSize());
    return Error::success();
  }
}

static Expected<std::unique_ptr<MemoryBuffer>> read(StringRef path, bool isText,
                                                    uint64_t maxBytes) {
  if (Error error = checkKind(path, maxBytes))
    return std::move(error);
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, isText, /*RequiresNullTerminator=*/isText);
  if (!buffer)
    return makeError("{}: {}", path, buffer.getError().message());
  return std::move(*buffer);
}

Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef path) {
  return read(path, /*isText=*/false, UINT64_MAX);
}

Expected<std::unique_ptr<MemoryBuffer>> readTextFile(StringRef path) {
  return read(path, /*isText=*/true, maxTextBytes);
}

// ---- temporary files ---------------------------------------------------------------------------

ErrorOr<TemporaryFile> TemporaryFile::create(StringRef path, StringRef suffix,
                                             bool removeOnSignal) {
  TemporaryFile file;
  file.path = path.str();
  std::error_code code;
  int descriptor = -1;
  do {
    // Only the random part is a model, in which each % is replaced.
    SmallString<32> random;
    sys::fs::createUniquePath("%%%%%%%%%%%%", random, /*MakeAbsolute=*/false);
    file.temporary = (path + "-" + random + suffix).str();
    code = sys::fs::openFileForWrite(file.temporary, descriptor, sys::fs::CD_CreateNew);
  } while (code == errc::file_exists);
  if (code)
    return code;
  if (removeOnSignal)
    sys::RemoveFileOnSignal(file.temporary);
  file.stream = std::make_unique<raw_fd_ostream>(descriptor, /*shouldClose=*/true);
  return file;
}

/// An error that nobody saw would end the process.
static std::error_code takeError(raw_fd_ostream &stream) {
  std::error_code code = stream.error();
  stream.clear_error();
  return code;
}

std::error_code TemporaryFile::write(StringRef bytes) {
  *stream << bytes;
  stream->flush();
  return takeError(*stream);
}

std::error_code TemporaryFile::close() {
  stream->close();
  std::error_code code = takeError(*stream);
  stream.reset();
  return code;
}

std::error_code TemporaryFile::keep() {
  std::error_code code = close();
  if (!code)
    code = sys::fs::rename(temporary, path);
  if (code)
    sys::fs::remove(temporary);
  sys::DontRemoveFileOnSignal(temporary);
  return code;
}

TemporaryFile::~TemporaryFile() {
  if (!stream)
    return;
  (void)close();
  sys::fs::remove(temporary);
  sys::DontRemoveFileOnSignal(temporary);
}

} // namespace mono

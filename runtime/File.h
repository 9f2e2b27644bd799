// Files from outside, whole, and files that appear whole or not at all.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace mono {

/// The bytes of the file at `path`, mapped where the system can. Errors name the path; a device or
/// a pipe is one, since its bytes may never end or never come.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path);

/// The same for a text that a parser takes: with a zero behind it, and of at most 64 MiB.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readTextFile(llvm::StringRef path);

/// A file that is written beside `path` and then renamed to it. Unlike llvm::sys::fs::TempFile it
/// takes a `%` in the path for what it is, and leaves the signals of a host application alone.
class TemporaryFile {
public:
  /// A new file in the folder of `path`, named after it with a random part and `suffix` behind. A
  /// tool removes it also when a signal ends the process.
  static llvm::ErrorOr<TemporaryFile> create(llvm::StringRef path, llvm::StringRef suffix = "",
                                             bool removeOnSignal = false);
  TemporaryFile(TemporaryFile &&) = default;
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  /// Removes what was not kept.
  ~TemporaryFile();

  const std::string &name() const { return temporary; }
  std::error_code write(llvm::StringRef bytes);
  /// Gives the file its final name, at once (POSIX rename). Ends it.
  std::error_code keep();

private:
  TemporaryFile() = default;
  std::error_code close();

  std::string path, temporary;
  std::unique_ptr<llvm::raw_fd_ostream> stream; ///< null once kept or moved from
};

} // namespace mono

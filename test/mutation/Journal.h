// Verdicts that outlive the process: what a long test has found out, so that another run goes on
// from there, and several processes share the work.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace mono::test {

/// A text file of lines "KEY VERDICT ."; one without the point was cut off. Its first line names
/// what the verdicts hold for (this very program and its settings), so that those of another
/// program are not taken for this one's. Several processes may append to one file: a line is
/// written as a whole. Without a file it remembers nothing.
class Journal {
public:
  Journal() = default;

  /// Reads the file, or begins it. Error: it can't be read or written, or its first line is not
  /// `holdsFor`.
  static llvm::Expected<Journal> open(llvm::StringRef path, llvm::StringRef holdsFor);

  std::optional<std::string> find(llvm::StringRef key) const;
  void add(llvm::StringRef key, llvm::StringRef verdict);

private:
  std::map<std::string, std::string> verdicts;
  std::unique_ptr<llvm::raw_fd_ostream> out; ///< null: no file
};

/// A hash in 16 hexadecimal digits, to make keys of.
std::string keyOf(llvm::ArrayRef<uint8_t> bytes);

} // namespace mono::test

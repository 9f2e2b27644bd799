// Reads and appends lines.
#include "test/mutation/Journal.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace mono::test {

/// Ends a line that has been written as a whole.
static constexpr StringLiteral kEnd = " .";

std::string keyOf(ArrayRef<uint8_t> bytes) { return formatv("{0:x-16}", xxh3_64bits(bytes)).str(); }

Expected<Journal> Journal::open(StringRef path, StringRef holdsFor) {
  Journal journal;
  std::error_code error;
  journal.out = std::make_unique<raw_fd_ostream>(path, error, sys::fs::OF_Append);
  if (error)
    return createFileError(path, error);
  auto file = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return createFileError(path, file.getError());
  StringRef text = (*file)->getBuffer();
  if (!text.empty() && text.back() != '\n') { // its last line was cut off
    *journal.out << '\n';
    journal.out->flush();
  }
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty()) {
    *journal.out << holdsFor << '\n';
    journal.out->flush();
    return journal;
  }
  if (lines.front() != holdsFor)
    return createStringError(inconvertibleErrorCode(),
                             "'%s' is the journal of '%s', but this is '%s'; name another file",
                             path.str().c_str(), lines.front().str().c_str(),
                             holdsFor.str().c_str());
  for (StringRef line : ArrayRef(lines).drop_front()) {
    if (!line.consume_back(kEnd))
      continue;
    auto [key, verdict] = line.split(' ');
    journal.verdicts.insert_or_assign(key.str(), verdict.str());
  }
  return journal;
}

std::optional<std::string> Journal::find(StringRef key) const {
  auto found = verdicts.find(key.str());
  return found == verdicts.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(StringRef key, StringRef verdict) {
  if (!out)
    return;
  verdicts.insert_or_assign(key.str(), verdict.str());
  // One write, so that lines of several processes don't mix.
  std::string line = (key + " " + verdict + kEnd + "\n").str();
  *out << line;
  out->flush();
}

} // namespace mono::test

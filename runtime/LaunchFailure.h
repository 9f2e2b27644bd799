// What became of launches that have been started: a device tells the group whose they were, whoever
// waited for them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <mutex>
#include <string>

namespace mono {

/// Why launches that belong together (of a group, and of those that share its mailboxes) are worth
/// nothing any more. Whoever prepares a launch gives one, the device writes it.
/// Safe for several threads, since each may wait for a device of its own.
class LaunchFailure {
public:
  /// Empty while nothing has failed.
  const std::string &text() const {
    static const std::string none;
    return isRecorded.load(std::memory_order_acquire) ? why : none;
  }
  /// The first failure stays: later ones follow from it.
  void record(llvm::StringRef text) {
    std::lock_guard guard(lock);
    if (isRecorded)
      return;
    why = text.str();
    isRecorded.store(true, std::memory_order_release);
  }

private:
  std::mutex lock;
  std::string why; ///< never changed once it is recorded
  std::atomic<bool> isRecorded = false;
};

/// An error of launches that has been recorded in the LaunchFailure of each of them: nobody else is
/// concerned.
class RecordedLaunchError : public llvm::ErrorInfo<RecordedLaunchError> {
public:
  static char ID;
  explicit RecordedLaunchError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &out) const override { out << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string text;
};

/// Leaves out the errors that the owners of the launches will report.
llvm::Error withoutRecorded(llvm::Error error);

} // namespace mono

// The text of a watchdog's record.
#include "runtime/Watchdog.h"

#include <fmt/format.h>

namespace mono {

/// Index of the first element in a word of a slot, "[3, 64]"; a word has 4 bytes of payload.
static std::string elementOf(const Mailbox &mailbox, uint64_t word) {
  uint64_t flat = word * (32 / elementBits(mailbox.type.element));
  Shape index = mailbox.type.shape;
  for (int64_t &at : llvm::reverse(index)) {
    uint64_t size = at;
    at = flat % size;
    flat /= size;
  }
  return flat == 0 ? formatShape(index) : "?";
}

std::string WatchdogRecord::describe(const Manifest &manifest) const {
  // The record comes from a kernel that went wrong: its indices are not to be trusted.
  bool known = mailbox < manifest.mailboxes.size();
  return fmt::format(
      "watchdog: workgroup {} of rank {} waited in stage '{}' for element {} of "
      "mailbox '{}' longer than {} cycles: expected tag {}, but saw {}",
      workgroup, rank, stage < manifest.stages.size() ? manifest.stages[stage].name : "?",
      known ? elementOf(manifest.mailboxes[mailbox], word) : "?",
      known ? manifest.mailboxes[mailbox].name : "?", manifest.watchdogCycles, wanted, seen);
}

} // namespace mono

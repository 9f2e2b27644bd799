// The text of a watchdog's record.
#include "runtime/Watchdog.h"

#include <fmt/format.h>

namespace mono {

std::string WatchdogRecord::describe(const Manifest &manifest) const {
  // The record comes from a kernel that went wrong: its indices are not to be trusted.
  std::string stageName = stage < manifest.stages.size() ? manifest.stages[stage].name : "?";
  std::string mailboxName =
      mailbox < manifest.mailboxes.size() ? manifest.mailboxes[mailbox].name : "?";
  return fmt::format(
      "watchdog: workgroup {} of rank {} waited in stage '{}' for word {} of mailbox "
      "'{}' longer than {} cycles: expected tag {}, but saw {}",
      workgroup, rank, stageName, word, mailboxName, manifest.watchdogCycles, wanted, seen);
}

} // namespace mono

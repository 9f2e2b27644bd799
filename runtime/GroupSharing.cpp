// Groups of different kernels that take turns on one set of mailboxes.
#include "runtime/Error.h"
#include "runtime/Group.h"

using namespace llvm;

namespace mono {

/// Words of any launch say which launch they are from, and all kernels count launches in the same
/// epoch words, so that kernels need not agree on where mailboxes lie. A rank may be one launch
/// ahead of its peers and writes to the slot of its launch alone: with two slots it then writes
/// over nothing that is still read, if it knows at the start of a launch that the launch before the
/// last one has ended everywhere. It does if in each launch every rank hears from every other one.
static Error checkTurns(const Manifest &manifest) {
  if (manifest.ranks == 1)
    return Error::success();
  if (!manifest.hearsAll)
    return makeError("kernel '{}' can't share mailboxes with others: expected a schedule in which "
                     "every rank receives something from every other one in each launch",
                     manifest.kernel);
  for (const Mailbox &mailbox : manifest.mailboxes)
    if (mailbox.scope == MailboxScope::Peers &&
        (mailbox.slots < 2 || mailbox.slots != manifest.peerSlots()))
      return makeError(
          "kernel '{}' can't share mailboxes with others: expected at least 2 slots, and "
          "as many in all peers mailboxes, but '{}' has {}",
          manifest.kernel, mailbox.name, mailbox.slots);
  return Error::success();
}

/// What both kernels must have alike.
static Error checkAlike(const Manifest &mine, const Manifest &other) {
  struct Fact {
    const char *name;
    uint64_t mine, other;
  };
  for (const Fact &fact : {Fact{"workgroups", mine.ctas, other.ctas},
                           Fact{"bytes of epoch words", mine.epochBytes, other.epochBytes},
                           Fact{"slots of peers mailboxes", mine.peerSlots(), other.peerSlots()}})
    if (fact.mine != fact.other)
      return makeError(
          "kernel '{}' has {} {}, but kernel '{}', whose mailboxes it is to share, has "
          "{}",
          mine.kernel, fact.mine, fact.name, other.kernel, fact.other);
  return Error::success();
}

Error Group::checkSharing(const Manifest &manifest, const Group &other,
                          const GroupOptions &options) {
  if (!options.workspaces.empty())
    return makeError("expected no workspaces for a group that shares those of another");
  for (const Manifest *each : {&manifest, &other.contract})
    if (Error error = checkTurns(*each))
      return error;
  return checkAlike(manifest, other.contract);
}

Error Group::shareExchange(Member &member, const Group &other) {
  for (const Member &owner : other.members)
    if (owner.rank == member.rank && owner.device == member.device)
      member.exchange = owner.exchange;
  if (!member.exchange)
    return makeError(
        "expected the device on which kernel '{}', whose mailboxes it is to share, has "
        "this rank",
        other.contract.kernel);
  struct Size {
    const char *name;
    uint64_t wanted, there;
  };
  for (const Size &size :
       {Size{"device mailboxes", contract.deviceMailboxBytes, member.exchange->deviceBytes},
        Size{"a slot of peers mailboxes", contract.peerSlotBytes(),
             member.exchange->peerSlotBytes}})
    if (size.wanted > size.there)
      return makeError("kernel '{}' needs {} bytes of {}, but those of kernel '{}', which it is to "
                       "share, have {}; make the group of the kernel that needs most first",
                       contract.kernel, size.wanted, size.name, other.contract.kernel, size.there);
  return Error::success();
}

} // namespace mono

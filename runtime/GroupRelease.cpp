// A launch that could not be started on every rank: the ranks that run already wait for what the
// others would post, for ever unless it is a watchdog build. Their mailboxes are in reach when all
// ranks live in this process, so they are given what they wait for.
#include "runtime/Error.h"
#include "runtime/Group.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mono {

/// One slot of a tagged mailbox as a launch with this tag leaves it when it posts nothing but zeros
/// (docs/manifest.md). Zero is an index that exists, whatever the words are used for.
std::vector<uint8_t> Group::slotOfZeros(const Mailbox &mailbox, uint32_t tag) const {
  std::vector<uint8_t> words(mailbox.slotBytes());
  for (size_t at = 0; at < words.size(); at += 8)
    support::endian::write32le(&words[at + 4], tag);
  return words;
}

/// Posts zeros to all peer mailboxes in place of `missing`, which was to start on `stream`. What
/// the launch computes is worth nothing, but it ends.
Error Group::release(Member &missing, StreamHandle stream) {
  if (members.size() != ranks()) // the others would take zeros for results
    return Error::success();
  // Earlier launches were started everywhere, so they end. A stream that is none has no work.
  consumeError(missing.device->synchronize(stream));
  Expected<uint32_t> finished = finishedLaunches(missing);
  if (!finished)
    return finished.takeError();
  uint32_t tag = contract.nextTag(*finished);
  std::vector<std::vector<uint8_t>> slots;
  std::vector<Patch> patches;
  slots.reserve(contract.mailboxes.size());
  for (const Mailbox &mailbox : contract.mailboxes) {
    if (mailbox.scope != MailboxScope::Peers || mailbox.kind != MailboxKind::Tagged)
      continue;
    slots.push_back(slotOfZeros(mailbox, tag));
    for (const Member &member : members) {
      const Exchange &exchange = *member.exchange;
      uint64_t offset = mailbox.offset + tag % mailbox.slots * exchange.peerSlotBytes;
      patches.push_back({exchange.peerMailboxes + offset, slots.back()});
    }
  }
  return missing.device->writeAside(patches);
}

} // namespace mono

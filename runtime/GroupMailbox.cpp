// Looking into the tagged mailboxes of a group after a launch.
#include "runtime/Error.h"
#include "runtime/Group.h"

#include "llvm/Support/Endian.h"

#include <cstring>

using namespace llvm;
using support::endian::read32le;

namespace mono {

/// A word: payload in the low dword, tag in the high one (docs/manifest.md).
static constexpr size_t wordBytes = 8, payloadBytes = 4;

/// The mailbox, if its words say which launch they are from.
static Expected<const Mailbox *> findTagged(const Manifest &manifest, StringRef name) {
  Expected<const Mailbox *> mailbox = manifest.findMailbox(name);
  if (mailbox && (*mailbox)->kind != MailboxKind::Tagged)
    return makeError("mailbox '{}': expected a tagged mailbox, but it is counted", name);
  return mailbox;
}

/// Takes the words of one slot apart.
static Group::MailboxSlot splitWords(const TensorType &type, ArrayRef<uint8_t> words) {
  Group::MailboxSlot slot;
  slot.payload.resize(words.size() / wordBytes * payloadBytes);
  for (size_t word = 0; word < words.size() / wordBytes; ++word) {
    const uint8_t *at = &words[word * wordBytes];
    std::memcpy(&slot.payload[word * payloadBytes], at, payloadBytes);
    slot.tags.push_back(read32le(at + payloadBytes));
  }
  slot.payload.resize(type.bytes()); // the last word may be half a payload's
  return slot;
}

/// As the first workgroup counts them; when no launch is under way, all count the same.
Expected<uint32_t> Group::finishedLaunches(const Member &member) const {
  uint8_t count[4];
  if (Error error = member.device->read(member.exchange->epochs, count))
    return error;
  return read32le(count);
}

DevicePtr Group::slotMemory(unsigned rank, const Mailbox &mailbox, unsigned slot) const {
  auto member = find_if(members, [&](const Member &m) { return m.rank == rank; });
  if (member == members.end())
    return 0;
  const Exchange &exchange = *member->exchange;
  if (mailbox.scope == MailboxScope::Peers)
    return exchange.peerMailboxes + mailbox.offset + slot * exchange.peerSlotBytes;
  return exchange.deviceMailboxes + mailbox.offset + slot * mailbox.slotBytes();
}

Expected<Group::MailboxSlot> Group::readSlot(const Member &member, const Mailbox &mailbox,
                                             unsigned slot) const {
  std::vector<uint8_t> words(mailbox.slotBytes());
  if (Error error = member.device->read(slotMemory(member.rank, mailbox, slot), words))
    return error;
  return splitWords(mailbox.type, words);
}

Expected<Group::MailboxSlot> Group::readSlot(unsigned rank, StringRef name, unsigned slot) {
  Expected<const Mailbox *> mailbox = findTagged(contract, name);
  if (!mailbox)
    return mailbox.takeError();
  if (slot >= (*mailbox)->slots)
    return makeError("mailbox '{}': expected a slot below {}, but got {}", name, (*mailbox)->slots,
                     slot);
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  return readSlot(**member, **mailbox, slot);
}

Expected<Group::LastSlot> Group::readLastSlot(unsigned rank, const Mailbox &mailbox) {
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  Expected<uint32_t> launches = finishedLaunches(**member);
  if (!launches)
    return launches.takeError();
  if (*launches == 0)
    return makeError("mailbox '{}' of rank {}: expected a finished launch, but there was none",
                     mailbox.name, rank);
  Expected<MailboxSlot> slot = readSlot(**member, mailbox, *launches % mailbox.slots);
  if (!slot)
    return slot.takeError();
  return LastSlot{std::move(*slot), *launches};
}

Error Group::readMailbox(unsigned rank, StringRef name, MutableArrayRef<uint8_t> bytes) {
  Expected<const Mailbox *> mailbox = findTagged(contract, name);
  if (!mailbox)
    return mailbox.takeError();
  const TensorType &type = (*mailbox)->type;
  if (bytes.size() != type.bytes())
    return makeError("mailbox '{}': expected {} bytes ({}), but got {}", name, type.bytes(),
                     type.describe(), bytes.size());
  Expected<LastSlot> last = readLastSlot(rank, **mailbox);
  if (!last)
    return last.takeError();
  unsigned perWord = 8 * payloadBytes / elementBits(type.element);
  for (auto [word, found] : enumerate(last->slot.tags))
    if (found != last->tag)
      return makeError(
          "mailbox '{}' of rank {}: expected element {} to be of launch {}, but it is {}", name,
          rank, word * perWord, last->tag,
          found == 0 ? "of none" : fmt::format("of launch {}", found));
  copy(last->slot.payload, bytes.begin());
  return Error::success();
}

Expected<bool> Group::isPosted(unsigned rank, StringRef name) {
  Expected<const Mailbox *> mailbox = findTagged(contract, name);
  if (!mailbox)
    return mailbox.takeError();
  Expected<LastSlot> last = readLastSlot(rank, **mailbox);
  if (!last)
    return last.takeError();
  return is_contained(last->slot.tags, last->tag);
}

} // namespace mono

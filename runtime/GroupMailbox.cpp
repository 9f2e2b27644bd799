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

/// Copies the payloads of one slot to `out`, whose last one may be half a word's.
static Error stripTags(const TensorType &type, ArrayRef<uint8_t> slot, uint32_t tag,
                       MutableArrayRef<uint8_t> out) {
  unsigned perWord = 8 * payloadBytes / elementBits(type.element);
  for (size_t word = 0; word < slot.size() / wordBytes; ++word) {
    const uint8_t *at = &slot[word * wordBytes];
    if (uint32_t found = read32le(at + payloadBytes); found != tag)
      return makeError("expected element {} to be of launch {}, but it is {}", word * perWord, tag,
                       found == 0 ? "of none" : fmt::format("of launch {}", found));
    MutableArrayRef<uint8_t> to = out.drop_front(word * payloadBytes).take_front(payloadBytes);
    std::memcpy(to.data(), at, to.size());
  }
  return Error::success();
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
  std::vector<uint8_t> words((*mailbox)->slotBytes());
  if (Error error = (*member)->device->read(slotMemory(rank, **mailbox, slot), words))
    return error;
  MailboxSlot result;
  for (size_t at = 0; at < words.size(); at += wordBytes) {
    result.payload.insert(result.payload.end(), &words[at], &words[at] + payloadBytes);
    result.tags.push_back(read32le(&words[at + payloadBytes]));
  }
  result.payload.resize((*mailbox)->type.bytes()); // the last word may be half a payload's
  return result;
}

Expected<Group::Slot> Group::readLastSlot(unsigned rank, const Mailbox &mailbox) {
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  Expected<uint32_t> launches = finishedLaunches(**member);
  if (!launches)
    return launches.takeError();
  if (*launches == 0)
    return makeError("mailbox '{}' of rank {}: expected a finished launch, but there was none",
                     mailbox.name, rank);
  Slot slot{std::vector<uint8_t>(mailbox.slotBytes()), *launches};
  DevicePtr from = slotMemory(rank, mailbox, *launches % mailbox.slots);
  if (Error error = (*member)->device->read(from, slot.words))
    return error;
  return slot;
}

Error Group::readMailbox(unsigned rank, StringRef name, MutableArrayRef<uint8_t> bytes) {
  Expected<const Mailbox *> mailbox = findTagged(contract, name);
  if (!mailbox)
    return mailbox.takeError();
  const TensorType &type = (*mailbox)->type;
  if (bytes.size() != type.bytes())
    return makeError("mailbox '{}': expected {} bytes ({}), but got {}", name, type.bytes(),
                     type.describe(), bytes.size());
  Expected<Slot> slot = readLastSlot(rank, **mailbox);
  if (!slot)
    return slot.takeError();
  return addContext(stripTags(type, slot->words, slot->tag, bytes),
                    fmt::format("mailbox '{}' of rank {}", name, rank));
}

Expected<bool> Group::isPosted(unsigned rank, StringRef name) {
  Expected<const Mailbox *> mailbox = findTagged(contract, name);
  if (!mailbox)
    return mailbox.takeError();
  Expected<Slot> slot = readLastSlot(rank, **mailbox);
  if (!slot)
    return slot.takeError();
  for (size_t at = payloadBytes; at < slot->words.size(); at += wordBytes)
    if (read32le(&slot->words[at]) == slot->tag)
      return true;
  return false;
}

} // namespace mono

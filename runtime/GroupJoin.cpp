// A group of one rank a process: the ranks compare what they run, exchange their mailboxes, and
// have a group only when all of them do.
#include "runtime/Error.h"
#include "runtime/Group.h"
#include "runtime/ipc/GroupCard.h"
#include "runtime/ipc/Rendezvous.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mono {

/// This rank alone: its code, its zeroed mailboxes, and the card that tells the others.
Expected<Group> Group::startJoin(Device &device, ArrayRef<uint8_t> codeObject,
                                 const ipc::Rendezvous &rendezvous, GroupOptions options,
                                 ipc::GroupCard &card) {
  Expected<Group> group = checked(&device, codeObject, std::move(options));
  if (!group)
    return group;
  const Manifest &manifest = group->contract;
  if (manifest.ranks != rendezvous.ranks())
    return makeError("kernel '{}' was compiled for {} ranks, but the group has {}", manifest.kernel,
                     manifest.ranks, rendezvous.ranks());
  if (Error error = group->addMember(rendezvous.rank(), device, codeObject))
    return error;
  card = ipc::describeGroup(manifest, codeObject);
  if (group->options.sharedWith) {
    card.sharedWith = group->members.front().exchange->identity;
    if (card.sharedWith == decltype(card.sharedWith)())
      return makeError(
          "kernel '{}' is to share the mailboxes of a group of one process: expected one "
          "that was joined by all ranks",
          manifest.kernel);
    return group;
  }
  Expected<IpcMemory> mailboxes =
      device.exportMemory(group->members.front().exchange->peerMailboxes);
  if (!mailboxes)
    return mailboxes.takeError();
  card.mailboxes = *mailboxes;
  return group;
}

/// Maps the mailboxes of the other ranks, unless an earlier group has.
Error Group::connect(ArrayRef<ipc::GroupCard> cards) {
  if (options.sharedWith)
    return Error::success();
  Member &member = members.front();
  member.exchange->identity = ipc::groupIdentity(cards);
  std::vector<DevicePtr> mailboxes;
  for (unsigned rank = 0; rank < cards.size(); ++rank) {
    if (rank == member.rank) {
      mailboxes.push_back(member.exchange->peerMailboxes);
      continue;
    }
    Expected<DeviceBuffer> buffer =
        DeviceBuffer::import(*member.device, cards[rank].mailboxes, contract.peerMailboxBytes);
    if (!buffer)
      return addContext(buffer.takeError(), fmt::format("mailboxes of rank {}", rank));
    mailboxes.push_back(buffer->ptr());
    member.exchange->owned.push_back(std::move(*buffer));
  }
  return fillPeerTable(member, mailboxes);
}

static Expected<std::vector<ipc::GroupCard>> exchangeCards(ipc::Rendezvous &rendezvous,
                                                           const ipc::GroupCard &card) {
  auto all = rendezvous.allGather(ipc::encodeCard(card));
  if (!all)
    return all.takeError();
  std::vector<ipc::GroupCard> cards;
  for (unsigned rank = 0; rank < all->size(); ++rank) {
    Expected<ipc::GroupCard> parsed = ipc::parseCard((*all)[rank]);
    if (!parsed)
      return addContext(parsed.takeError(), fmt::format("rank {}", rank));
    cards.push_back(std::move(*parsed));
  }
  return cards;
}

/// Success on all ranks or an error on all. The verdicts may have reached some ranks when another
/// one is lost, so nobody acts on them before all have confirmed that they know them.
static Error agree(ipc::Rendezvous &rendezvous, Error mine) {
  std::string text = toString(std::move(mine));
  ArrayRef<uint8_t> bytes = arrayRefFromStringRef(text);
  auto all = rendezvous.allGather(bytes.take_front(ipc::maxContribution));
  if (!all)
    return all.takeError();
  for (unsigned rank = 0; rank < all->size(); ++rank)
    if (!(*all)[rank].empty())
      return makeError("rank {}: {}", rank, toStringRef((*all)[rank]));
  return rendezvous.confirm();
}

Expected<Group> Group::join(Device &device, ArrayRef<uint8_t> codeObject,
                            ipc::Rendezvous &rendezvous, GroupOptions options) {
  ipc::GroupCard card;
  Expected<Group> group = startJoin(device, codeObject, rendezvous, std::move(options), card);
  // A rank that has failed already still takes part in the round: the others must hear of it.
  if (!group)
    card.failure = toString(group.takeError());
  auto cards = exchangeCards(rendezvous, card);
  if (!cards)
    return cards.takeError();
  // Every rank sees the same cards, so all leave here or none does.
  if (Error error = ipc::checkCards(*cards))
    return error;
  if (Error error = agree(rendezvous, group->connect(*cards)))
    return error;
  return group;
}

} // namespace mono

// What a rank says about itself when a group is made: what it runs, and where its mailboxes are
// (docs/rendezvous.md).
#pragma once

#include "runtime/Device.h"
#include "runtime/Manifest.h"
#include "runtime/ipc/Wire.h"

namespace mono::ipc {

struct GroupCard {
  /// Why this rank cannot take part; when it is not empty, nothing else counts.
  std::string failure;
  std::string schedule;
  std::vector<std::pair<std::string, int64_t>> params;
  /// SHA-256 of the code object.
  std::array<uint8_t, 32> codeHash = {};
  uint64_t peerMailboxBytes = 0;
  /// This rank's peer mailboxes.
  IpcMemory mailboxes;
  /// Which group's mailboxes it uses instead, by groupIdentity(); zeros: its own.
  std::array<uint8_t, 32> sharedWith = {};
};

/// The card of a rank that runs this code object; mailboxes are not filled in.
GroupCard describeGroup(const Manifest &manifest, llvm::ArrayRef<uint8_t> codeObject);

Payload encodeCard(const GroupCard &card);
/// Any bytes give a card or an error.
llvm::Expected<GroupCard> parseCard(llvm::ArrayRef<uint8_t> bytes);

/// What a group is known by to all its ranks: SHA-256 of the cards it was made from.
std::array<uint8_t, 32> groupIdentity(llvm::ArrayRef<GroupCard> cards);

/// Error that names the first rank that failed, or that runs something else than rank 0 does. The
/// same on every rank, because all have the same cards.
llvm::Error checkCards(llvm::ArrayRef<GroupCard> cards);

} // namespace mono::ipc

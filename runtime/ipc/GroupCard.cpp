// Cards as bytes, and their comparison.
#include "runtime/ipc/GroupCard.h"
#include "runtime/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace mono::ipc {

// Far beyond what a schedule has; they bound what a card can make a reader allocate.
static constexpr size_t maxText = 1024, maxName = 256;
static constexpr uint32_t maxParams = 64;

GroupCard describeGroup(const Manifest &manifest, ArrayRef<uint8_t> codeObject) {
  GroupCard card;
  card.schedule = manifest.schedule;
  card.params = manifest.params;
  card.codeHash = SHA256::hash(codeObject);
  card.peerMailboxBytes = manifest.peerMailboxBytes;
  return card;
}

Payload encodeCard(const GroupCard &card) {
  ByteWriter writer;
  writer.text(card.failure, maxText);
  writer.text(card.schedule, maxName);
  uint32_t params = std::min<size_t>(card.params.size(), maxParams);
  writer.u32(params);
  for (const auto &[name, value] : ArrayRef(card.params).take_front(params)) {
    writer.text(name, maxName);
    writer.u64(static_cast<uint64_t>(value));
  }
  writer.bytes(card.codeHash);
  writer.u64(card.peerMailboxBytes);
  writer.bytes(card.mailboxes.handle);
  writer.u64(card.mailboxes.offset);
  writer.bytes(card.sharedWith);
  return writer.take();
}

template <size_t Size> static void readArray(ByteReader &reader, std::array<uint8_t, Size> &into) {
  ArrayRef<uint8_t> bytes = reader.bytes(Size);
  std::copy(bytes.begin(), bytes.end(), into.begin());
}

Expected<GroupCard> parseCard(ArrayRef<uint8_t> bytes) {
  ByteReader reader(bytes);
  GroupCard card;
  card.failure = reader.text(maxText);
  card.schedule = reader.text(maxName);
  uint32_t params = reader.u32();
  if (params > maxParams)
    return makeError("expected at most {} parameters, but got {}", maxParams, params);
  for (uint32_t i = 0; i < params && !reader.failed(); ++i) {
    std::string name = reader.text(maxName);
    card.params.emplace_back(std::move(name), static_cast<int64_t>(reader.u64()));
  }
  readArray(reader, card.codeHash);
  card.peerMailboxBytes = reader.u64();
  readArray(reader, card.mailboxes.handle);
  card.mailboxes.offset = reader.u64();
  readArray(reader, card.sharedWith);
  if (reader.failed() || !reader.atEnd())
    return makeError("expected a group card, but got {} bytes that are {}", bytes.size(),
                     reader.failed() ? "too few or out of range" : "too many");
  return card;
}

static std::string formatParams(const GroupCard &card) {
  std::string text;
  for (const auto &[name, value] : card.params)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "no parameters" : text;
}

static Error compare(const GroupCard &card, const GroupCard &first, size_t rank) {
  if (card.schedule != first.schedule)
    return makeError("rank {} runs schedule '{}', but rank 0 '{}'", rank, card.schedule,
                     first.schedule);
  if (card.params != first.params)
    return makeError("rank {} was compiled for {}, but rank 0 for {}", rank, formatParams(card),
                     formatParams(first));
  if (card.codeHash != first.codeHash)
    return makeError("rank {} runs other code than rank 0: SHA-256 {} and {}", rank,
                     toHex(card.codeHash, /*LowerCase=*/true),
                     toHex(first.codeHash, /*LowerCase=*/true));
  if (card.peerMailboxBytes != first.peerMailboxBytes)
    return makeError("rank {} has {} bytes of peer mailboxes, but rank 0 {}", rank,
                     card.peerMailboxBytes, first.peerMailboxBytes);
  if (card.sharedWith != first.sharedWith)
    return makeError(
        "rank {} uses other mailboxes than rank 0: expected all ranks to share those of "
        "the same group, or none",
        rank);
  return Error::success();
}

std::array<uint8_t, 32> groupIdentity(ArrayRef<GroupCard> cards) {
  SHA256 hash;
  for (const GroupCard &card : cards)
    hash.update(encodeCard(card));
  return hash.final();
}

Error checkCards(ArrayRef<GroupCard> cards) {
  for (size_t rank = 0; rank < cards.size(); ++rank)
    if (!cards[rank].failure.empty())
      return makeError("rank {}: {}", rank, cards[rank].failure);
  for (size_t rank = 1; rank < cards.size(); ++rank)
    if (Error error = compare(cards[rank], cards[0], rank))
      return error;
  return Error::success();
}

} // namespace mono::ipc

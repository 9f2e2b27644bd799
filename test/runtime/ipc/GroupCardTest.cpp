// Group cards: there and back, broken ones, and what makes two ranks disagree.
#include "runtime/ipc/GroupCard.h"

#include <gtest/gtest.h>

#include <random>

using namespace mono;
using namespace mono::ipc;

namespace {

GroupCard card() {
  GroupCard card;
  card.schedule = "layer";
  card.params = {{"S", 4}, {"TP", -8}};
  card.codeHash.fill(0xAB);
  card.peerMailboxBytes = uint64_t(1) << 40;
  for (unsigned i = 0; i < 64; ++i)
    card.mailboxes.handle[i] = static_cast<uint8_t>(3 * i);
  card.mailboxes.offset = 768;
  card.sharedWith.fill(0xCD);
  return card;
}

TEST(GroupCard, ComesBack) {
  auto parsed = parseCard(encodeCard(card()));
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  EXPECT_EQ(parsed->failure, "");
  EXPECT_EQ(parsed->schedule, "layer");
  EXPECT_EQ(parsed->params, card().params);
  EXPECT_EQ(parsed->codeHash, card().codeHash);
  EXPECT_EQ(parsed->peerMailboxBytes, uint64_t(1) << 40);
  EXPECT_EQ(parsed->mailboxes.handle, card().mailboxes.handle);
  EXPECT_EQ(parsed->sharedWith, card().sharedWith);
  EXPECT_EQ(parsed->mailboxes.offset, 768u);
}

TEST(GroupCard, ExactlyItsBytes) {
  Payload bytes = encodeCard(card());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(llvm::toString(parseCard(llvm::ArrayRef(bytes).take_front(size)).takeError()), "")
        << size;
  bytes.push_back(0);
  EXPECT_EQ(llvm::toString(parseCard(bytes).takeError()), "expected a group card, but got " +
                                                              std::to_string(bytes.size()) +
                                                              " bytes that are too many");
}

TEST(GroupCard, CountsAreBounded) {
  GroupCard many = card();
  many.params.assign(100, {"p", 1});
  auto parsed = parseCard(encodeCard(many));
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(parsed->params.size(), 64u);

  ByteWriter writer;
  writer.text("", 10);
  writer.text("layer", 10);
  writer.u32(65);
  EXPECT_EQ(llvm::toString(parseCard(writer.take()).takeError()),
            "expected at most 64 parameters, but got 65");
}

TEST(GroupCard, ALongFailureIsCut) {
  GroupCard failed;
  failed.failure = std::string(5000, 'x');
  auto parsed = parseCard(encodeCard(failed));
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(parsed->failure, std::string(1024, 'x'));
}

/// The hash is SHA-256; that of "abc" is from FIPS 180-2, appendix B.1.
TEST(GroupCard, HashesTheCodeObject) {
  const uint8_t abc[] = {'a', 'b', 'c'};
  GroupCard described = describeGroup(Manifest(), abc);
  const std::array<uint8_t, 4> first = {0xba, 0x78, 0x16, 0xbf};
  EXPECT_TRUE(std::equal(first.begin(), first.end(), described.codeHash.begin()));
  EXPECT_EQ(described.codeHash[31], 0xad);
}

/// Where its mailboxes are tells one group from another that runs the same.
TEST(GroupCard, AnIdentityIsOfAllCards) {
  std::vector<GroupCard> cards(2, card());
  std::array<uint8_t, 32> identity = groupIdentity(cards);
  EXPECT_EQ(groupIdentity(cards), identity);
  cards[1].mailboxes.offset += 256;
  EXPECT_NE(groupIdentity(cards), identity);
}

std::string disagreement(void (*change)(GroupCard &)) {
  std::vector<GroupCard> cards(4, card());
  change(cards[2]);
  // Where a mailbox is differs from rank to rank as a matter of course.
  cards[1].mailboxes.offset = 5;
  return llvm::toString(checkCards(cards));
}

TEST(GroupCard, RanksMustRunTheSame) {
  EXPECT_EQ(disagreement([](GroupCard &) {}), "");
  EXPECT_EQ(disagreement([](GroupCard &c) { c.failure = "no device"; }), "rank 2: no device");
  EXPECT_EQ(disagreement([](GroupCard &c) { c.schedule = "router"; }),
            "rank 2 runs schedule 'router', but rank 0 'layer'");
  EXPECT_EQ(disagreement([](GroupCard &c) { c.params[0].second = 5; }),
            "rank 2 was compiled for S = 5, TP = -8, but rank 0 for S = 4, TP = -8");
  EXPECT_EQ(disagreement([](GroupCard &c) { c.params.clear(); }),
            "rank 2 was compiled for no parameters, but rank 0 for S = 4, TP = -8");
  std::string error = disagreement([](GroupCard &c) { c.codeHash[31] = 0; });
  EXPECT_EQ(error.find("rank 2 runs other code than rank 0: SHA-256 abab"), 0u) << error;
  EXPECT_EQ(disagreement([](GroupCard &c) { c.peerMailboxBytes = 8; }),
            "rank 2 has 8 bytes of peer mailboxes, but rank 0 1099511627776");
  EXPECT_EQ(
      disagreement([](GroupCard &c) { c.sharedWith.fill(0); }),
      "rank 2 uses other mailboxes than rank 0: expected all ranks to share those of the same "
      "group, or none");
}

TEST(GroupCard, RandomBytesAreHarmless) {
  std::mt19937 random(7);
  Payload whole = encodeCard(card());
  unsigned parsed = 0;
  for (int i = 0; i < 200'000; ++i) {
    Payload bytes = whole;
    bytes.resize(random() % 8 ? bytes.size() : random() % bytes.size());
    for (int changes = random() % 4; changes >= 0 && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    if (auto read = parseCard(bytes)) {
      ++parsed;
      EXPECT_LE(read->params.size(), 64u);
      llvm::consumeError(checkCards({card(), *read}));
    } else
      llvm::consumeError(read.takeError());
  }
  EXPECT_GT(parsed, 1000u);
}

} // namespace

// Messages as bytes: the layout docs/rendezvous.md fixes, and every field that can be wrong.
#include "runtime/ipc/Wire.h"

#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

#include <random>

using namespace mono::ipc;
using namespace llvm::support;

namespace {

std::array<uint8_t, headerBytes> good() { return encodeHeader({MessageKind::Post, 3, 8, 5, 100}); }

std::string errorWith(size_t offset, uint32_t value) {
  auto bytes = good();
  endian::write32le(&bytes[offset], value);
  auto header = parseHeader(bytes);
  return header ? "" : llvm::toString(header.takeError());
}

TEST(Wire, TheHeaderIsThirtyTwoBytes) {
  std::array<uint8_t, 32> bytes = {'m', 'o', 'n', 'o', 'R', 'D', 'V', '1', //
                                   3,   0,   0,   0,                       // version
                                   2,   0,   0,   0,                       // kind: post
                                   3,   0,   0,   0,                       // rank
                                   8,   0,   0,   0,                       // ranks
                                   5,   0,   0,   0,                       // round
                                   100, 0,   0,   0};                      // payload bytes
  EXPECT_EQ(good(), bytes);
  auto header = parseHeader(bytes);
  ASSERT_TRUE(bool(header)) << llvm::toString(header.takeError());
  EXPECT_EQ(header->kind, MessageKind::Post);
  EXPECT_EQ(header->rank, 3u);
  EXPECT_EQ(header->ranks, 8u);
  EXPECT_EQ(header->round, 5u);
  EXPECT_EQ(header->bytes, 100u);
}

TEST(Wire, EveryFieldIsChecked) {
  EXPECT_EQ(errorWith(0, 0), "not a rendezvous message: expected it to begin with monoRDV1");
  EXPECT_EQ(errorWith(4, 0), "not a rendezvous message: expected it to begin with monoRDV1");
  EXPECT_EQ(errorWith(8, 2), "expected rendezvous version 3, but got 2");
  EXPECT_EQ(errorWith(12, 0), "expected a message of kind 1 to 4, but got 0");
  EXPECT_EQ(errorWith(12, 5), "expected a message of kind 1 to 4, but got 5");
  EXPECT_EQ(errorWith(16, 8), "expected a rank below 8, but got 8");
  EXPECT_EQ(errorWith(20, 0), "expected 1 to 64 ranks, but got 0");
  EXPECT_EQ(errorWith(20, 65), "expected 1 to 64 ranks, but got 65");
  EXPECT_EQ(errorWith(28, 65536), "");
  EXPECT_EQ(errorWith(28, 65537), "expected at most 65536 payload bytes, but got 65537");
  EXPECT_EQ(errorWith(28, 0xFFFFFFFF), "expected at most 65536 payload bytes, but got 4294967295");
}

TEST(Wire, PayloadsAreBoundedByKind) {
  auto limit = [](MessageKind kind, uint32_t bytes) {
    auto header = parseHeader(encodeHeader({kind, 0, 2, 0, bytes}));
    return header ? "" : llvm::toString(header.takeError());
  };
  EXPECT_EQ(limit(MessageKind::Join, 0), "");
  EXPECT_NE(limit(MessageKind::Join, 1), "");
  EXPECT_EQ(limit(MessageKind::Gathered, 2 * 65540), "");
  EXPECT_NE(limit(MessageKind::Gathered, 2 * 65540 + 1), "");
  EXPECT_EQ(limit(MessageKind::Abort, 65536), "");
  EXPECT_NE(limit(MessageKind::Abort, 65537), "");
}

TEST(Wire, AHeaderIsNeverShorter) {
  auto bytes = good();
  for (size_t size = 0; size < headerBytes; ++size)
    EXPECT_EQ(llvm::toString(parseHeader(llvm::ArrayRef(bytes).take_front(size)).takeError()),
              "expected a message header of 32 bytes, but got " + std::to_string(size));
}

TEST(Wire, ContributionsComeBack) {
  std::vector<Payload> in = {{1, 2, 3}, {}, Payload(65536, 7)};
  Payload bytes = encodeGathered(in);
  EXPECT_EQ(bytes.size(), 3u * 4 + 3 + 65536);
  auto out = parseGathered(bytes, 3);
  ASSERT_TRUE(bool(out)) << llvm::toString(out.takeError());
  EXPECT_EQ(*out, in);
}

TEST(Wire, ContributionsMustFillTheirBytes) {
  auto error = [](const Payload &bytes, uint32_t ranks) {
    auto parsed = parseGathered(bytes, ranks);
    return parsed ? "" : llvm::toString(parsed.takeError());
  };
  Payload bytes = encodeGathered({Payload{1, 2}, Payload{3}});
  EXPECT_EQ(error(bytes, 2), "");
  EXPECT_EQ(error(bytes, 1), "expected the contributions of 1 ranks in 11 bytes, but they are "
                             "shorter");
  EXPECT_EQ(error(bytes, 3), "expected the contributions of 3 ranks in 11 bytes, but they are "
                             "longer");
  endian::write32le(&bytes[0], 65537);
  EXPECT_EQ(error(bytes, 2), "expected at most 65536 bytes of rank 0, but got 65537");
}

/// Any bytes: parsed or refused, and what is parsed is bounded.
TEST(Wire, RandomBytesAreHarmless) {
  std::mt19937 random(20240501);
  unsigned parsed = 0;
  for (int i = 0; i < 200'000; ++i) {
    auto bytes = good();
    for (int changes = random() % 4; changes >= 0; --changes)
      bytes[random() % headerBytes] = static_cast<uint8_t>(random());
    if (auto header = parseHeader(bytes)) {
      ++parsed;
      EXPECT_LT(header->rank, header->ranks);
      EXPECT_LE(header->bytes, 64u * 65540);
    } else
      llvm::consumeError(header.takeError());
    Payload payload(random() % 40);
    for (uint8_t &byte : payload)
      byte = static_cast<uint8_t>(random() % 8);
    if (auto all = parseGathered(payload, random() % 5))
      EXPECT_LE(all->size(), 4u);
    else
      llvm::consumeError(all.takeError());
  }
  EXPECT_GT(parsed, 1000u);
}

} // namespace

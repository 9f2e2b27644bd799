// Encoding and checking.
#include "runtime/ipc/Wire.h"
#include "runtime/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace llvm::support;

namespace mono::ipc {

static constexpr StringLiteral magic = "monoRDV1";

// ---- header ------------------------------------------------------------------------------------

std::array<uint8_t, headerBytes> encodeHeader(const Header &header) {
  std::array<uint8_t, headerBytes> bytes = {};
  std::copy(magic.begin(), magic.end(), bytes.begin());
  endian::write32le(&bytes[8], wireVersion);
  endian::write32le(&bytes[12], static_cast<uint32_t>(header.kind));
  endian::write32le(&bytes[16], header.rank);
  endian::write32le(&bytes[20], header.ranks);
  endian::write32le(&bytes[24], header.round);
  endian::write32le(&bytes[28], header.bytes);
  return bytes;
}

static uint32_t payloadLimit(const Header &header) {
  switch (header.kind) {
  case MessageKind::Join:
    return 0;
  case MessageKind::Post:
  case MessageKind::Abort:
    return maxContribution;
  case MessageKind::Gathered:
    return header.ranks * (maxContribution + 4);
  }
  return 0;
}

Expected<Header> parseHeader(ArrayRef<uint8_t> bytes) {
  if (bytes.size() != headerBytes)
    return makeError("expected a message header of {} bytes, but got {}", headerBytes,
                     bytes.size());
  if (toStringRef(bytes.take_front(magic.size())) != magic)
    return makeError("not a rendezvous message: expected it to begin with {}", magic);
  if (uint32_t version = endian::read32le(&bytes[8]); version != wireVersion)
    return makeError("expected rendezvous version {}, but got {}", wireVersion, version);
  uint32_t kind = endian::read32le(&bytes[12]);
  if (kind < 1 || kind > 4)
    return makeError("expected a message of kind 1 to 4, but got {}", kind);
  Header header{static_cast<MessageKind>(kind), endian::read32le(&bytes[16]),
                endian::read32le(&bytes[20]), endian::read32le(&bytes[24]),
                endian::read32le(&bytes[28])};
  if (header.ranks < 1 || header.ranks > maxRanks)
    return makeError("expected 1 to {} ranks, but got {}", maxRanks, header.ranks);
  if (header.rank >= header.ranks)
    return makeError("expected a rank below {}, but got {}", header.ranks, header.rank);
  if (uint32_t limit = payloadLimit(header); header.bytes > limit)
    return makeError("expected at most {} payload bytes, but got {}", limit, header.bytes);
  return header;
}

// ---- contributions -----------------------------------------------------------------------------

Payload encodeGathered(ArrayRef<Payload> contributions) {
  ByteWriter writer;
  for (const Payload &contribution : contributions) {
    writer.u32(static_cast<uint32_t>(contribution.size()));
    writer.bytes(contribution);
  }
  return writer.take();
}

Expected<std::vector<Payload>> parseGathered(ArrayRef<uint8_t> bytes, uint32_t ranks) {
  ByteReader reader(bytes);
  std::vector<Payload> contributions;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    uint32_t size = reader.u32();
    if (size > maxContribution)
      return makeError("expected at most {} bytes of rank {}, but got {}", maxContribution, rank,
                       size);
    contributions.push_back(reader.bytes(size).vec());
  }
  if (reader.failed() || !reader.atEnd())
    return makeError("expected the contributions of {} ranks in {} bytes, but they are {}", ranks,
                     bytes.size(), reader.failed() ? "longer" : "shorter");
  return contributions;
}

// ---- bytes -------------------------------------------------------------------------------------

void ByteWriter::u32(uint32_t value) {
  out.resize(out.size() + 4);
  endian::write32le(&out[out.size() - 4], value);
}

void ByteWriter::u64(uint64_t value) {
  out.resize(out.size() + 8);
  endian::write64le(&out[out.size() - 8], value);
}

void ByteWriter::text(StringRef value, size_t limit) {
  value = value.take_front(limit);
  u32(static_cast<uint32_t>(value.size()));
  bytes(arrayRefFromStringRef(value));
}

ArrayRef<uint8_t> ByteReader::bytes(size_t count) {
  if (count > rest.size()) {
    bad = true;
    rest = {};
    return {};
  }
  ArrayRef<uint8_t> taken = rest.take_front(count);
  rest = rest.drop_front(count);
  return taken;
}

uint32_t ByteReader::u32() {
  ArrayRef<uint8_t> taken = bytes(4);
  return taken.empty() ? 0 : endian::read32le(taken.data());
}

uint64_t ByteReader::u64() {
  ArrayRef<uint8_t> taken = bytes(8);
  return taken.empty() ? 0 : endian::read64le(taken.data());
}

std::string ByteReader::text(size_t limit) {
  uint32_t size = u32();
  if (size > limit) {
    bad = true;
    rest = {};
    return "";
  }
  return toStringRef(bytes(size)).str();
}

} // namespace mono::ipc

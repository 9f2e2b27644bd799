// The messages of a rendezvous as bytes (docs/rendezvous.md). Pure functions: any bytes give a
// message or an error.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mono::ipc {

inline constexpr uint32_t wireVersion = 3;
inline constexpr uint32_t maxRanks = 64;
/// Bytes one rank may contribute to a round.
inline constexpr uint32_t maxContribution = 1 << 16;
inline constexpr size_t headerBytes = 32;

enum class MessageKind : uint32_t {
  Join = 1,     ///< leaf to root: I am rank `rank`; no payload
  Post = 2,     ///< leaf to root: my contribution to round `round`
  Gathered = 3, ///< root to leaf: the contributions of all ranks
  Abort = 4,    ///< root to leaf: the group is given up; the payload is the reason
};

struct Header {
  MessageKind kind = MessageKind::Join;
  uint32_t rank = 0;  ///< of the sender
  uint32_t ranks = 0; ///< of the group
  uint32_t round = 0;
  uint32_t bytes = 0; ///< of the payload behind the header
};

using Payload = std::vector<uint8_t>;

std::array<uint8_t, headerBytes> encodeHeader(const Header &header);
/// Checks magic, version, kind, ranks, rank, and that the payload is no larger than its kind
/// allows.
llvm::Expected<Header> parseHeader(llvm::ArrayRef<uint8_t> bytes);

/// The payload of Gathered: for each rank its length and its bytes.
Payload encodeGathered(llvm::ArrayRef<Payload> contributions);
/// Exactly `ranks` contributions and nothing behind them.
llvm::Expected<std::vector<Payload>> parseGathered(llvm::ArrayRef<uint8_t> bytes, uint32_t ranks);

/// Writes little-endian numbers and counted texts.
class ByteWriter {
public:
  void u32(uint32_t value);
  void u64(uint64_t value);
  void bytes(llvm::ArrayRef<uint8_t> value) { out.insert(out.end(), value.begin(), value.end()); }
  /// Length as u32, then the bytes; cut at `limit`.
  void text(llvm::StringRef value, size_t limit);
  Payload take() { return std::move(out); }

private:
  Payload out;
};

/// Reads them back. Past the end everything is zero or empty and failed() says so.
class ByteReader {
public:
  explicit ByteReader(llvm::ArrayRef<uint8_t> bytes) : rest(bytes) {}
  uint32_t u32();
  uint64_t u64();
  llvm::ArrayRef<uint8_t> bytes(size_t count);
  /// A counted text of at most `limit` bytes.
  std::string text(size_t limit);
  bool failed() const { return bad; }
  bool atEnd() const { return rest.empty(); }

private:
  llvm::ArrayRef<uint8_t> rest;
  bool bad = false;
};

} // namespace mono::ipc

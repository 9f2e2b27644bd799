// Messages of a rendezvous peer: whatever the bytes, they are a message or an error, and what is
// accepted is what its encoder would write.
#include "runtime/ipc/GroupCard.h"
#include "runtime/ipc/Wire.h"

#include <cstdlib>

using namespace mono::ipc;

/// Ends the run: an accepted input broke a promise.
static void require(bool promise) {
  if (!promise)
    std::abort();
}

static void header(llvm::ArrayRef<uint8_t> bytes) {
  auto parsed = parseHeader(bytes.take_front(headerBytes));
  if (!parsed)
    return llvm::consumeError(parsed.takeError());
  auto again = encodeHeader(*parsed);
  require(bytes.take_front(headerBytes) == llvm::ArrayRef(again));
}

static void contributions(llvm::ArrayRef<uint8_t> bytes, uint32_t ranks) {
  auto parsed = parseGathered(bytes, ranks);
  if (!parsed)
    return llvm::consumeError(parsed.takeError());
  require(parsed->size() == ranks && bytes == llvm::ArrayRef(encodeGathered(*parsed)));
}

static void card(llvm::ArrayRef<uint8_t> bytes) {
  auto parsed = parseCard(bytes);
  if (!parsed)
    return llvm::consumeError(parsed.takeError());
  require(bytes == llvm::ArrayRef(encodeCard(*parsed)));
  llvm::consumeError(checkCards({GroupCard(), *parsed}));
}

/// The first byte chooses the parser.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  llvm::ArrayRef<uint8_t> bytes(data + 1, size - 1);
  if (data[0] == 0)
    header(bytes);
  else if (data[0] <= maxRanks)
    contributions(bytes, data[0]);
  else
    card(bytes);
  return 0;
}

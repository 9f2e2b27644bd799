// Manifests: whatever the text or the code object around it, they are an error or a manifest whose
// mailboxes lie inside their memory.
#include "runtime/Manifest.h"

#include <cstdlib>

using namespace mono;

static void check(llvm::Expected<Manifest> manifest) {
  if (!manifest)
    return llvm::consumeError(manifest.takeError());
  for (const Mailbox &mailbox : manifest->mailboxes) {
    const bool isDevice = mailbox.scope == MailboxScope::Device;
    const uint64_t memory = isDevice ? manifest->deviceMailboxBytes : manifest->peerMailboxBytes;
    if (mailbox.offset > memory || mailbox.bytes > memory - mailbox.offset)
      std::abort();
  }
  for (const Operand &operand : manifest->operands)
    if (manifest->operand(operand.name) != &operand)
      std::abort();
}

/// A text begins with a brace, a code object does not.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::ArrayRef<uint8_t> bytes(data, size);
  if (size && data[0] == '{')
    check(parseManifest({reinterpret_cast<const char *>(data), size}));
  else
    check(readManifest(bytes));
  return 0;
}

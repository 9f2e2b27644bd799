// Files of the compile cache: whatever the bytes, they are nothing, or exactly what was written for
// the key; and one changed byte of a good file makes it nothing.
#include "mono/Cache.h"

#include <cstdlib>

using namespace mono::facade;

/// Ends the run: an input broke a promise.
static void require(bool promise) {
  if (!promise)
    std::abort();
}

static void anyFile(const CacheKey &key, llvm::ArrayRef<uint8_t> file) {
  auto payload = decodeEntry(key, file);
  if (payload)
    require(file == llvm::ArrayRef(encodeEntry(key, *payload)));
}

/// The first two bytes choose the byte to change, the third what to do to it.
static void damagedFile(const CacheKey &key, llvm::ArrayRef<uint8_t> bytes) {
  if (bytes.size() < 3)
    return;
  std::vector<uint8_t> file = encodeEntry(key, bytes.drop_front(3));
  auto whole = decodeEntry(key, file);
  require(whole && *whole == bytes.drop_front(3));
  size_t position = (bytes[0] * 256u + bytes[1]) % file.size();
  file[position] ^= bytes[2];
  require(decodeEntry(key, file).has_value() == (bytes[2] == 0));
}

/// One byte that chooses the test, 32 bytes of key, the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CacheKey key;
  if (size < 1 + key.size())
    return 0;
  std::copy_n(data + 1, key.size(), key.begin());
  llvm::ArrayRef<uint8_t> rest(data + 1 + key.size(), size - 1 - key.size());
  data[0] % 2 ? anyFile(key, rest) : damagedFile(key, rest);
  return 0;
}

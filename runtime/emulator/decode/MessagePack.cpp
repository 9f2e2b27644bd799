// MessagePack documents from files that may be damaged.
#include "runtime/emulator/decode/MessagePack.h"

#include "llvm/BinaryFormat/MsgPackReader.h"

#include <vector>

namespace mono::emu {

using llvm::msgpack::Type;

static bool isScalar(Type kind) {
  return kind != Type::Map && kind != Type::Array && kind != Type::Extension && kind != Type::Empty;
}

/// Whether every key of every map of the first document is a scalar.
static bool hasScalarKeys(llvm::StringRef blob) {
  struct Level {
    bool isMap;
    uint64_t left; ///< objects to come; an even number in a map: the next one is a key
  };
  std::vector<Level> levels;
  llvm::msgpack::Reader reader(blob);
  llvm::msgpack::Object object;
  do {
    llvm::Expected<bool> read = reader.read(object);
    if (!read) {
      llvm::consumeError(read.takeError());
      return false;
    }
    if (!*read)
      return false; // the bytes end early
    if (!levels.empty()) {
      if (levels.back().isMap && levels.back().left % 2 == 0 && !isScalar(object.Kind))
        return false;
      --levels.back().left;
    }
    if (object.Kind == Type::Map || object.Kind == Type::Array) {
      const bool isMap = object.Kind == Type::Map;
      levels.push_back({isMap, uint64_t(object.Length) * (isMap ? 2 : 1)});
    }
    while (!levels.empty() && levels.back().left == 0)
      levels.pop_back();
  } while (!levels.empty());
  return true;
}

bool readMessagePack(llvm::StringRef blob, llvm::msgpack::Document &document) {
  return hasScalarKeys(blob) && document.readFromBlob(blob, /*Multi=*/false);
}

} // namespace mono::emu

// MessagePack documents from files that may be damaged.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"

namespace mono::emu {

/// Reads one document; false if the bytes are none, or if a map in it has a key that is no scalar:
/// LLVM 22 crashes when it compares such keys.
bool readMessagePack(llvm::StringRef blob, llvm::msgpack::Document &document);

} // namespace mono::emu

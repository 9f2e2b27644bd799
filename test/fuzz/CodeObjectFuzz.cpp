// The emulator's code object loader and decoder: whatever the bytes, they are an error or a code
// object whose every range lies inside its image.
#include "runtime/emulator/decode/CodeObject.h"
#include "runtime/emulator/decode/Decoder.h"

#include <cstdlib>

using namespace mono::emu;

/// Ends the run: an accepted input broke a promise.
static void require(bool promise) {
  if (!promise)
    std::abort();
}

static void checkRanges(const CodeObject &object) {
  const uint64_t filled = object.image.size(), all = object.imageBytes;
  require(filled <= all && !object.kernels.empty());
  for (const CodeRange &range : object.code)
    require(range.begin % 4 == 0 && range.end <= filled);
  for (const RelativeRelocation &relocation : object.relocations)
    require(all >= 8 && relocation.offset <= all - 8);
  for (const auto &[name, global] : object.globals)
    require(global.offset <= all && global.size <= all - global.offset);
  for (const auto &[name, kernel] : object.kernels)
    require(kernel.setup.entryOffset < filled && kernel.setup.vgprs <= 512);
}

/// Decodes the beginning of the code, and prints some of it as reports do. One decoder serves all
/// inputs: setting one up takes far longer than all else.
static void decodeSome(const CodeObject &object) {
  static Decoder &decoder = *llvm::cantFail(Decoder::create()).release();
  const llvm::ArrayRef<uint8_t> image(object.image);
  std::string name;
  unsigned left = 64;
  for (const CodeRange &range : object.code)
    for (uint64_t at = range.begin; at + 4 <= range.end && left; --left) {
      Instruction inst;
      const llvm::ArrayRef<uint8_t> bytes = image.slice(at, range.end - at);
      if (!decoder.decode(bytes, inst, name))
        inst = Instruction();
      require(inst.size >= 4 && inst.size <= bytes.size());
      if (left % 16 == 0)
        decoder.print(bytes.take_front(16));
      at += inst.size;
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto object = parseCodeObject({data, size});
  if (!object) {
    llvm::consumeError(object.takeError());
    return 0;
  }
  checkRanges(*object);
  decodeSome(*object);
  return 0;
}

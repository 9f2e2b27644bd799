// The emulator's code object loader and decoder: whatever the bytes, they are an error or a code
// object whose every range lies inside its image.
#include "runtime/emulator/decode/CodeObject.h"
#include "runtime/emulator/exec/Handlers.h"

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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto object = parseCodeObject({data, size});
  if (!object) {
    llvm::consumeError(object.takeError());
    return 0;
  }
  checkRanges(*object);
  auto program = decodeProgram(object->image, object->code, object->functions, defaultHandlers());
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  // What a report would print.
  for (const Instruction &inst : (*program)->instructions())
    if (inst.size && inst.pc % 64 == 0)
      (*program)->text(inst);
  return 0;
}

// The table from base opcode names to handlers.
#include "runtime/emulator/exec/Handlers.h"

namespace mono::emu {

void HandlerTable::add(llvm::StringRef name, Handler handler) {
  if (!map.try_emplace(name, handler).second)
    ++duplicateCount;
}

Handler HandlerTable::find(llvm::StringRef name) const { return map.lookup(name); }

const HandlerTable &defaultHandlers() {
  static const HandlerTable table = [] {
    HandlerTable t;
    registerSop(t);
    registerSopProgramFlow(t);
    registerSmem(t);
    registerVmem(t);
    registerVmemAtomic(t);
    registerVmemFormat(t);
    registerDs(t);
    registerDsCrossLane(t);
    registerValu(t);
    registerMfma(t);
    return t;
  }();
  return table;
}

} // namespace mono::emu

// Vector memory loads and stores: GLOBAL, FLAT, SCRATCH and MUBUF, registers or LDS as destination
// (CDNA4 ISA 9 and 10), and cache maintenance.
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/VectorAddress.h"

namespace mono::emu {
namespace {

template <unsigned Bytes, Element element = Element::Dwords>
void load(Wave &w, const Instruction &i) {
  loadLanes<Bytes, element>(w, i, laneAddresses(w, i, Bytes), returnPath(i));
}

template <unsigned Bytes, bool hi = false> void store(Wave &w, const Instruction &i) {
  storeLanes<Bytes, hi>(w, i, laneAddresses(w, i, Bytes), returnPath(i));
}

template <unsigned Bytes, Element element = Element::Dwords>
void loadToLds(Wave &w, const Instruction &i) {
  loadLanesToLds<Bytes, element>(w, i, laneAddresses(w, i, Bytes), uint32_t(i.offset));
}

struct NamedHandler {
  const char *suffix;
  Handler handler;
};

const NamedHandler loads[] = {
    {"_LOAD_UBYTE", load<1, Element::Zero>},
    {"_LOAD_SBYTE", load<1, Element::Sign>},
    {"_LOAD_USHORT", load<2, Element::Zero>},
    {"_LOAD_SSHORT", load<2, Element::Sign>},
    {"_LOAD_DWORD", load<4>},
    {"_LOAD_DWORDX2", load<8>},
    {"_LOAD_DWORDX3", load<12>},
    {"_LOAD_DWORDX4", load<16>},
    {"_LOAD_UBYTE_D16", load<1, Element::ZeroLo16>},
    {"_LOAD_UBYTE_D16_HI", load<1, Element::ZeroHi16>},
    {"_LOAD_SBYTE_D16", load<1, Element::SignLo16>},
    {"_LOAD_SBYTE_D16_HI", load<1, Element::SignHi16>},
    {"_LOAD_SHORT_D16", load<2, Element::ZeroLo16>},
    {"_LOAD_SHORT_D16_HI", load<2, Element::ZeroHi16>},
};

const NamedHandler stores[] = {
    {"_STORE_BYTE", store<1>},     {"_STORE_BYTE_D16_HI", store<1, true>},
    {"_STORE_SHORT", store<2>},    {"_STORE_SHORT_D16_HI", store<2, true>},
    {"_STORE_DWORD", store<4>},    {"_STORE_DWORDX2", store<8>},
    {"_STORE_DWORDX3", store<12>}, {"_STORE_DWORDX4", store<16>},
};

const NamedHandler ldsLoads[] = {
    {"UBYTE", loadToLds<1, Element::Zero>},
    {"SBYTE", loadToLds<1, Element::Sign>},
    {"USHORT", loadToLds<2, Element::Zero>},
    {"SSHORT", loadToLds<2, Element::Sign>},
    {"DWORD", loadToLds<4>},
    {"DWORDX3", loadToLds<12>},
    {"DWORDX4", loadToLds<16>},
};

/// buffer_wbl2 and buffer_inv count like a store. Without SC1 they do nothing (CDNA4 ISA 9.1.10).
void writeBack(Wave &w, const Instruction &i) {
  const LaunchContext &launch = w.workgroup->launch();
  if (i.sc1 && launch.coherence)
    launch.coherence->writeBack(w);
  if (i.sc1 && launch.race)
    launch.race->order().writeBack(w);
  w.waitcnt.issue(ReturnPath::Vmem, i, false, 0, 0);
}
void invalidate(Wave &w, const Instruction &i) {
  const LaunchContext &launch = w.workgroup->launch();
  if (i.sc1 && launch.coherence)
    launch.coherence->invalidate(w);
  if (i.sc1 && launch.race)
    launch.race->order().invalidate(w);
  w.waitcnt.issue(ReturnPath::Vmem, i, false, 0, 0);
}

} // namespace

void registerVmem(HandlerTable &t) {
  for (std::string prefix : {"GLOBAL", "FLAT", "SCRATCH", "BUFFER"}) {
    for (const NamedHandler &entry : loads)
      t.add(prefix + entry.suffix, entry.handler);
    for (const NamedHandler &entry : stores)
      t.add(prefix + entry.suffix, entry.handler);
  }
  for (const NamedHandler &entry : ldsLoads) {
    t.add(std::string("GLOBAL_LOAD_LDS_") + entry.suffix, entry.handler);
    if (!llvm::StringRef(entry.suffix).starts_with("DWORDX")) // the wide forms need GLOBAL or MUBUF
      t.add(std::string("SCRATCH_LOAD_LDS_") + entry.suffix, entry.handler);
    t.add(std::string("BUFFER_LOAD_") + entry.suffix + "_LDS", entry.handler);
  }
  t.add("BUFFER_WBL2", writeBack);
  t.add("BUFFER_INV", invalidate);
}

} // namespace mono::emu

// Finds LDS races.
#include "runtime/emulator/exec/RaceLds.h"

#include "runtime/emulator/exec/Program.h"
#include "runtime/emulator/exec/Wave.h"

#include <algorithm>
#include <fmt/format.h>

namespace mono::emu {

RaceLds::RaceLds(uint32_t bytes, unsigned waves) : dwords(bytes / 4 + 1), waves(waves) {}

void RaceLds::reset() {
  for (const WaveState &state : waves)
    base = std::max({base, state.newest[0], state.newest[1]});
  if (base > UINT32_MAX / 2 || !bytes.empty()) {
    std::fill(dwords.begin(), dwords.end(), Entry());
    bytes.clear();
    base = 0;
  }
  for (WaveState &state : waves)
    for (bool isDma : {false, true}) {
      state.retired[isDma] = state.newest[isDma] = base;
      state.log[isDma].clear();
    }
  ++epoch;
}

void RaceLds::barrier(const std::vector<Wave> &list) {
  ++epoch;
  for (const Wave &wave : list) {
    const Waitcnt &counters = wave.waitcnt;
    bool ended = wave.status == WaveStatus::Ended;
    WaveState &state = waves[wave.indexInWorkgroup];
    state.retired[0] = base + uint32_t(ended ? counters.dsIssued() : counters.dsRetired());
    state.retired[1] = base + uint32_t(ended ? counters.ldsDmaIssued() : counters.ldsDmaRetired());
  }
}

// ---- one entry ---------------------------------------------------------------------------------

/// Nothing the entry holds can race with anything any more.
bool RaceLds::isOrdered(const Entry &e) const {
  if (e.hasWrite && e.writeNumber > waves[e.writer].retired[e.isDma])
    return false;
  return e.readers == 0 || (e.epoch != epoch && e.readNumber <= waves[e.lastReader].retired[0]);
}

/// A load to LDS and what its own wave has not waited for.
bool RaceLds::findOwnConflict(const Entry &e, const Access &a, Conflict &conflict) {
  bool writes = e.hasWrite && !e.isDma && e.writer == a.wave && e.writeNumber > a.dsRetired;
  bool reads = (e.readers >> a.wave & 1) && e.lastReader == a.wave && e.readNumber > a.dsRetired;
  conflict = {a.wave, writes, false, writes ? e.writeNumber : e.readNumber};
  return writes || reads;
}

bool RaceLds::findConflict(const Entry &e, const Access &a, Conflict &conflict) const {
  if (a.kind == LdsAccessKind::Dma && findOwnConflict(e, a, conflict))
    return true;
  bool bothAtomic = a.kind == LdsAccessKind::Atomic && e.isAtomic;
  if (e.hasWrite && e.writer != a.wave && !bothAtomic &&
      e.writeNumber > waves[e.writer].retired[e.isDma]) {
    conflict = {e.writer, true, e.isDma, e.writeNumber};
    return true;
  }
  // Atomics of other waves stand among the readers too; a plain read minds only those.
  if (bothAtomic || (a.kind == LdsAccessKind::Read && !e.isAtomic))
    return false;
  uint16_t others = e.readers & ~(1u << a.wave);
  if (e.epoch != epoch) // of an earlier interval only the last read may still be under way
    others &= e.readNumber > waves[e.lastReader].retired[0] ? 1u << e.lastReader : 0;
  if (others == 0)
    return false;
  bool last = others >> e.lastReader & 1;
  uint8_t wave = last ? e.lastReader : uint8_t(std::countr_zero(others));
  conflict = {wave, e.isAtomic, false, last ? e.readNumber : 0};
  return true;
}

bool RaceLds::step(Entry &e, const Access &a, Conflict &conflict) const {
  if (isOrdered(e))
    e = Entry();
  else if (findConflict(e, a, conflict))
    return false;
  e.mask = a.mask;
  bool isAtomic = a.kind == LdsAccessKind::Atomic;
  if (a.kind == LdsAccessKind::Read || isAtomic) {
    e.readers = uint16_t((e.epoch == epoch ? e.readers : 0) | 1u << a.wave);
    e.epoch = epoch;
    e.lastReader = a.wave;
    e.readNumber = a.number;
  }
  if (a.kind == LdsAccessKind::Read)
    return true;
  e.hasWrite = true;
  e.writer = a.wave;
  e.writeNumber = a.number;
  e.isDma = a.kind == LdsAccessKind::Dma;
  e.isAtomic = isAtomic;
  return true;
}

/// Accesses to different bytes of a dword need an entry a byte.
void RaceLds::split(Entry &e) {
  Entry empty;
  std::array<Entry, 4> parts;
  for (unsigned b = 0; b < 4; ++b)
    parts[b] = e.mask >> b & 1 ? e : empty;
  e = empty;
  e.isSplit = true;
  e.writeNumber = uint32_t(bytes.size());
  bytes.push_back(parts);
}

bool RaceLds::stepSplit(Entry &e, const Access &a, Conflict &conflict) {
  for (unsigned b = 0; b < 4; ++b)
    if ((a.mask >> b & 1) && !step(bytes[e.writeNumber][b], a, conflict))
      return false;
  return true;
}

// ---- accesses and reports ----------------------------------------------------------------------

void RaceLds::remember(const Access &a, const Instruction &inst) {
  WaveState &state = waves[a.wave];
  bool isDma = a.kind == LdsAccessKind::Dma;
  if (state.newest[isDma] == a.number)
    return;
  state.newest[isDma] = a.number;
  Log &log = state.log[isDma];
  const uint32_t place = (a.number - base) % logSize;
  if (log.size() <= place)
    log.resize(std::min<size_t>(std::max<size_t>(2 * log.size(), place + 1), logSize));
  log[place] = &inst;
}

RaceLds::Access RaceLds::begin(const Wave &wave, const Instruction &inst, LdsAccessKind kind) {
  const Waitcnt &counters = wave.waitcnt;
  const bool isDma = kind == LdsAccessKind::Dma;
  const uint64_t before = isDma ? counters.ldsDmaIssued() : counters.dsIssued();
  const Access access{kind, uint8_t(wave.indexInWorkgroup), 0xF, base + 1 + uint32_t(before),
                      isDma ? base + uint32_t(counters.dsRetired()) : 0};
  remember(access, inst);
  return access;
}

bool RaceLds::noteSlowly(Wave &wave, const Access &whole, unsigned lane, uint32_t address,
                         uint32_t count) {
  Access access = whole;
  for (uint32_t at = address, end = address + count; at < end;) {
    uint32_t dword = at / 4, next = std::min(end, dword * 4 + 4);
    access.mask = uint8_t(((1u << (next - at)) - 1) << at % 4);
    Entry &entry = dwords[dword];
    if (!entry.isSplit && entry.mask != access.mask && entry.mask != 0 && !isOrdered(entry))
      split(entry);
    Conflict conflict;
    if (!(entry.isSplit ? stepSplit(entry, access, conflict) : step(entry, access, conflict))) {
      wave.fault(report(wave, lane, at, next - at, access.kind, conflict));
      return false;
    }
    at = next;
  }
  return true;
}

static const char *kindName(LdsAccessKind kind) {
  switch (kind) {
  case LdsAccessKind::Read:
    return "read";
  case LdsAccessKind::Write:
    return "write";
  case LdsAccessKind::Atomic:
    return "atomic";
  case LdsAccessKind::Dma:
    return "load to LDS";
  }
  return "access";
}

std::string RaceLds::report(const Wave &wave, unsigned lane, uint32_t address, uint32_t count,
                            LdsAccessKind kind, const Conflict &conflict) const {
  const WaveState &other = waves[conflict.wave];
  std::string where = "at an unknown pc";
  if (conflict.number && other.newest[conflict.isDma] - conflict.number < logSize) {
    const Instruction &inst = *other.log[conflict.isDma][(conflict.number - base) % logSize];
    where = fmt::format("at pc 0x{:x}: {}", inst.pc, wave.program->text(inst));
  }
  const char *wait = conflict.isDma ? "vmcnt" : "lgkmcnt";
  std::string way = conflict.wave == wave.indexInWorkgroup
                        ? fmt::format("{} between the two", wait)
                        : fmt::format("{} there and then an s_barrier between the two", wait);
  return fmt::format("LDS race in lane {} at LDS byte {} ({} bytes): this {} and the {} by wave {} "
                     "{}; expected an s_waitcnt {}",
                     lane, address, count, kindName(kind), conflict.isWrite ? "write" : "read",
                     conflict.wave, where, way);
}

} // namespace mono::emu

// DS instructions that move data between lanes: swizzle, permute, and the LDS transpose reads
// (CDNA4 ISA 11.4, 12.13).
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/LdsAccess.h"

#include <fmt/format.h>

namespace mono::emu {
namespace {

using LaneArray = std::array<uint32_t, Wave::lanes>;

LaneArray copyLanes(Wave &w, const Operand &operand) {
  LaneArray values;
  std::memcpy(values.data(), w.vgpr(operand), sizeof(values));
  return values;
}

// ---- swizzle and permute -----------------------------------------------------------------------

uint32_t reverse5(uint32_t value) {
  uint32_t result = 0;
  for (unsigned bit = 0; bit < 5; ++bit)
    result |= (value >> bit & 1) << (4 - bit);
  return result;
}

/// The lane whose value lane `lane` receives; the half of the wave never changes.
unsigned swizzleSource(unsigned lane, uint32_t offset) {
  uint32_t half = lane & 32, mask = offset & 31;
  if (offset >= 0xE000) // FFT decomposition
    return half | (lane & mask) | (reverse5(lane & 31) >> std::popcount(mask));
  if (offset >= 0xC000) { // rotate
    uint32_t by = offset >> 5 & 31;
    if (offset >> 10 & 1)
      by = 0 - by;
    return half | (lane & mask) | ((lane + by) & ~mask & 31);
  }
  if (offset & 0x8000) // quad permute
    return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
  return half | ((((lane & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) & 31);
}

void swizzle(Wave &w, const Instruction &i) {
  LaneArray data = copyLanes(w, i.src[0]);
  uint32_t *to = w.vgpr(i.dst[0]);
  uint64_t exec = w.exec();
  forEachLane(exec, [&](unsigned lane) {
    unsigned from = swizzleSource(lane, uint32_t(i.offset));
    to[lane] = exec >> from & 1 ? data[from] : 0;
  });
  issueDs(w, i, 1);
}

unsigned laneOfAddress(uint32_t address, const Instruction &i) {
  return (address + uint32_t(i.offset)) / 4 % Wave::lanes;
}

/// Pull: inactive source lanes give 0.
void backwardPermute(Wave &w, const Instruction &i) {
  LaneArray address = copyLanes(w, i.src[0]), data = copyLanes(w, i.src[1]);
  uint32_t *to = w.vgpr(i.dst[0]);
  uint64_t exec = w.exec();
  forEachLane(exec, [&](unsigned lane) {
    unsigned from = laneOfAddress(address[lane], i);
    to[lane] = exec >> from & 1 ? data[from] : 0;
  });
  issueDs(w, i, 1);
}

/// Push: of several lanes with one target the highest wins; lanes nobody targets get 0.
void forwardPermute(Wave &w, const Instruction &i) {
  LaneArray address = copyLanes(w, i.src[0]), data = copyLanes(w, i.src[1]), result{};
  forEachLane(w.exec(),
              [&](unsigned lane) { result[laneOfAddress(address[lane], i)] = data[lane]; });
  uint32_t *to = w.vgpr(i.dst[0]);
  forEachLane(w.exec(), [&](unsigned lane) { to[lane] = result[lane]; });
  issueDs(w, i, 1);
}

// ---- transpose reads ---------------------------------------------------------------------------

/// Every lane fetches `dwords` dwords at its own address; false after a fault. Needs EXEC all ones;
/// without the check exec, the lanes switched off have zeros.
template <unsigned dwords>
bool fetchRows(Wave &w, const Instruction &i, std::array<std::array<uint32_t, dwords>, 64> &rows) {
  const bool mustBeFull = w.workgroup->launch().checks.has(Check::Exec);
  if (mustBeFull && w.exec() != Wave::allLanes) {
    w.fault(
        fmt::format("transpose read with exec = 0x{:016x}: expected all lanes active", w.exec()));
    return false;
  }
  const uint32_t *base = w.vgpr(i.src[0]);
  LdsAccess lds(w, i);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = dsAddress(base[lane], uint32_t(i.offset));
    // b96 rows are 12 bytes apart, so that only dword alignment can be asked of them.
    unsigned alignment = dwords == 2 ? 8 : 4;
    if (address % alignment != 0) {
      w.fault(fmt::format("transpose read in lane {} at LDS byte {}: expected {}-byte alignment",
                          lane, address, alignment));
      return false;
    }
    const uint8_t *from = lds.forRead(lane, address, dwords * 4);
    if (!from)
      return false;
    std::memcpy(rows[lane].data(), from, dwords * 4);
  }
  return true;
}

/// Item `index` of `bits` bits in a little-endian bit string.
template <unsigned bits, unsigned dwords>
uint32_t item(const std::array<uint32_t, dwords> &row, unsigned index) {
  unsigned first = index * bits, word = first / 32, shift = first % 32;
  uint64_t window = row[word] | (word + 1 < dwords ? uint64_t(row[word + 1]) << 32 : 0);
  return uint32_t(window >> shift) & ((1u << bits) - 1);
}

/// In each group of 16 lanes, lane l collects column l: item n comes from sourceLane(l, n), its
/// item sourceItem(l).
template <unsigned bits, unsigned dwords, auto sourceLane, auto sourceItem>
void transposeRead(Wave &w, const Instruction &i) {
  std::array<std::array<uint32_t, dwords>, 64> rows{};
  if (!fetchRows<dwords>(w, i, rows))
    return;
  uint32_t *to = w.vgpr(i.dst[0]);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    unsigned group = lane & ~15u;
    std::array<uint32_t, dwords> result{};
    for (unsigned n = 0; n < dwords * 32 / bits; ++n) {
      uint64_t value = item<bits, dwords>(rows[group + sourceLane(lane, n)], sourceItem(lane));
      unsigned first = n * bits, word = first / 32, shift = first % 32;
      result[word] |= uint32_t(value << shift);
      if (shift + bits > 32)
        result[word + 1] |= uint32_t(value >> (32 - shift));
    }
    for (unsigned d = 0; d < dwords; ++d)
      to[d * Wave::lanes + lane] = result[d];
  }
  issueDs(w, i, dwords);
}

} // namespace

void registerDsCrossLane(HandlerTable &t) {
  t.add("DS_SWIZZLE_B32", swizzle);
  t.add("DS_PERMUTE_B32", forwardPermute);
  t.add("DS_BPERMUTE_B32", backwardPermute);
  // 4 rows of 16 halves: four lanes hold one row, each a quarter of it. 8 rows of 16 bytes: two
  // lanes a row. 16 rows of 16 nibbles or 6-bit items: one lane a row.
  t.add("DS_READ_B64_TR_B16",
        transposeRead<16, 2, [](unsigned l, unsigned n) { return 4 * n + (l >> 2 & 3); },
                      [](unsigned l) { return l & 3; }>);
  t.add("DS_READ_B64_TR_B8",
        transposeRead<8, 2, [](unsigned l, unsigned n) { return 2 * n + (l >> 3 & 1); },
                      [](unsigned l) { return l & 7; }>);
  t.add("DS_READ_B64_TR_B4", transposeRead<4, 2, [](unsigned, unsigned n) { return n; },
                                           [](unsigned l) { return l & 15; }>);
  t.add("DS_READ_B96_TR_B6", transposeRead<6, 3, [](unsigned, unsigned n) { return n; },
                                           [](unsigned l) { return l & 15; }>);
}

} // namespace mono::emu

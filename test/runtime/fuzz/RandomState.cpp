// Random initial registers and memory: every kind of float, integer edges, and address registers.
#include "test/runtime/fuzz/FuzzProgram.h"

#include <bit>
#include <cstring>

namespace mono::fuzz {

namespace {

uint32_t specialFloat(Random &r) {
  return r.pick<uint32_t>({0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                           0x7fc00000, 0x7f800001, 0xffc12345, 0x00000001, 0x807fffff, 0x00800000,
                           0x7f7fffff, 0xff7fffff, 0x3f000000, 0x40200000, 0x4b000001, 0x4f000000,
                           0xcf000000, 0x4f800000, 0x477fe000, 0x477ff000, 0x33800000, 0x38800000});
}
uint32_t nearFloat(Random &r) {
  return (uint32_t(r.next()) & 0x807fffff) | uint32_t(120 + r.below(16)) << 23;
}
/// Few mantissa bits, so that sums and products hit ties and exact cancellation.
uint32_t shortFloat(Random &r) {
  return (uint32_t(r.next()) & 0x80600000) | uint32_t(122 + r.below(10)) << 23;
}
uint16_t half(Random &r) {
  if (r.oneIn(4))
    return r.pick<uint16_t>({0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 1, 0x83ff, 0x0400, 0x3c00,
                             0xbc00, 0x7bff, 0xfbff, 0x3800, 0x4200});
  return uint16_t(r.oneIn(2) ? r.next() : (r.next() & 0x83ff) | (11 + r.below(9)) << 10);
}
uint32_t integerEdge(Random &r) {
  return r.pick<uint32_t>({0,          1,          2,       0xffffffff, 0xfffffffe, 0x7fffffff,
                           0x80000000, 0x80000001, 0x7f,    0x80,       0xff,       0x7fff,
                           0x8000,     0xffff,     0x10000, 0x7fffff,   0x800000,   0xffffff,
                           31,         32,         63,      64});
}
uint32_t doubleHigh(Random &r) {
  if (r.oneIn(4))
    return r.pick<uint32_t>({0, 0x80000000, 0x7ff00000, 0xfff00000, 0x7ff80000, 0x7ff00001,
                             0x3ff00000, 0xbff00000, 0x00100000, 0x7fefffff, 0x41dfffff, 0x41efffff,
                             0x000fffff, 0x43400000});
  return (uint32_t(r.next()) & 0x800fffff) | uint32_t(1013 + r.below(24)) << 20;
}

enum Style { Bits, Near, Special, Short, Halves, Edges, Small, Double, Mixed, StyleCount };

uint32_t dwordOf(Random &r, unsigned style) {
  switch (style) {
  case Near:
    return nearFloat(r);
  case Special:
    return specialFloat(r);
  case Short:
    return shortFloat(r);
  case Halves:
    return half(r) | uint32_t(half(r)) << 16;
  case Edges:
    return integerEdge(r);
  case Small:
    return uint32_t(r.between(-70, 70));
  case Double:
    return doubleHigh(r);
  case Mixed:
    return dwordOf(r, r.below(Mixed));
  default:
    return uint32_t(r.next());
  }
}

void fillRow(Random &r, State::Register &row) {
  const unsigned style = r.below(StyleCount);
  for (uint32_t &value : row)
    value = dwordOf(r, style);
}

void fillBytes(Random &r, std::vector<uint8_t> &bytes) {
  unsigned style = Bits;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    if (at % 256 == 0)
      style = r.below(StyleCount);
    const uint32_t value = dwordOf(r, style);
    std::memcpy(&bytes[at], &value, 4);
  }
}

/// A permutation of the lanes.
std::array<unsigned, kLanes> shuffledLanes(Random &r) {
  std::array<unsigned, kLanes> order;
  for (unsigned n = 0; n < kLanes; ++n)
    order[n] = n;
  for (unsigned n = kLanes - 1; n; --n)
    std::swap(order[n], order[r.below(n + 1)]);
  return order;
}

/// v48: distinct multiples of 16 below 1024. v49: multiples of 8 below 1024 that collide.
/// v[50:51]: device addresses, distinct, 16 apart. v52: any byte offset below 1008. v53: offsets of
/// which some are outside LDS and buffers. v54: lane numbers times 4. v55: record numbers. v56:
/// offsets of at most 100 into private memory.
void setAddressVgprs(Random &r, State &s) {
  const std::array<unsigned, kLanes> order = shuffledLanes(r);
  const uint64_t middle = s.memoryBase + kMemoryBytes / 2;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint64_t address = middle + 16 * order[lane];
    s.vgprs[48][lane] = 16 * order[lane];
    s.vgprs[49][lane] = 8 * r.below(r.oneIn(2) ? 4 : 128);
    s.vgprs[50][lane] = uint32_t(address);
    s.vgprs[51][lane] = uint32_t(address >> 32);
    s.vgprs[52][lane] = r.below(1008);
    s.vgprs[53][lane] = r.oneIn(8) ? uint32_t(r.next()) & ~15u : 16 * r.below(320);
    s.vgprs[54][lane] = 4 * r.below(r.oneIn(8) ? 1000 : 64);
    s.vgprs[55][lane] = r.below(100);
    s.vgprs[56][lane] = 4 * r.below(r.oneIn(2) ? 8 : 26);
  }
}

/// s[32:35]: a buffer of 2048 bytes. s[36:37]: the middle of memory. s[38:39]: its start.
/// s[40:43]: a buffer of 100 records of 16 bytes. s44: a small offset.
void setAddressSgprs(Random &r, State &s) {
  const uint64_t middle = s.memoryBase + kMemoryBytes / 2;
  s.setSgpr64(32, middle);
  s.sgprs[34] = 2048;
  s.sgprs[35] = 0x00027000;
  s.setSgpr64(36, middle);
  s.setSgpr64(38, s.memoryBase);
  s.setSgpr64(40, s.memoryBase | uint64_t(16) << 48);
  s.sgprs[42] = 100;
  s.sgprs[43] = 0x00027000;
  s.sgprs[44] = 16 * r.below(32);
  s.sgprs[45] = 4 * r.below(64);
}

/// LLVM's mode for half of the programs, anything for the rest. Exceptions stay masked.
uint32_t randomMode(Random &r) {
  constexpr uint32_t kUsual = 0x3f0;
  return r.oneIn(2) ? kUsual : (uint32_t(r.next()) & 0x8003ff);
}

uint64_t randomExec(Random &r) {
  switch (r.below(4)) {
  case 0:
    return r.next();
  case 1:
    return r.pick<uint64_t>({0xffff, 0xffffffff00000000, 1, uint64_t(1) << 63, 0x5555555555555555});
  default:
    return ~uint64_t(0);
  }
}

} // namespace

State randomState(Random &r, uint64_t memoryBase) {
  State s;
  s.memoryBase = memoryBase;
  for (State::Register &row : s.vgprs)
    fillRow(r, row);
  for (State::Register &row : s.agprs)
    fillRow(r, row);
  for (uint32_t &value : s.sgprs)
    value = dwordOf(r, r.below(StyleCount));
  s.sgprs[kM0] = 0;
  s.setSgpr64(kExec, randomExec(r));
  s.scc = r.oneIn(2);
  s.mode = randomMode(r);
  s.lds.resize(kLdsBytes);
  s.memory.resize(kMemoryBytes);
  s.scratch.resize(kLanes * kScratchBytes);
  fillBytes(r, s.lds);
  fillBytes(r, s.memory);
  fillBytes(r, s.scratch);
  setAddressVgprs(r, s);
  setAddressSgprs(r, s);
  return s;
}

} // namespace mono::fuzz

// What the race detector remembers of device memory: for each byte the last accesses and the last
// release.
#pragma once

#include "runtime/emulator/RaceOrder.h"

#include <cstdlib>

namespace mono::emu {

/// An access packed into 64 bits; 0: none. `bytes` are those of an 8-byte granule it touched.
class ShadowCell {
public:
  ShadowCell() = default;
  ShadowCell(const RaceAccess &access, uint8_t bytes)
      : bits(uint64_t(access.workgroup * 16 + access.wave) << 40 |
             uint64_t(access.number & numberMask) << 12 | uint64_t(bytes) << 4 |
             uint64_t(access.isWrite) << 3 | uint64_t(access.isSync) << 2 |
             uint64_t(access.scope)) {}

  bool isEmpty() const { return bits == 0; }
  bool isWrite() const { return bits >> 3 & 1; }
  static bool anyWrite(const std::array<ShadowCell, 4> &cells) {
    return (cells[0].bits | cells[1].bits | cells[2].bits | cells[3].bits) >> 3 & 1;
  }
  bool isSync() const { return bits >> 2 & 1; }
  Scope scope() const { return Scope(bits & 3); }
  uint8_t bytes() const { return uint8_t(bits >> 4); }
  uint32_t workgroup() const { return uint32_t(bits >> 44); }
  /// Same wave and same way of access.
  bool isLike(const ShadowCell &o) const { return ((bits ^ o.bits) & ~differing) == 0; }
  RaceAccess unpack() const {
    return {workgroup(),
            unsigned(bits >> 40 & 15),
            uint32_t(bits >> 12 & numberMask),
            isWrite(),
            isSync(),
            scope()};
  }

private:
  static constexpr uint64_t numberMask = (1u << 28) - 1;
  static constexpr uint64_t differing = numberMask << 12 | uint64_t(0xFF) << 4;
  uint64_t bits = 0;
};

/// The accesses to one place that later ones are compared with. With more than four kinds of
/// readers the oldest are forgotten, so that a race with one of them may be missed.
struct ShadowCells {
  static constexpr unsigned count = 4;
  std::array<ShadowCell, count> cells;

  bool hasWrite() const { return ShadowCell::anyWrite(cells); }

  /// Remembers an access that races with none of the cells.
  void record(const ShadowCell &fresh, uint32_t number) {
    if (!fresh.isWrite())
      return recordRead(fresh, number);
    ShadowCell *place = nullptr, *victim = nullptr;
    for (unsigned n = 0; n < count; ++n) {
      ShadowCell &cell = cells[(n + number) % count];
      if ((cell.bytes() & ~fresh.bytes()) == 0)
        cell = ShadowCell(); // every later access is compared with this one instead
      if (cell.isEmpty())
        place = &cell;
      else if (!cell.isWrite())
        victim = &cell;
    }
    if (!place)
      place = victim ? victim : &cells[number % count];
    *place = fresh;
  }

private:
  /// The last of equal reads is enough; writes are not forgotten for reads.
  void recordRead(const ShadowCell &fresh, uint32_t number) {
    ShadowCell *place = nullptr;
    for (unsigned n = 0; n < count; ++n) {
      ShadowCell &cell = cells[(n + number) % count];
      bool isOlder = cell.isLike(fresh) && (cell.bytes() & ~fresh.bytes()) == 0;
      if (cell.isEmpty() || isOlder) {
        cell = fresh;
        return;
      }
      if (!cell.isWrite())
        place = &cell;
    }
    if (place)
      *place = fresh;
  }
};

/// 8 bytes with a release for each dword.
struct ShadowGranule {
  ShadowCells cells;
  std::array<RaceOrder::Node, 2> release{};
};

/// 128 bytes. Accesses to all of them are in `cells`, others in `detail`, which most lines do
/// without.
struct ShadowLine {
  static constexpr unsigned granules = 16;
  using Detail = std::array<ShadowGranule, granules>;
  ShadowCells cells;
  Detail *detail = nullptr;
};

/// Zero-initialised storage that costs nothing until touched; null if the host has none.
struct FreeDelete {
  void operator()(void *p) const { std::free(p); }
};
using ShadowLines = std::unique_ptr<ShadowLine, FreeDelete>;
inline ShadowLines allocateShadow(uint64_t lines) {
  static_assert(std::is_trivially_destructible_v<ShadowLine>);
  return ShadowLines(static_cast<ShadowLine *>(std::calloc(lines, sizeof(ShadowLine))));
}

} // namespace mono::emu

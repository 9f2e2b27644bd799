// DPP16 lane selection.
#include "runtime/emulator/exec/DppLanes.h"

#include "runtime/emulator/exec/ValuOperands.h"

#include <algorithm>
#include <immintrin.h>

namespace mono::emu {
namespace {

// dpp_ctrl values (CDNA4 ISA, table "DPP_CTRL enumeration"). Shifts and rotates have the count in
// the low four bits.
enum : unsigned {
  kQuadPermLast = 0xff,
  kRowShl = 0x100,
  kRowShr = 0x110,
  kRowRor = 0x120,
  kWaveShl1 = 0x130,
  kWaveRol1 = 0x134,
  kWaveShr1 = 0x138,
  kWaveRor1 = 0x13c,
  kRowMirror = 0x140,
  kRowHalfMirror = 0x141,
  kRowBcast15 = 0x142,
  kRowBcast31 = 0x143,
  kRowNewBcast = 0x150,
};

int inRowOrNone(unsigned row, int lane) { return lane >= 0 && lane < 16 ? int(row) + lane : -1; }

} // namespace

bool dppControlIsValid(unsigned ctrl) {
  if (ctrl <= kQuadPermLast || (ctrl >= kRowNewBcast && ctrl <= kRowNewBcast + 15))
    return true;
  const unsigned family = ctrl & ~15u;
  if (family == kRowShl || family == kRowShr || family == kRowRor)
    return (ctrl & 15) != 0;
  return ctrl == kWaveShl1 || ctrl == kWaveRol1 || ctrl == kWaveShr1 || ctrl == kWaveRor1 ||
         (ctrl >= kRowMirror && ctrl <= kRowBcast31);
}

int dppSourceLane(unsigned ctrl, unsigned lane) {
  const unsigned row = lane & ~15u, column = lane & 15, count = ctrl & 15;
  if (ctrl <= kQuadPermLast)
    return int((lane & ~3u) | (ctrl >> (2 * (lane & 3)) & 3));
  switch (ctrl) {
  case kWaveShl1:
    return lane == 63 ? -1 : int(lane + 1);
  case kWaveRol1:
    return int((lane + 1) & 63);
  case kWaveShr1:
    return int(lane) - 1;
  case kWaveRor1:
    return int((lane + 63) & 63);
  case kRowMirror:
    return int(row | (15 - column));
  case kRowHalfMirror:
    return int((lane & ~7u) | (7 - (lane & 7)));
  case kRowBcast15:
    return int(row) - 1;
  case kRowBcast31:
    return int(lane & ~31u) - 1;
  default:
    break;
  }
  switch (ctrl & ~15u) {
  case kRowShl:
    return inRowOrNone(row, int(column + count));
  case kRowShr:
    return inRowOrNone(row, int(column) - int(count));
  case kRowRor:
    return int(row | ((column - count) & 15));
  case kRowNewBcast:
    return int(row | count);
  default:
    return -1;
  }
}

namespace {

/// Source lanes of every control, so that the switch above runs once per process and not once per
/// lane.
struct ControlTable {
  static constexpr unsigned count = 512; // dpp_ctrl has 9 bits; undefined ones have no source
  uint8_t source[count][Wave::lanes];    // 0 where there is none
  uint64_t inRange[count];               // bit per lane: has a source

  ControlTable() {
    for (unsigned ctrl = 0; ctrl < count; ++ctrl) {
      inRange[ctrl] = 0;
      for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
        const int from = dppControlIsValid(ctrl) ? dppSourceLane(ctrl, lane) : -1;
        source[ctrl][lane] = uint8_t(std::max(from, 0));
        inRange[ctrl] |= uint64_t(from >= 0) << lane;
      }
    }
  }
};

/// Built before main(): a function-local static would be checked at every instruction.
const ControlTable controls;

/// Lanes whose source is in range and enabled.
uint64_t readableLanes(const Wave &wave, const DppControl &dpp, const ControlTable &table) {
  const uint64_t inRange = table.inRange[dpp.ctrl & 511], exec = wave.exec();
  if (exec == Wave::allLanes || dpp.fetchInactive)
    return inRange;
  uint64_t readable = 0;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    readable |= (exec >> table.source[dpp.ctrl & 511][lane] & 1) << lane;
  return readable & inRange;
}

/// Whether every lane reads from its own row of 16.
bool staysInRow(unsigned ctrl) {
  return ctrl < kWaveShl1 || (ctrl > kWaveRor1 && ctrl < kRowBcast15) || ctrl >= kRowNewBcast;
}

/// out[lane] = source[from[lane]] where `from` stays in the row of 16: two shuffles of eight lanes
/// each and a choice between them.
void permuteRows(const uint32_t *source, const uint8_t *from, uint32_t *out) {
  const auto load = [](const uint32_t *lanes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(lanes));
  };
  for (unsigned lane = 0; lane < Wave::lanes; lane += 8) {
    const uint32_t *row = source + (lane & ~15u);
    const __m256i index =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(from + lane)));
    const __m256i low = _mm256_permutevar8x32_epi32(load(row), index);
    const __m256i high = _mm256_permutevar8x32_epi32(load(row + 8), index);
    const __m256i upper = _mm256_slli_epi32(index, 28); // bit 3 of the lane number on top
    const __m256 chosen = _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                                           _mm256_castsi256_ps(upper));
    _mm256_storeu_ps(reinterpret_cast<float *>(out + lane), chosen);
  }
}

/// quad_perm: out[lane] = source[one of its four neighbours].
void permuteQuads(const uint32_t *source, unsigned control, uint32_t *out) {
  const int q0 = control & 3, q1 = control >> 2 & 3, q2 = control >> 4 & 3, q3 = control >> 6 & 3;
  const __m256i index = _mm256_setr_epi32(q0, q1, q2, q3, q0, q1, q2, q3);
  for (unsigned lane = 0; lane < Wave::lanes; lane += 8) {
    const __m256 row = _mm256_loadu_ps(reinterpret_cast<const float *>(source + lane));
    _mm256_storeu_ps(reinterpret_cast<float *>(out + lane), _mm256_permutevar_ps(row, index));
  }
}

/// row_bcast15 and row_bcast31: each row of 16 gets one lane of an earlier row.
void broadcastToRows(const uint32_t *source, const uint8_t *from, uint32_t *out) {
  for (unsigned row = 0; row < Wave::lanes; row += 16)
    std::fill_n(out + row, 16, source[from[row]]);
}

/// Bit of `rowMask` for each row of 16 lanes, and of `bankMask` for each four lanes of a row.
uint64_t selectedLanes(const DppControl &dpp) {
  if ((dpp.rowMask & dpp.bankMask & 0xf) == 0xf)
    return Wave::allLanes;
  uint64_t banks = 0, rows = 0;
  for (unsigned n = 0; n < 4; ++n) {
    banks |= (dpp.bankMask >> n & 1) * (0x000f000f000f000full << (4 * n));
    rows |= (dpp.rowMask >> n & 1) * (0xffffull << (16 * n));
  }
  return banks & rows;
}

} // namespace

void dppFetch(const Wave &wave, const DppControl &dpp, const uint32_t *source, uint32_t *out) {
  const ControlTable &table = controls;
  const uint8_t *from = table.source[dpp.ctrl & 511];
  if (dpp.ctrl <= kQuadPermLast)
    permuteQuads(source, dpp.ctrl, out);
  else if (dpp.ctrl == kRowBcast15 || dpp.ctrl == kRowBcast31)
    broadcastToRows(source, from, out);
  else if (staysInRow(dpp.ctrl))
    permuteRows(source, from, out);
  else
    for (unsigned lane = 0; lane < Wave::lanes; ++lane)
      out[lane] = source[from[lane]];
  const uint64_t readable = readableLanes(wave, dpp, table);
  if (readable == Wave::allLanes)
    return;
  alignas(32) uint32_t mask[Wave::lanes];
  valu::expandMask(readable, mask);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    out[lane] &= mask[lane];
}

uint64_t dppWriteMask(const Wave &wave, const DppControl &dpp) {
  uint64_t mask = wave.exec() & selectedLanes(dpp);
  if (!dpp.boundCtrl)
    mask &= readableLanes(wave, dpp, controls);
  return mask;
}

} // namespace mono::emu

// v_mfma_f32_*_f8f6f4 and v_mfma_scale_*: operands of 8, 6 or 4 bits in any mix, with an E8M0 scale
// for each 32 k of a row of A and a column of B (CDNA4 ISA 7.1.5 and 7.2).
//
// Each block of 32 k is summed in f32 as in MfmaKernels.h; the scaled sums are added to C in f64
// and rounded to f32 once, so that no scale overflows on the way.
#include "runtime/emulator/exec/MfmaFamilies.h"
#include "runtime/emulator/exec/MfmaOperands.h"
#include "runtime/emulator/exec/MfmaOrder.h"

namespace mono::emu::mfma {
namespace {

constexpr unsigned kScaleBlock = 32;

/// Formats of cbsz and blgp.
enum class OperandFormat : uint8_t { Fp8 = 0, Bf8 = 1, Fp6 = 2, Bf6 = 3, Fp4 = 4 };

/// k of an 8-bit item: a lane holds chunks of 16 k, the lane groups taking turns.
template <unsigned Groups> constexpr unsigned chunkedK(unsigned group, unsigned n) {
  return 16 * Groups * (n / 16) + 16 * group + n % 16;
}

template <typename Element, unsigned Rows> void unpackFormat(const uint32_t *rows, float *out) {
  constexpr unsigned groups = 64 / Rows, items = 32;
  unpackBlock<Element, Rows>(
      rows, groups, Rows, 0, items,
      [](unsigned group, unsigned n) {
        return Element::bits == 8 ? chunkedK<groups>(group, n) : items * group + n;
      },
      out);
}

/// Unpacks A or B of `Rows` rows in the given format; false for a format number without meaning.
template <unsigned Rows> bool unpackOperand(const uint32_t *rows, unsigned format, float *out) {
  switch (OperandFormat(format)) {
  case OperandFormat::Fp8:
    unpackFormat<Fp8Element, Rows>(rows, out);
    return true;
  case OperandFormat::Bf8:
    unpackFormat<Bf8Element, Rows>(rows, out);
    return true;
  case OperandFormat::Fp6:
    unpackFormat<Fp6Element, Rows>(rows, out);
    return true;
  case OperandFormat::Bf6:
    unpackFormat<Bf6Element, Rows>(rows, out);
    return true;
  case OperandFormat::Fp4:
    unpackFormat<Fp4Element, Rows>(rows, out);
    return true;
  }
  return false;
}

/// Scales of all rows (or columns) and k blocks, at [block * Rows + i]. The scale of row i and
/// block b comes from lane i + Rows * b whatever the element width; op_sel picks the byte. A scalar
/// source supplies the exponent field of an f32 instead.
void unpackScales(Wave &wave, const Operand &operand, double *out) {
  if (!operand.isVector()) {
    std::fill_n(out, Wave::lanes, numeric::decodeE8M0(uint8_t(wave.readScalar32(operand) >> 23)));
    return;
  }
  const unsigned shift = 8 * (unsigned(operand.opSel) | unsigned(operand.opSelHi) << 1);
  const uint32_t *row = wave.vgpr(operand);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    out[lane] = numeric::decodeE8M0(uint8_t(row[lane] >> shift));
}

struct Scales {
  alignas(32) double a[Wave::lanes], b[Wave::lanes];

  Scales(Wave &wave, const Instruction &inst) {
    if (!inst.isScaled) {
      std::fill_n(a, Wave::lanes, 1.0);
      std::fill_n(b, Wave::lanes, 1.0);
      return;
    }
    unpackScales(wave, inst.src[3], a);
    unpackScales(wave, inst.src[4], b);
  }
};

/// total[i, j] += scaleA[i] * scaleB[j] * sum[i, j].
template <unsigned M, unsigned N>
void addScaled(const float *sum, const double *scaleA, const double *scaleB, double *total) {
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < N; ++j)
      total[i * N + j] += double(sum[i * N + j]) * (scaleA[i] * scaleB[j]);
}

template <Shape S> void mixedFormats(Wave &wave, const Instruction &inst) {
  alignas(32) float a[S.k * S.m], b[S.k * S.n], tile[S.m * S.n];
  alignas(32) double total[S.m * S.n];
  if (!unpackOperand<S.m>(wave.vgpr(inst.src[0]), inst.cbsz, a) ||
      !unpackOperand<S.n>(wave.vgpr(inst.src[1]), inst.blgp, b)) {
    wave.fault("expected an operand format 0 to 4 in cbsz and blgp, but got " +
               std::to_string(inst.cbsz) + " and " + std::to_string(inst.blgp));
    return;
  }
  const Scales scales(wave, inst);
  loadResult<float, S>(wave, inst.src[2], 0, tile);
  std::copy_n(tile, S.m * S.n, total);
  for (unsigned block = 0; block < S.k / kScaleBlock; ++block) {
    std::fill_n(tile, S.m * S.n, 0.0f);
    const unsigned firstK = block * kScaleBlock;
    accumulateInOrder<S.m, S.n, kScaleBlock>(wave.sumOrder, a + firstK * S.m, b + firstK * S.n,
                                             tile);
    addScaled<S.m, S.n>(tile, scales.a + block * S.m, scales.b + block * S.n, total);
  }
  std::copy_n(total, S.m * S.n, tile);
  if (wave.modeField(mode::fp16Ovfl, 1)) [[unlikely]] {
    alignas(32) float c[S.m * S.n];
    loadResult<float, S>(wave, inst.src[2], 0, c);
    saturate<S.m, S.n>(a, S.k, b, S.k, c, tile);
  }
  storeResult<float, S>(wave, inst.dst[0], 0, tile);
}

constexpr Shape kShape16{16, 16, 128, 1}, kShape32{32, 32, 64, 1};

} // namespace

void registerScaled(HandlerTable &table) {
  table.add("V_MFMA_F32_16X16X128_F8F6F4", mixedFormats<kShape16>);
  table.add("V_MFMA_F32_32X32X64_F8F6F4", mixedFormats<kShape32>);
  table.add("V_MFMA_SCALE_F32_16X16X128_F8F6F4", mixedFormats<kShape16>);
  table.add("V_MFMA_SCALE_F32_32X32X64_F8F6F4", mixedFormats<kShape32>);
}

} // namespace mono::emu::mfma

// Dense matrix instructions with f32, f16, bf16, fp8, bf8, i8 and f64 operands.
#include "runtime/emulator/exec/MfmaFamilies.h"
#include "runtime/emulator/exec/MfmaOperands.h"
#include "runtime/emulator/exec/MfmaOrder.h"

#include <cstdlib>

namespace mono::emu::mfma {
namespace {

/// MFMA keeps denormals, except that f32 inputs obey MODE (CDNA4 ISA 7.1).
template <typename Element, typename Value>
void applyInputDenormals(const Wave &wave, Value *values, unsigned count) {
  if constexpr (std::is_same_v<Element, F32Element>)
    if (!(wave.modeRegister >> mode::denormF32 & 1))
      std::transform(values, values + count, values,
                     [](float v) { return numeric::flushDenormal(v); });
}

template <Shape S, typename A, typename B> void dense(Wave &wave, const Instruction &inst) {
  using Value = typename A::Value;
  constexpr unsigned registersB = operandRegisters<B, S.n, S.k, S.blocks>;
  uint32_t bufferB[registersB * Wave::lanes];
  const uint32_t *rowsA = wave.vgpr(inst.src[0]);
  const uint32_t *rowsB = laneGroupRows(wave.vgpr(inst.src[1]), registersB, inst.blgp, bufferB);
  alignas(32) Value a[S.k * S.m], b[S.k * S.n];
  // D may overlap any source, so it is written when all blocks are done.
  alignas(32) Value d[S.blocks][S.m * S.n];
  for (unsigned block = 0; block < S.blocks; ++block) {
    const unsigned blockA = broadcastBlock(inst.cbsz, inst.abid, block, S.blocks);
    unpackDense<A, S.m, S.k, S.blocks>(rowsA, blockA, a);
    unpackDense<B, S.n, S.k, S.blocks>(rowsB, block, b);
    applyInputDenormals<A>(wave, a, S.k * S.m);
    applyInputDenormals<B>(wave, b, S.k * S.n);
    loadResult<Value, S>(wave, inst.src[2], block, d[block]);
    accumulateInOrder<S.m, S.n, S.k>(wave.sumOrder, a, b, d[block]);
    if constexpr (std::is_same_v<Value, float>)
      if (wave.modeField(mode::fp16Ovfl, 1)) [[unlikely]] {
        alignas(32) Value c[S.m * S.n];
        loadResult<Value, S>(wave, inst.src[2], block, c);
        saturate<S.m, S.n>(a, S.k, b, S.k, c, d[block]);
      }
  }
  for (unsigned block = 0; block < S.blocks; ++block)
    storeResult<Value, S>(wave, inst.dst[0], block, d[block]);
}

// ---- f64 -----------------------------------------------------------------------------------

double doubleAt(const uint32_t *rows, unsigned item, unsigned lane) {
  const uint32_t *low = rows + 2 * item * Wave::lanes + lane;
  return std::bit_cast<double>(*low | uint64_t(low[Wave::lanes]) << 32);
}

/// One element per lane: lane row + rows * (block + blocks * k).
template <unsigned Rows, unsigned K, unsigned Blocks>
void unpackDoubles(const uint32_t *rows, unsigned block, bool negate, double *out) {
  static_assert(itemsPerLane(Rows, K, Blocks) == 1);
  for (unsigned k = 0; k < K; ++k)
    for (unsigned i = 0; i < Rows; ++i) {
      const double value = doubleAt(rows, 0, i + Rows * (block + Blocks * k));
      out[k * Rows + i] = negate ? -value : value;
    }
}

/// blgp holds the negation of A, B and C instead of a lane group pattern (CDNA4 ISA 7.1.6).
template <Shape S> void denseF64(Wave &wave, const Instruction &inst) {
  constexpr ResultLayout layout(S, 1);
  double a[S.k * S.m], b[S.k * S.n], d[S.blocks][S.m * S.n];
  const bool negateC = inst.blgp & 4;
  const Operand &c = inst.src[2];
  for (unsigned block = 0; block < S.blocks; ++block) {
    const unsigned blockA = broadcastBlock(inst.cbsz, inst.abid, block, S.blocks);
    unpackDoubles<S.m, S.k, S.blocks>(wave.vgpr(inst.src[0]), blockA, inst.blgp & 1, a);
    unpackDoubles<S.n, S.k, S.blocks>(wave.vgpr(inst.src[1]), block, inst.blgp & 2, b);
    for (unsigned i = 0; i < S.m; ++i)
      for (unsigned j = 0; j < S.n; ++j) {
        const double value = c.isVector() ? doubleAt(wave.vgpr(c), layout.item(i, block),
                                                     layout.lane(S.n, i, block) + j)
                                          : std::bit_cast<double>(wave.readScalar64(c));
        d[block][i * S.n + j] = negateC ? -value : value;
      }
    accumulateInOrder<S.m, S.n, S.k>(wave.sumOrder, a, b, d[block]);
  }
  uint32_t *rows = wave.vgpr(inst.dst[0]);
  for (unsigned block = 0; block < S.blocks; ++block)
    for (unsigned i = 0; i < S.m; ++i)
      for (unsigned j = 0; j < S.n; ++j) {
        const uint64_t bits = std::bit_cast<uint64_t>(d[block][i * S.n + j]);
        uint32_t *low =
            rows + 2 * layout.item(i, block) * Wave::lanes + layout.lane(S.n, i, block) + j;
        low[0] = uint32_t(bits);
        low[Wave::lanes] = uint32_t(bits >> 32);
      }
}

// ---- registration --------------------------------------------------------------------------

template <unsigned M, unsigned N, unsigned K, unsigned Blocks, typename A, typename B = A>
constexpr Handler kDense = dense<Shape{M, N, K, Blocks}, A, B>;

struct Entry {
  const char *name;
  Handler handler;
};

const Entry kEntries[] = {
    {"V_MFMA_F32_32X32X1F32", kDense<32, 32, 1, 2, F32Element>},
    {"V_MFMA_F32_16X16X1F32", kDense<16, 16, 1, 4, F32Element>},
    {"V_MFMA_F32_4X4X1F32", kDense<4, 4, 1, 16, F32Element>},
    {"V_MFMA_F32_32X32X2F32", kDense<32, 32, 2, 1, F32Element>},
    {"V_MFMA_F32_16X16X4F32", kDense<16, 16, 4, 1, F32Element>},

    {"V_MFMA_F32_32X32X4F16", kDense<32, 32, 4, 2, F16Element>},
    {"V_MFMA_F32_16X16X4F16", kDense<16, 16, 4, 4, F16Element>},
    {"V_MFMA_F32_4X4X4F16", kDense<4, 4, 4, 16, F16Element>},
    {"V_MFMA_F32_32X32X8F16", kDense<32, 32, 8, 1, F16Element>},
    {"V_MFMA_F32_16X16X16F16", kDense<16, 16, 16, 1, F16Element>},
    {"V_MFMA_F32_32X32X16_F16", kDense<32, 32, 16, 1, F16Element>},
    {"V_MFMA_F32_16X16X32_F16", kDense<16, 16, 32, 1, F16Element>},

    {"V_MFMA_F32_32X32X4BF16_1K", kDense<32, 32, 4, 2, Bf16Element>},
    {"V_MFMA_F32_16X16X4BF16_1K", kDense<16, 16, 4, 4, Bf16Element>},
    {"V_MFMA_F32_4X4X4BF16_1K", kDense<4, 4, 4, 16, Bf16Element>},
    {"V_MFMA_F32_32X32X8BF16_1K", kDense<32, 32, 8, 1, Bf16Element>},
    {"V_MFMA_F32_16X16X16BF16_1K", kDense<16, 16, 16, 1, Bf16Element>},
    {"V_MFMA_F32_32X32X16_BF16", kDense<32, 32, 16, 1, Bf16Element>},
    {"V_MFMA_F32_16X16X32_BF16", kDense<16, 16, 32, 1, Bf16Element>},

    {"V_MFMA_I32_32X32X4I8", kDense<32, 32, 4, 2, I8Element>},
    {"V_MFMA_I32_16X16X4I8", kDense<16, 16, 4, 4, I8Element>},
    {"V_MFMA_I32_4X4X4I8", kDense<4, 4, 4, 16, I8Element>},
    {"V_MFMA_I32_32X32X16I8", kDense<32, 32, 16, 1, I8Element>},
    {"V_MFMA_I32_16X16X32I8", kDense<16, 16, 32, 1, I8Element>},
    {"V_MFMA_I32_32X32X32_I8", kDense<32, 32, 32, 1, I8Element>},
    {"V_MFMA_I32_16X16X64_I8", kDense<16, 16, 64, 1, I8Element>},

    {"V_MFMA_F32_32X32X16_FP8_FP8", kDense<32, 32, 16, 1, Fp8Element>},
    {"V_MFMA_F32_32X32X16_FP8_BF8", kDense<32, 32, 16, 1, Fp8Element, Bf8Element>},
    {"V_MFMA_F32_32X32X16_BF8_FP8", kDense<32, 32, 16, 1, Bf8Element, Fp8Element>},
    {"V_MFMA_F32_32X32X16_BF8_BF8", kDense<32, 32, 16, 1, Bf8Element>},
    {"V_MFMA_F32_16X16X32_FP8_FP8", kDense<16, 16, 32, 1, Fp8Element>},
    {"V_MFMA_F32_16X16X32_FP8_BF8", kDense<16, 16, 32, 1, Fp8Element, Bf8Element>},
    {"V_MFMA_F32_16X16X32_BF8_FP8", kDense<16, 16, 32, 1, Bf8Element, Fp8Element>},
    {"V_MFMA_F32_16X16X32_BF8_BF8", kDense<16, 16, 32, 1, Bf8Element>},

    {"V_MFMA_F64_16X16X4F64", denseF64<Shape{16, 16, 4, 1}>},
    {"V_MFMA_F64_4X4X4F64", denseF64<Shape{4, 4, 4, 4}>},
};

} // namespace

void registerDense(HandlerTable &table) {
  for (const Entry &entry : kEntries)
    table.add(entry.name, entry.handler);
}

} // namespace mono::emu::mfma

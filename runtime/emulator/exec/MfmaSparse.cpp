// v_smfmac_*: A is 4:2 sparse (two of each four k are stored, with 2-bit indices in a third
// register); D += A * B with B dense (CDNA4 ISA 7.4).
#include "runtime/emulator/exec/MfmaFamilies.h"
#include "runtime/emulator/exec/MfmaOperands.h"
#include "runtime/emulator/exec/MfmaOrder.h"

#include <string>

namespace mono::emu::mfma {
namespace {

/// Shift of a lane's index set in its index register: with cbsz = 0 abid picks one of the sets that
/// fit a dword, otherwise the first is used.
constexpr unsigned indexShift(unsigned cbsz, unsigned abid, unsigned setBits) {
  const unsigned sets = 32 / setBits;
  return cbsz ? 0 : setBits * (abid % sets);
}

/// d[M, N] += A b[K, N], item after item of each row of A, in an order that `seed` chooses. Where A
/// has no item B takes no part, so a NaN there is not seen; equal indices of a pair both count.
template <typename Element, unsigned M, unsigned N, unsigned K>
void accumulateSparse(const uint32_t *rows, const uint32_t *indices, unsigned shift,
                      const typename Element::Value *b, typename Element::Value *d, uint64_t seed) {
  using Value = typename Element::Value;
  constexpr unsigned denseItems = K / (64 / M), items = denseItems / 2;
  const SumOrder order(seed, items);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    for (unsigned place = 0; place < items; ++place) {
      const unsigned n = order.term(place);
      const unsigned index = indices[lane] >> (shift + 2 * n) & 3;
      const Value *row = b + (lane / M * denseItems + n / 2 * 4 + index) * N;
      Value *sums = d + lane % M * N;
      const Vector<Value> item = broadcast(Element::decode(itemCode<Element::bits>(rows, lane, n)));
      for (unsigned j = 0; j < N; j += VectorOf<Value>::width)
        storeVector(sums + j, multiplyAdd(item, loadVector(row + j), loadVector(sums + j)));
    }
}

template <unsigned M, unsigned N, unsigned K, typename A, typename B>
void sparse(Wave &wave, const Instruction &inst) {
  using Value = typename A::Value;
  constexpr Shape S{M, N, K, 1};
  constexpr unsigned setBits = 2 * (K / (64 / M) / 2);
  alignas(32) Value b[K * N], d[M * N];
  unpackDense<B, N, K, 1>(wave.vgpr(inst.src[1]), 0, b);
  loadResult<Value, S>(wave, inst.dst[0], 0, d);
  accumulateSparse<A, M, N, K>(wave.vgpr(inst.src[0]), wave.vgpr(inst.src[2]),
                               indexShift(inst.cbsz, inst.abid, setBits), b, d, wave.sumOrder);
  if constexpr (std::is_same_v<Value, float>)
    if (wave.modeField(mode::fp16Ovfl, 1)) [[unlikely]] {
      alignas(32) float a[K / 2 * M], c[M * N];
      unpackDense<A, M, K / 2, 1>(wave.vgpr(inst.src[0]), 0, a);
      loadResult<Value, S>(wave, inst.dst[0], 0, c);
      // An infinity of B that the pattern of A leaves out counts as well.
      saturate<M, N>(a, K / 2, b, K, c, d);
    }
  storeResult<Value, S>(wave, inst.dst[0], 0, d);
}

/// Both shapes of a pair of types: MxNxK = 16x16xK and 32x32xK/2.
template <unsigned K, typename A, typename B = A>
void addShapes(HandlerTable &table, const std::string &result, const std::string &types) {
  const std::string prefix = "V_SMFMAC_" + result;
  table.add(prefix + "_16X16X" + std::to_string(K) + "_" + types, sparse<16, 16, K, A, B>);
  table.add(prefix + "_32X32X" + std::to_string(K / 2) + "_" + types, sparse<32, 32, K / 2, A, B>);
}

template <unsigned K> void addBytes(HandlerTable &table) {
  addShapes<K, I8Element>(table, "I32", "I8");
  addShapes<K, Fp8Element>(table, "F32", "FP8_FP8");
  addShapes<K, Fp8Element, Bf8Element>(table, "F32", "FP8_BF8");
  addShapes<K, Bf8Element, Fp8Element>(table, "F32", "BF8_FP8");
  addShapes<K, Bf8Element>(table, "F32", "BF8_BF8");
}

} // namespace

void registerSparse(HandlerTable &table) {
  addShapes<32, F16Element>(table, "F32", "F16");
  addShapes<32, Bf16Element>(table, "F32", "BF16");
  addShapes<64, F16Element>(table, "F32", "F16");
  addShapes<64, Bf16Element>(table, "F32", "BF16");
  addBytes<64>(table);
  addBytes<128>(table);
}

} // namespace mono::emu::mfma

// The order in which a matrix instruction sums. The hardware's is not documented, and differs
// between generations and shapes: a kernel whose result depends on it more than by rounding is
// wrong.
#pragma once

#include "runtime/emulator/exec/MfmaKernels.h"

#include <algorithm>

namespace mono::emu::mfma {

/// An order of `count` terms, a power of two, in up to four groups that are summed apart and then
/// added to c one after another. Seed 0 is the plain order: k ascending, one group.
class SumOrder {
public:
  SumOrder(uint64_t seed, unsigned count) : count(count) {
    if (seed == 0)
      return;
    // Bits of a multiplicative hash; an odd factor and any offset make a permutation.
    const uint64_t hash = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15;
    factor = unsigned(hash >> 32) | 1;
    offset = unsigned(hash >> 20);
    groupCount = std::min(1u << (hash >> 62), std::max(count / 2, 1u));
  }

  bool isPlain() const { return groupCount == 0; }
  unsigned groups() const { return std::max(groupCount, 1u); }
  unsigned termsEach() const { return count / groups(); }
  /// The k of the n-th term.
  unsigned term(unsigned n) const { return (n * factor + offset) & (count - 1); }

private:
  unsigned count, factor = 1, offset = 0, groupCount = 0;
};

/// accumulate() in the order that `seed` chooses.
template <unsigned M, unsigned N, unsigned K, typename T>
inline void accumulateInOrder(uint64_t seed, const T *a, const T *b, T *c) {
  const SumOrder order(seed, K);
  if (order.isPlain()) [[likely]] {
    accumulate<M, N>(a, b, K, c);
    return;
  }
  alignas(32) T reorderedA[K * M], reorderedB[K * N], sum[M * N];
  for (unsigned n = 0; n < K; ++n) {
    std::copy_n(a + order.term(n) * M, M, reorderedA + n * M);
    std::copy_n(b + order.term(n) * N, N, reorderedB + n * N);
  }
  for (unsigned group = 0; group < order.groups(); ++group) {
    const unsigned first = group * order.termsEach();
    std::fill_n(sum, M * N, T(0));
    accumulate<M, N>(reorderedA + first * M, reorderedB + first * N, order.termsEach(), sum);
    std::transform(c, c + M * N, sum, c, [](T x, T y) { return x + y; });
  }
}

} // namespace mono::emu::mfma

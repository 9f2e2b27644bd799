// Double-precision products with bf16 weights.
#include "models/Matmul.h"
#include "models/BFloat16.h"

#include "llvm/Support/Parallel.h"

#include <array>
#include <cassert>

using namespace llvm;

namespace mono::models {

// Weights are widened in blocks that stay in the first-level cache while every row of activations
// meets them; the partial sums of a block are independent lanes the compiler can vectorise.
static constexpr size_t blockElements = 512;
static constexpr size_t lanes = 16;

// Builds for plain x86-64 too; the loader picks the widest version the CPU runs.
#define MONO_MULTIVERSION                                                                          \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

MONO_MULTIVERSION static void widen(const uint16_t *from, double *to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = toFloat(from[i]);
}

MONO_MULTIVERSION static double dot(const double *a, const double *b, size_t count) {
  std::array<double, lanes> sums = {};
  size_t whole = count - count % lanes;
  for (size_t i = 0; i < whole; i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  double total = 0;
  for (double sum : sums)
    total += sum;
  for (size_t i = whole; i < count; ++i)
    total += a[i] * b[i];
  return total;
}

std::vector<double> toDouble(ArrayRef<uint16_t> bf16) {
  std::vector<double> wide(bf16.size());
  widen(bf16.data(), wide.data(), bf16.size());
  return wide;
}

std::vector<double> multiplyTransposed(ArrayRef<double> activations, size_t rows,
                                       ArrayRef<uint16_t> weight) {
  assert(rows > 0 && activations.size() % rows == 0);
  size_t inner = activations.size() / rows, columns = weight.size() / inner;
  std::vector<double> out(rows * columns);
  parallelFor(0, columns, [&](size_t n) {
    std::array<double, blockElements> block;
    for (size_t k = 0; k < inner; k += blockElements) {
      size_t count = std::min(blockElements, inner - k);
      widen(&weight[n * inner + k], block.data(), count);
      for (size_t s = 0; s < rows; ++s)
        out[s * columns + n] += dot(&activations[s * inner + k], block.data(), count);
    }
  });
  return out;
}

} // namespace mono::models

// Synthetic tokens and caches, and the comparison of caches.
#include "models/TestTokens.h"
#include "models/BFloat16.h"
#include "models/Compare.h"
#include "models/HashTensor.h"
#include "models/Matmul.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <numeric>
#include <random>

using namespace llvm;

namespace mono::models {

std::vector<uint16_t> unitTensor(StringRef name, uint64_t seed, size_t count) {
  static constexpr float unitScale = 1.7320508f; // of uniform values: variance 1
  std::vector<uint16_t> values(count);
  HashTensor(name, seed).real(unitScale, 0, values);
  return values;
}

void enlargeChannels(MutableArrayRef<uint16_t> matrix, size_t width, size_t channels,
                     StringRef name, uint64_t seed) {
  HashTensor choice(name, seed);
  for (size_t i = 0; i < matrix.size(); ++i)
    if (i % width < channels && choice.word(i % width) % 128 == 0)
      matrix[i] = toBf16(toFloat(matrix[i]) * 16);
}

PageTable PageTable::shuffled(size_t rows, size_t pages, size_t page, bool ordered, uint64_t seed) {
  PageTable table{pages, page, std::vector<int32_t>(rows * pages)};
  std::iota(table.blocks.begin(), table.blocks.end(), 0);
  std::mt19937_64 random(seed);
  for (size_t i = table.blocks.size(); i > 1; --i) // std::shuffle differs between libraries
    std::swap(table.blocks[i - 1], table.blocks[random() % i]);
  if (ordered)
    for (size_t i = pages; i < table.blocks.size(); ++i)
      table.blocks[i] = table.blocks[i - pages];
  return table;
}

/// Cache rows other than `own` whose bytes differ; the sizes are equal.
static size_t countChanged(ArrayRef<uint16_t> before, ArrayRef<uint16_t> after, size_t width,
                           ArrayRef<size_t> own) {
  std::vector<bool> isOwn(before.size() / width, false);
  for (size_t place : own)
    isOwn[place] = true;
  size_t changed = 0;
  for (size_t place = 0; place < isOwn.size(); ++place)
    changed +=
        !isOwn[place] && after.slice(place * width, width) != before.slice(place * width, width);
  return changed;
}

void checkCache(StringRef name, ArrayRef<CacheOfRank> ranks, size_t cacheRows, ArrayRef<size_t> own,
                double tolerance, Report &report) {
  size_t partCount = ranks.front().parts.size(), changed = 0;
  std::vector<std::vector<double>> written(partCount), expected(partCount);
  for (const CacheOfRank &rank : ranks) {
    std::vector<uint16_t> after(rank.before.size());
    if (rank.after.bytes.size() != after.size() * sizeof(uint16_t))
      return report.holds(name.str(), false, "an output of another size", "");
    std::memcpy(after.data(), rank.after.bytes.data(), rank.after.bytes.size());
    size_t width = after.size() / cacheRows, begin = 0;
    for (auto [part, all, reference] : zip_equal(rank.parts, written, expected)) {
      size_t partWidth = part.expected.size() / own.size();
      for (size_t place : own)
        llvm::append_range(all, toDouble(ArrayRef(after).slice(place * width + begin, partWidth)));
      llvm::append_range(reference, part.expected);
      begin += partWidth;
    }
    changed += countChanged(rank.before, after, width, own);
  }
  for (auto [part, all, reference] : zip_equal(ranks.front().parts, written, expected))
    report.atMost(fmt::format("{}, {}", name, part.name),
                  maxRelativeL2(all, reference, own.size() * ranks.size()), tolerance);
  report.holds(fmt::format("{}, other rows", name), changed == 0,
               changed == 0 ? "unchanged" : fmt::format("{} changed", changed), "unchanged");
}

} // namespace mono::models

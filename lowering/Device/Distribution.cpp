// The distribution rule.
#include "lowering/Device/Distribution.h"

#include "dialect/target/Gfx950.h"
#include "llvm/Support/MathExtras.h"

namespace mono {

Distribution::Distribution(mlir::RankedTensorType type, int64_t threads, int64_t least,
                           int64_t most)
    : elements(type.getNumElements()), columns(type.getRank() ? type.getShape().back() : 1),
      width(std::max<int64_t>(least, columns % 2 == 0 ? 2 : 1)), threads(threads) {
  while (2 * width <= most && columns % (2 * width) == 0 && elements >= 2 * width * threads)
    width *= 2;
  chunks = llvm::divideCeil(elements, width * threads);
}

RowReduction::RowReduction(const Distribution &distribution) {
  int64_t parts = distribution.columns / distribution.width;
  lanes = std::min(parts, gfx950::kWaveSize);
  waves = llvm::divideCeil(parts, gfx950::kWaveSize);
  acrossLanes = parts < gfx950::kWaveSize ? llvm::isPowerOf2_64(parts) : parts % lanes == 0;
}

} // namespace mono

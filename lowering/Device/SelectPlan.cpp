// Layout of the scratch area of mono.select.
#include "lowering/Device/SelectPlan.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Device/Distribution.h"
#include "lowering/Place/Scratch.h"
#include "llvm/Support/MathExtras.h"

namespace mono {

SelectPlan::SelectPlan(SelectOp op, int64_t threads) : radix(op.usesRadix()), k(op.getStaticK()) {
  auto key = mlir::cast<mlir::RankedTensorType>(op.getKey().getType());
  rows = key.getShape()[0];
  candidates = key.getShape()[1];
  bool taking = bool(op.getPayload());
  auto reserve = [&](int64_t size) {
    int64_t at = bytes;
    bytes += llvm::alignTo(size, kLdsAlign);
    return at;
  };
  if (radix) {
    histogram = reserve(kBins * kCopies * 4);
    found = reserve(2 * 4);
    shares = reserve(Distribution(key, threads).chunks * threads / gfx950::kWaveSize * 4);
  } else {
    keys = reserve(key.getNumElements() * 4);
    payload = taking ? reserve(key.getNumElements() * 4) : 0;
  }
  indices = reserve(resultBytes());
  values = taking ? reserve(resultBytes()) : 0;
}

} // namespace mono

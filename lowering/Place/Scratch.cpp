// Sizes of scratch areas and mailbox slots.
#include "lowering/Place/Scratch.h"

#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Device/Distribution.h"
#include "lowering/Device/ProductPlan.h"
#include "lowering/Device/SelectPlan.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

Type elementInLds(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return element.isIndex() ? IntegerType::get(element.getContext(), 32) : element;
}

int64_t ldsBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = elementInLds(tensor.getElementType());
  return llvm::divideCeil(tensor.getNumElements() * element.getIntOrFloatBitWidth(), 8);
}

bool isShapeOnly(OpOperand &operand) {
  Operation *op = operand.getOwner();
  return isa<linalg::LinalgOp>(op) && operand.get().getDefiningOp<tensor::EmptyOp>() &&
         cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
}

int64_t scratchBytes(Operation *op) {
  auto schedule = op->getParentOfType<ScheduleOp>();
  int64_t threads = schedule.getThreads();
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      // The row of each group, then one partial sum of the result for each group of wavefronts that
      // shares the depth.
      .Case<ContractOp>([&](ContractOp o) {
        int64_t map = o.getRows() ? ldsBytes(o.getRows().getType()) : 0;
        ArrayRef<int64_t> shape = cast<RankedTensorType>(o.getType()).getShape();
        return llvm::alignTo(map, kLdsAlign) +
               shape[0] * resultRowStride(shape[0], shape[1]) * 4 *
                   o.getWeights().getDefiningOp<StreamOp>().getSplitK();
      })
      // The list of groups.
      .Case<StreamOp>(
          [](StreamOp o) { return o.getGroups() ? ldsBytes(o.getGroups().getType()) : 0; })
      // Codes, to put words together.
      .Case<PostOp>([](PostOp o) {
        auto type = cast<RankedTensorType>(o.getValue().getType());
        return type.getElementTypeBitWidth() == 8 ? ldsBytes(type) : 0;
      })
      .Case<ProductOp>([&](ProductOp o) {
        SmallVector<int64_t> shape = o.getResultShape();
        return ProductPlan(shape[0], shape[1], o.getStaticASizes()[1], threads / gfx950::kWaveSize)
            .scratchBytes();
      })
      // The partial results of each row, then the results.
      .Case<linalg::ReduceOp>([&](linalg::ReduceOp o) -> int64_t {
        auto input = cast<RankedTensorType>(o.getInputs().front().getType());
        RowReduction rows(Distribution(input, threads));
        int64_t result = ldsBytes(o->getResult(0).getType());
        if (rows.acrossLanes)
          return result * (1 + rows.partialsPerRow());
        int64_t parts = ldsBytes(input) / Distribution(input, threads).width;
        return llvm::alignTo(parts, kLdsAlign) + result;
      })
      .Case<linalg::BroadcastOp>(
          [&](linalg::BroadcastOp o) { return ldsBytes(o.getInput().getType()); })
      // The tensor whose elements move to other threads.
      .Case<tensor::ExtractSliceOp, linalg::TransposeOp>(
          [](auto o) { return ldsBytes(o->getOperand(0).getType()); })
      // The same, but in flat order: threads that hold equally long runs keep theirs.
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>([&](auto o) {
        auto from = cast<RankedTensorType>(o.getSrcType());
        auto to = cast<RankedTensorType>(o->getResult(0).getType());
        bool stays = Distribution(from, threads).width == Distribution(to, threads).width;
        return stays ? 0 : ldsBytes(from);
      })
      .Case<tensor::InsertSliceOp>([](tensor::InsertSliceOp o) { return ldsBytes(o.getType()); })
      // The indices, which every thread may need.
      .Case<ScatterOp, ReceiveRowsOp>([](auto o) { return ldsBytes(o.getRows().getType()); })
      // And the places that each of them is compared with.
      .Case<GatherOp>([](GatherOp o) {
        int64_t rows = ldsBytes(o.getRows().getType());
        return o.getPlaces() ? llvm::alignTo(rows, kLdsAlign) + ldsBytes(o.getPlaces().getType())
                             : rows;
      })
      .Case<DistinctOp>([](DistinctOp o) { return ldsBytes(o.getType()); })
      .Case<SelectOp>([&](SelectOp o) { return SelectPlan(o, threads).bytes; })
      .Default([](Operation *) { return 0; });
}

int64_t scratchOf(Operation *op) {
  auto offset = op->getAttrOfType<IntegerAttr>(kScratchAttr);
  return offset ? offset.getInt() : 0;
}

int64_t slotBytes(MailboxOp mailbox) {
  return llvm::product_of(staticValues(mailbox.getShape())) *
         mailbox.getElement().getIntOrFloatBitWidth() / 32 * 8;
}

} // namespace mono

// Check of bounds: what parameters, tasks and ranks make of index values fits a kernel's 32 bits.
#include "dialect/Exprs.h"
#include "lowering/Check/Checks.h"
#include "lowering/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mono {
namespace {

bool isUnsigned(Operation &op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::ShRUIOp,
             arith::IndexCastUIOp, arith::ExtUIOp, arith::MaxUIOp, arith::MinUIOp, index::DivUOp,
             index::RemUOp, index::CeilDivUOp, index::ShrUOp, index::CastUOp, index::MaxUOp,
             index::MinUOp>(op);
}

/// Ranges of the integers of a schedule that are the same in every launch. What data take part in
/// wraps as the machine does.
class KnownRanges {
public:
  void note(Value value, int64_t least, int64_t most) {
    unsigned bits = ConstantIntRanges::getStorageBitwidth(value.getType());
    known.insert({value, ConstantIntRanges::fromSigned(APInt(bits, least, /*isSigned=*/true),
                                                       APInt(bits, most, /*isSigned=*/true))});
  }

  void infer(Operation &op) {
    auto inference = dyn_cast<InferIntRangeInterface>(op);
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op.getOperands())
      if (auto range = known.find(operand); range != known.end())
        operands.push_back(range->second);
    if (!inference || operands.size() != op.getNumOperands())
      return;
    // A negative number that is taken as unsigned is what the machine's 32 bits make of it.
    bool anyNegative = llvm::any_of(
        operands, [](const ConstantIntRanges &range) { return range.smin().isNegative(); });
    if (anyNegative && isUnsigned(op))
      return;
    inference.inferResultRanges(operands, [&](Value result, const ConstantIntRanges &range) {
      unsigned bits = ConstantIntRanges::getStorageBitwidth(result.getType());
      if (range != ConstantIntRanges::maxRange(bits)) // it may as well be anything
        known.insert({result, range});
    });
  }

  /// The range of an index that 32 bits do not hold.
  std::optional<ConstantIntRanges> tooWide(Value value) const {
    auto range = known.find(value);
    if (!getElementTypeOrSelf(value.getType()).isIndex() || range == known.end() ||
        (range->second.smin().isSignedIntN(32) && range->second.smax().isSignedIntN(32)))
      return std::nullopt;
    return range->second;
  }

private:
  DenseMap<Value, ConstantIntRanges> known;
};

/// "5000000000", or "0 to 66000000000".
std::string textOf(const ConstantIntRanges &range) {
  std::string least = llvm::toString(range.smin(), /*Radix=*/10, /*Signed=*/true);
  if (range.getConstantValue())
    return least;
  return least + " to " + llvm::toString(range.smax(), /*Radix=*/10, /*Signed=*/true);
}

LogicalResult checkOp(Operation &op, const KnownRanges &ranges) {
  if (isa_and_present<MonoDialect>(op.getDialect()))
    return success(); // offsets have checks of their own
  for (ValueRange values : {ValueRange(op.getOperands()), ValueRange(op.getResults())})
    for (Value value : values)
      if (std::optional<ConstantIntRanges> range = ranges.tooWide(value)) {
        bool isResult = llvm::is_contained(op.getResults(), value);
        return op.emitError() << "kernels compute index values in 32 bits, but '" << op.getName()
                              << (isResult ? "' makes " : "' takes ") << textOf(*range)
                              << "; take i64";
      }
  return success();
}

LogicalResult checkBlock(Block &block, KnownRanges &ranges) {
  for (Operation &op : block) {
    ranges.infer(op);
    if (failed(checkOp(op, ranges)))
      return failure();
    if (auto generate = dyn_cast<tensor::GenerateOp>(op))
      for (auto [index, size] :
           llvm::zip_equal(generate.getBody().getArguments(), generate.getType().getShape()))
        ranges.note(index, 0, size - 1);
    for (Region &region : op.getRegions())
      for (Block &body : region)
        if (failed(checkBlock(body, ranges)))
          return failure();
  }
  return success();
}

} // namespace

LogicalResult checkIndexValues(const BoundSchedule &schedule) {
  RuleScope rule(schedule.op.getContext(), "bounds");
  KnownRanges ranges;
  for (Operation &op : schedule.op.getBody().front()) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      ranges.note(stage.getBody().getArgument(0), 0, std::max<int64_t>(taskCount(stage), 1) - 1);
      if (failed(checkBlock(stage.getBody().front(), ranges)))
        return failure();
    } else if (isa<RanksOp>(op)) {
      ranges.note(op.getResult(0), 0, schedule.ranks - 1);
    } else {
      ranges.infer(op);
      if (!op.hasTrait<OpTrait::ConstantLike>() && failed(checkOp(op, ranges)))
        return failure();
    }
  }
  return success();
}

} // namespace mono

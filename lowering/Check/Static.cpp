// What binding leaves open: sizes that something else than parameters decides, sizes that no chip
// has, ops outside the stages.
#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Check/Checks.h"
#include "lowering/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

/// Offsets into operands and mailbox memory are 32 bits wide and signed.
constexpr int64_t kMaxBytes = std::numeric_limits<int32_t>::max();

/// Bytes of a shape; none past 2^60.
static std::optional<int64_t> bytesOf(ArrayRef<int64_t> shape, int64_t elementBits) {
  int64_t bits = elementBits;
  for (int64_t size : shape)
    if (llvm::MulOverflow(bits, size, bits))
      return std::nullopt;
  return bits / 8;
}

static LogicalResult checkBytes(Operation *op, std::optional<int64_t> bytes, int64_t limit,
                                StringRef limitText) {
  if (bytes && *bytes <= limit)
    return success();
  InFlightDiagnostic diag = op->emitError()
                            << "expected at most " << limit << " bytes " << limitText << ", but "
                            << describe(op->getResult(0)) << " needs ";
  if (bytes)
    return diag << *bytes;
  return diag << "more than 2^60";
}

/// Sizes of an operand, mailbox or region. Small enough sizes also bound the work of the checks.
static LogicalResult checkMemory(Operation *op) {
  Declared declared = *declaredBy(op->getResult(0));
  if (llvm::is_contained(declared.shape, ShapedType::kDynamic))
    return op->emitError() << "expected sizes that parameters decide";
  int64_t elementBits = declared.element.getIntOrFloatBitWidth();
  if (auto region = dyn_cast<RegionOp>(op)) {
    declared.shape.back() += region.getPad();
    return checkBytes(op, bytesOf(declared.shape, elementBits), gfx950::kLdsBytes,
                      "of LDS (gfx950, one workgroup)");
  }
  // A tagged word has 8 bytes for 4 bytes of payload.
  if (auto mailbox = dyn_cast<MailboxOp>(op))
    elementBits *= 2 * mailbox.getSlots();
  // Groups of packed weights are addressed with 64 bits, within one with 32.
  if (elementBits <= 8 && declared.shape.size() > 2)
    return checkBytes(op, bytesOf(ArrayRef(declared.shape).take_back(2), elementBits), kMaxBytes,
                      "a matrix (32-bit offsets)");
  return checkBytes(op, bytesOf(declared.shape, elementBits), kMaxBytes, "(32-bit offsets)");
}

/// Registers a thread can have (gfx950: 512, 256 of them AGPRs); no tensor of more words fits.
constexpr int64_t kMaxWordsOfThread = 512;

/// Elements that registers, LDS and memory of a kernel can hold.
static bool isElement(Type type) {
  return type.isIndex() || type.isInteger(1) || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64) ||
         isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3FNType, Float8E5M2Type,
             Float8E8M0FNUType, Float4E2M1FNType>(type);
}

static LogicalResult checkElement(Operation *op, Type type) {
  if (!isa<IntegerType, FloatType, ComplexType>(type) || isElement(type))
    return success();
  return op->emitError() << "expected i1, i8, i16, i32, i64, index, f16, bf16, f32, f64, "
                            "f8E4M3FN, f8E5M2, f8E8M0FNU or f4E2M1FN, but got "
                         << type;
}

/// A tensor is in the registers of the threads of a workgroup.
static LogicalResult checkTensor(Operation *op, RankedTensorType tensor) {
  if (!tensor.hasStaticShape())
    return op->emitError() << "expected sizes that parameters decide";
  if (tensor.getRank() == 0 || tensor.getNumElements() == 0 || tensor.getEncoding())
    return op->emitError() << "expected tensors of at least 1 axis and 1 element, without an "
                              "encoding (tensor.expand_shape adds an axis), but got "
                           << tensor;
  Type element = tensor.getElementType();
  if (!isElement(element) && !isa<IntegerType, FloatType, ComplexType>(element))
    return op->emitError() << "expected tensors of numbers, but got " << tensor;
  if (failed(checkElement(op, element)))
    return failure();
  int64_t threads = op->getParentOfType<ScheduleOp>().getThreads();
  int64_t bits = element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
  int64_t words = llvm::divideCeil(llvm::divideCeil(tensor.getNumElements(), threads) * bits, 32);
  if (words > kMaxWordsOfThread)
    return op->emitError() << "expected tensors of at most " << kMaxWordsOfThread
                           << " registers per thread (gfx950), but " << tensor << " takes " << words
                           << " with " << threads << " threads; use smaller tiles";
  return success();
}

/// Handles are chosen by parameters, so that the checks know what is touched.
static LogicalResult checkResults(Operation &op) {
  for (Type type : op.getResultTypes()) {
    if (isa<UnrankedTensorType>(type))
      return op.emitError() << "expected tensors with a rank, but got " << type;
    if (isa<MonoDialect>(type.getDialect()) && !isa<MonoDialect>(op.getDialect()))
      return op.emitError() << "expected a handle that parameters choose, but '" << op.getName()
                            << "' chooses it at run time";
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (failed(tensor ? checkTensor(&op, tensor) : checkElement(&op, type)))
      return failure();
  }
  return success();
}

/// What runs once per element is emitted as it is: arithmetic on scalars has code and touches no
/// memory, so that no check looks into bodies.
static LogicalResult checkBodies(Operation &op) {
  auto isShaped = llvm::IsaPred<ShapedType>;
  for (Region &region : op.getRegions())
    for (Operation &inner : region.getOps()) {
      bool arithmetic =
          isa_and_present<arith::ArithDialect, math::MathDialect, index::IndexDialect>(
              inner.getDialect());
      if (inner.hasTrait<OpTrait::IsTerminator>() ||
          (arithmetic && inner.getNumRegions() == 0 && isMemoryEffectFree(&inner) &&
           llvm::none_of(inner.getOperandTypes(), isShaped) &&
           llvm::none_of(inner.getResultTypes(), isShaped))) {
        if (failed(checkResults(inner)))
          return failure();
        continue;
      }
      return inner.emitError() << "expected arith, math and index ops on scalars in the body of '"
                               << op.getName() << "', but got '" << inner.getName() << "'";
    }
  return success();
}

/// Ops of other dialects reach the machine past the checks: what they read, how they branch.
static bool isOfStages(Operation &op) {
  return isa_and_present<MonoDialect, arith::ArithDialect, math::MathDialect, index::IndexDialect,
                         tensor::TensorDialect, linalg::LinalgDialect>(op.getDialect());
}

static LogicalResult checkStageOp(Operation &op) {
  if (op.getNumRegions() && op.getName().getDialectNamespace() != "linalg" &&
      !isa<tensor::GenerateOp>(op))
    return op.emitError() << "expected a stage without control flow, but got '" << op.getName()
                          << "'";
  if (!isOfStages(op))
    return op.emitError() << "expected arith, math, index, tensor, linalg and mono ops in a stage, "
                             "but got '"
                          << op.getName() << "'";
  return failed(checkResults(op)) ? failure() : checkBodies(op);
}

static LogicalResult checkStage(StageOp stage) {
  if (ShapedType::isDynamic(taskCount(stage)))
    return stage.emitError() << "expected sizes that parameters decide";
  if (ShapedType::isDynamic(baseOf(stage)))
    return stage.emitError() << "expected a base that parameters decide";
  for (Operation &op : stage.getBody().front())
    if (failed(checkStageOp(op)))
      return failure();
  return success();
}

static LogicalResult checkRanks(RanksOp ranks, RanksOp &first) {
  if (ShapedType::isDynamic(staticValues(ranks.getCount()).front()))
    return ranks.emitError() << "expected a number of ranks that parameters decide";
  if (first) {
    InFlightDiagnostic diag = ranks.emitError() << "expected one mono.ranks in a schedule";
    diag.attachNote(first.getLoc()) << "the first is here";
    return diag;
  }
  first = ranks;
  return success();
}

/// What one workgroup does for a task. Binding moves tensors that nothing but values make into the
/// stages; a constant is the same everywhere.
static bool belongsInStage(Operation &op) {
  return isa<LoadOp, StoreOp, GatherOp, ScatterOp, StreamOp, ContractOp, ProductOp, PostOp,
             ReceiveOp, ReceiveRowsOp>(op) ||
         (!op.hasTrait<OpTrait::ConstantLike>() &&
          llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>));
}

LogicalResult checkStatic(ScheduleOp schedule) {
  RuleScope rule(schedule.getContext(), "static");
  RanksOp ranks;
  bool anyStage = false;
  for (Operation &op : schedule.getBody().front()) {
    LogicalResult result = success();
    if (isa<OperandOp, MailboxOp, RegionOp>(op))
      result = checkMemory(&op);
    else if (auto stage = dyn_cast<StageOp>(op))
      anyStage = succeeded(result = checkStage(stage));
    else if (auto other = dyn_cast<RanksOp>(op))
      result = checkRanks(other, ranks);
    else if (belongsInStage(op))
      result = op.emitError() << "expected '" << op.getName() << "' inside a stage";
    else
      result = checkResults(op);
    if (failed(result))
      return failure();
  }
  if (!anyStage)
    return schedule.emitError() << "expected at least one stage";
  return success();
}

} // namespace mono

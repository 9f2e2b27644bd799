// The frame of a kernel: prologue, stages, epilogue, and the helpers the op emitters share.
#include "lowering/Device/Emitter.h"

#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Check/Boxes.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono {

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t axis = int64_t(shape.size()) - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

Emitter::Emitter(ScheduleOp schedule, gpu::GPUFuncOp func, int64_t watchdogCycles,
                 int64_t skipBarrier)
    : schedule(schedule), func(func), b(schedule.getLoc(), schedule.getContext()),
      threadCount(schedule.getThreads()), ranks(rankCount(schedule)),
      watchdogCycles(watchdogCycles), barriersToSkip(skipBarrier) {}

LogicalResult Emitter::emit() {
  b.setInsertionPointToStart(&func.getBody().front());
  emitPrologue();
  for (Operation &op : schedule.getBody().front()) {
    b.setLoc(op.getLoc());
    if (auto stage = dyn_cast<StageOp>(op)) {
      if (failed(emitStage(stage)))
        return failure();
    } else if (auto ranksOp = dyn_cast<RanksOp>(op)) {
      scalars[ranksOp.getRank()] = rank;
    } else if (!isa<OperandOp, MailboxOp, RegionOp>(op) && failed(emitOp(&op))) {
      return failure();
    }
  }
  b.setLoc(schedule.getLoc());
  emitEpilogue();
  return success();
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

void Emitter::emitPrologue() {
  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  cta = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  lane = modulo(thread, gfx950::kWaveSize);
  // All lanes of a wavefront agree on its number; saying so keeps what depends on it in SGPRs.
  Value waveId = readFirstLane(toI32(divide(thread, gfx950::kWaveSize)));
  wave = arith::IndexCastUIOp::create(b, b.getIndexType(), waveId);

  // Arguments after the operands: device mailboxes, table of peer mailboxes, epoch words, rank.
  auto args = func.getArguments().drop_front(
      llvm::range_size(schedule.getBody().front().getOps<OperandOp>()));
  deviceMailboxes = args[0];
  peerTable = args[1];
  epochs = args[2];
  rank = arith::IndexCastUIOp::create(b, b.getIndexType(), args[3]);
  if (func.getNumWorkgroupAttributions())
    arena = func.getWorkgroupAttributions().front();

  // Scalar caches are not coherent with stores, so the epoch is read like any shared word.
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  epochWord =
      LLVM::GEPOp::create(b, pointer, b.getI32Type(), epochs, ArrayRef<LLVM::GEPArg>{toI64(cta)});
  Value finished = LLVM::LoadOp::create(b, b.getI32Type(), epochWord, /*alignment=*/4,
                                        /*isVolatile=*/false, /*isNonTemporal=*/false,
                                        /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                        LLVM::AtomicOrdering::monotonic, "agent");
  tag = readFirstLane(arith::AddIOp::create(b, finished, constantI32(1)));
}

void Emitter::emitEpilogue() {
  // No wavefront may advance the epoch before all have read it.
  barrier();
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, constant(0));
  guard(first, [&] {
    LLVM::StoreOp::create(b, tag, epochWord, /*alignment=*/4, /*isVolatile=*/false,
                          /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::monotonic, "agent");
  });
  gpu::ReturnOp::create(b);
}

LogicalResult Emitter::emitStage(StageOp stage) {
  ++stageIndex;
  int64_t tasks = taskCount(stage), ctas = schedule.getCtas();
  int64_t base = staticValues(stage.getBase()).front();
  // Task t runs on workgroup (base + t) mod ctas.
  Value first = modulo(add(cta, ctas - base), ctas);
  LdsHazards before = hazards;
  LogicalResult result = success();
  if (tasks <= ctas) {
    auto ifOp = scf::IfOp::create(b, lessThan(first, tasks), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    result = emitBody(stage, first);
  } else {
    auto loop = scf::ForOp::create(b, first, constant(tasks), constant(ctas));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    barrier(); // the previous task of this workgroup may still be read from LDS
    result = emitBody(stage, loop.getInductionVar());
  }
  hazards.mergeSkipped(before);
  return result;
}

LogicalResult Emitter::emitBody(StageOp stage, Value task) {
  scalars[stage.getBody().getArgument(0)] = task;
  for (Operation &op : stage.getBody().front()) {
    b.setLoc(op.getLoc());
    if (failed(emitOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult Emitter::emitOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LoadOp>([&](auto o) { return emitLoad(o); })
      .Case<StoreOp>([&](auto o) { return emitStore(o); })
      .Case<GatherOp>([&](auto o) { return emitGather(o); })
      .Case<ScatterOp>([&](auto o) { return emitScatter(o); })
      .Case<ReceiveRowsOp>([&](auto o) { return emitReceiveRows(o); })
      .Case<StreamOp>([&](auto o) { return emitStream(o); })
      .Case<ContractOp>([&](auto o) { return emitContract(o); })
      .Case<ProductOp>([&](auto o) { return emitProduct(o); })
      .Case<PostOp>([&](auto o) { return emitPost(o); })
      .Case<ReceiveOp>([&](auto o) { return emitReceive(o); })
      .Case<SelectOp>([&](auto o) { return emitSelect(o); })
      .Case<linalg::ReduceOp>([&](auto o) { return emitReduce(o); })
      .Case<linalg::BroadcastOp>([&](auto o) { return emitBroadcast(o); })
      .Case<linalg::TransposeOp>([&](auto o) { return emitTranspose(o); })
      .Case<tensor::ExtractSliceOp>([&](auto o) { return emitSlice(o); })
      .Case<tensor::InsertSliceOp>([&](auto o) { return emitInsert(o); })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>([&](auto o) { return emitReshape(o); })
      .Case<tensor::GenerateOp>([&](auto o) { return emitGenerate(o); })
      .Case<tensor::EmptyOp>([&](auto) { return success(); }) // a shape, no data
      .Case<tensor::SplatOp>([&](tensor::SplatOp o) {
        emitSplat(scalars.lookup(o.getInput()), o.getAggregate());
        return success();
      })
      .Default([&](Operation *o) -> LogicalResult {
        if (o->hasTrait<OpTrait::ConstantLike>() &&
            isa<RankedTensorType>(o->getResult(0).getType()))
          return emitConstant(o);
        if (llvm::any_of(o->getResultTypes(), llvm::IsaPred<RankedTensorType>))
          return emitElementwise(o);
        if (o->getNumRegions() == 0 && isMemoryEffectFree(o)) { // scalar arithmetic
          IRMapping mapping;
          for (Value operand : o->getOperands())
            mapping.map(operand, scalars.lookup(operand));
          Operation *copy = b.clone(*o, mapping);
          for (auto [from, to] : llvm::zip_equal(o->getResults(), copy->getResults()))
            scalars[from] = to;
          return success();
        }
        return o->emitError() << "'" << o->getName() << "' is not supported in a stage";
      });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Emitter::constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value Emitter::constantI32(int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}
Value Emitter::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value Emitter::add(Value x, int64_t y) { return y == 0 ? x : add(x, constant(y)); }
Value Emitter::mul(Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::MulIOp>(x, constant(y));
}
Value Emitter::divide(Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::DivUIOp>(x, constant(y));
}
Value Emitter::modulo(Value x, int64_t y) { return b.createOrFold<arith::RemUIOp>(x, constant(y)); }
Value Emitter::lessThan(Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, constant(y));
}
Value Emitter::toI32(Value index) { return arith::IndexCastUIOp::create(b, b.getI32Type(), index); }
Value Emitter::toI64(Value index) { return arith::IndexCastUIOp::create(b, b.getI64Type(), index); }
Value Emitter::readFirstLane(Value i32) {
  return ROCDL::ReadfirstlaneOp::create(b, b.getI32Type(), i32);
}

Value Emitter::single(Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({1}, scalar.getType()), scalar);
}

SmallVector<Value> Emitter::evaluate(AffineMap map, OperandRange args) {
  SmallVector<Value> values = llvm::map_to_vector(args, [&](Value v) { return scalars.lookup(v); });
  ValueRange dims = ValueRange(values).take_front(map.getNumDims());
  ValueRange symbols = ValueRange(values).drop_front(map.getNumDims());
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return affine::expandAffineExpr(b, b.getLoc(), expr, dims, symbols);
  });
}

void Emitter::guard(Value condition, function_ref<void()> body) {
  auto ifOp = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value Emitter::firstElement(const Distribution &d, int64_t chunk) {
  Value element = mul(add(thread, chunk * d.threads), d.width);
  if (d.full(chunk))
    return element;
  return arith::MinUIOp::create(b, element, constant(d.elements - d.width));
}

void Emitter::forOwners(const Distribution &d, int64_t chunk, function_ref<void(Value)> body) {
  Value element = mul(add(thread, chunk * d.threads), d.width);
  if (d.full(chunk))
    return body(element);
  guard(lessThan(element, d.elements), [&] { body(element); });
}

SmallVector<Value> Emitter::ownersOrZero(const Distribution &d, int64_t chunk, TypeRange types,
                                         function_ref<SmallVector<Value>(Value)> body) {
  Value element = mul(add(thread, chunk * d.threads), d.width);
  if (d.full(chunk))
    return body(element);
  auto ifOp = scf::IfOp::create(
      b, lessThan(element, d.elements),
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, body(element)); },
      [&](OpBuilder &, Location) {
        SmallVector<Value> zeros = llvm::map_to_vector(types, [&](Type type) -> Value {
          return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
        });
        scf::YieldOp::create(b, zeros);
      });
  return SmallVector<Value>(ifOp.getResults());
}

SmallVector<Value> Emitter::unflatten(Value linear, ArrayRef<int64_t> shape) {
  SmallVector<Value> index(shape.size());
  for (int64_t axis = int64_t(shape.size()) - 1; axis > 0; --axis) {
    index[axis] = modulo(linear, shape[axis]);
    linear = divide(linear, shape[axis]);
  }
  if (!shape.empty())
    index[0] = linear;
  return index;
}

Value Emitter::address(ArrayRef<Value> offsets, ArrayRef<Value> index, ArrayRef<int64_t> strides) {
  Value sum = constant(0);
  for (auto [offset, stride] : llvm::zip(offsets, strides)) // no offsets: the whole memory
    sum = add(sum, mul(offset, stride));
  for (auto [i, stride] : llvm::zip_equal(index, strides.take_back(index.size())))
    sum = add(sum, mul(i, stride));
  return sum;
}

VectorType Emitter::chunkType(RankedTensorType type) const {
  return VectorType::get({distributionOf(type).width}, type.getElementType());
}

Tile &Emitter::tile(Value tensor) {
  auto found = tiles.find(tensor);
  assert(found != tiles.end() && "a tensor is emitted before it is used");
  return found->second;
}

void Emitter::setTile(Value tensor, SmallVector<Value> chunks) {
  tiles[tensor] = {cast<RankedTensorType>(tensor.getType()), std::move(chunks), std::nullopt};
}

void Emitter::setTile(Value tensor, int64_t home) {
  tiles[tensor] = {cast<RankedTensorType>(tensor.getType()), {}, home};
}

static int64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

ArrayRef<Value> Emitter::inRegisters(Value tensor) {
  Tile &t = tile(tensor);
  if (!t.chunks.empty())
    return t.chunks;
  Distribution d = distributionOf(t.type);
  willRead(*t.home, bytesOf(t.type));
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk)
    chunks.push_back(
        ldsLoad(*t.home, t.type.getElementType(), d.elements, firstElement(d, chunk), d.width));
  t.chunks = std::move(chunks);
  return t.chunks;
}

int64_t Emitter::inLds(Value tensor, int64_t scratch) {
  Tile &t = tile(tensor);
  if (t.home)
    return *t.home;
  Distribution d = distributionOf(t.type);
  willWrite(scratch, bytesOf(t.type));
  for (auto [chunk, value] : llvm::enumerate(t.chunks))
    forOwners(d, chunk,
              [&, value = value](Value element) { ldsStore(scratch, d.elements, element, value); });
  t.home = scratch;
  return scratch;
}

//===----------------------------------------------------------------------===//
// LDS and operands
//===----------------------------------------------------------------------===//

Value Emitter::ldsView(int64_t offset, Type element, int64_t count) {
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({count}, element, MemRefLayoutAttrInterface{}, space);
  return memref::ViewOp::create(b, type, arena, constant(offset), ValueRange{});
}

/// Bytes an access of `width` elements at a multiple of `width` is aligned to.
static int64_t accessAlignment(Type element, int64_t width) {
  return std::min<int64_t>(16, width * element.getIntOrFloatBitWidth() / 8);
}

Value Emitter::ldsLoad(int64_t offset, Type element, int64_t count, Value index, int64_t width) {
  auto type = VectorType::get({width}, element);
  return vector::LoadOp::create(b, type, ldsView(offset, element, count), ValueRange{index},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(accessAlignment(element, width)));
}

void Emitter::ldsStore(int64_t offset, int64_t count, Value index, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type element = type.getElementType();
  vector::StoreOp::create(b, vector, ldsView(offset, element, count), ValueRange{index},
                          /*nontemporal=*/false,
                          llvm::MaybeAlign(accessAlignment(element, type.getNumElements())));
}

void Emitter::willRead(int64_t offset, int64_t bytes) {
  if (hazards.conflicts(offset, bytes, /*write=*/false))
    barrier();
  hazards.record(offset, bytes, /*write=*/false);
}

void Emitter::willWrite(int64_t offset, int64_t bytes) {
  if (hazards.conflicts(offset, bytes, /*write=*/true))
    barrier();
  hazards.record(offset, bytes, /*write=*/true);
}

void Emitter::barrier() {
  if (barriersToSkip-- != 0)
    amdgpu::LDSBarrierOp::create(b);
  hazards.barrier();
}

Value Emitter::operandMemory(OperandOp op) {
  int64_t index = 0;
  for (auto other : schedule.getBody().front().getOps<OperandOp>()) {
    if (other == op)
      break;
    ++index;
  }
  return func.getArgument(index);
}

} // namespace mono

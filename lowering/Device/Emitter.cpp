// The frame of a kernel: prologue, stages, epilogue, and how tensors lie in registers and LDS.
#include "lowering/Device/Emitter.h"

#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Check/Boxes.h"
#include "lowering/Device/LoadsAhead.h"
#include "lowering/Device/Watchdog.h"
#include "lowering/Manifest.h"
#include "lowering/Place/Scratch.h"
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
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace mono {

Emitter::Emitter(ScheduleOp schedule, gpu::GPUFuncOp func, int64_t watchdogCycles, bool markers,
                 int64_t skipBarrier)
    : KernelBuilder(schedule.getLoc(), skipBarrier), schedule(schedule), func(func),
      threadCount(schedule.getThreads()), ranks(rankCount(schedule)),
      watchdogCycles(watchdogCycles), markers(markers) {}

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
    } else if (scratchBytes(&op) > 0) {
      return op.emitError() << "expected '" << op.getName()
                            << "' inside a stage: it needs LDS, which only stages have";
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

/// Launches count up to this, then from 1 again: 0 is what memory holds before the first. A
/// multiple of the slots of all peers mailboxes, so that each launch has the slot after the last
/// one's there, too.
static uint32_t lastTag(ScheduleOp schedule) {
  uint32_t turn = slotTurn(schedule);
  constexpr uint32_t kMost = kLeftEpoch - 1;
  return kMost - kMost % turn;
}

void Emitter::emitPrologue() {
  threadId = toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  cta = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  locateThread(threadId);

  // Arguments after the operands: device mailboxes, table of peer mailboxes, epoch words, rank.
  auto args = func.getArguments().drop_front(
      llvm::range_size(schedule.getBody().front().getOps<OperandOp>()));
  deviceMailboxes = args[0];
  peerTable = args[1];
  epochs = args[2];
  rank = arith::IndexCastUIOp::create(b, b.getIndexType(), args[3]);
  kernelArguments = LLVM::CallIntrinsicOp::create(
                        b, LLVM::LLVMPointerType::get(b.getContext(), 4),
                        b.getStringAttr("llvm.amdgcn.kernarg.segment.ptr"), ValueRange{})
                        .getResult(0);
  if (func.getNumWorkgroupAttributions())
    arena = func.getWorkgroupAttributions().front();

  epochWord = epochWordIn(epochs);
  finished = loadEpoch(epochWord);
}

Value Emitter::epochWordIn(Value memory) {
  return LLVM::GEPOp::create(b, memory.getType(), b.getI32Type(), memory,
                             ArrayRef<LLVM::GEPArg>{toI64(cta)});
}

Value Emitter::loadEpoch(Value word) {
  // Scalar caches are not coherent with stores, so the epoch is read like any shared word.
  return LLVM::LoadOp::create(b, b.getI32Type(), word, /*alignment=*/4, /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/false,
                              /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, "agent");
}

void Emitter::storeEpoch(Value value, Value word) {
  LLVM::StoreOp::create(b, value, word, /*alignment=*/4, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::monotonic, "agent");
}

void Emitter::readTag() {
  // Hidden, or LLVM would count up where the word was loaded, and wait for it in front of the first
  // weights.
  Value last = hidden(finished, "=v,0");
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, last,
                                     constantI32(int32_t(lastTag(schedule))));
  Value next = arith::AddIOp::create(b, last, constantI32(1));
  tag = readFirstLane(arith::SelectOp::create(b, more, next, constantI32(1)));
}

void Emitter::locateThread(Value id) {
  thread = arith::IndexCastUIOp::create(b, b.getIndexType(), id);
  lane = modulo(thread, gfx950::kWaveSize);
  // All lanes of a wavefront agree on its number; saying so keeps what depends on it in SGPRs.
  Value waveId = readFirstLane(toI32(divide(thread, gfx950::kWaveSize)));
  wave = arith::IndexCastUIOp::create(b, b.getIndexType(), waveId);
}

void Emitter::emitEpilogue() {
  locateThread(threadId);
  readTag();
  // No wavefront may advance the epoch before all have read it.
  barrier();
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, constant(0));
  guard(first, [&] {
    // A watchdog build has no SGPRs to keep its address in.
    Value word = watchdogCycles ? epochWordIn(epochsAgain("; ends")) : epochWord;
    storeEpoch(tag, word);
  });
  gpu::ReturnOp::create(b);
}

LogicalResult Emitter::emitStage(StageOp stage) {
  ++stageIndex;
  int64_t tasks = taskCount(stage), ctas = schedule.getCtas();
  int64_t base = staticValues(stage.getBase()).front();
  // Task t runs on workgroup (base + t) mod ctas. Hidden, or LLVM would keep in SGPRs which
  // workgroups a stage is for until the next one for the same.
  Value number = hidden(toI32(cta), "=s,0", "; stage " + Twine(stageIndex));
  Value workgroup = arith::IndexCastUIOp::create(b, b.getIndexType(), number);
  Value first = modulo(add(workgroup, ctas - base), ctas);
  LdsHazards before = hazards;
  // Tensors made at schedule level are in every thread's registers. Where a stage puts one in LDS
  // is known to the workgroups that have a task of it, in its scratch, and in that stage only.
  llvm::SaveAndRestore outer(tiles);
  LogicalResult result = success();
  if (tasks <= ctas) {
    auto ifOp = scf::IfOp::create(b, lessThan(first, tasks), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    result = emitBody(stage, first);
  } else {
    auto loop = scf::ForOp::create(b, first, constant(tasks), constant(ctas));
    OpBuilder::InsertionGuard guard(b);
    result = addHazardsOfTasks(stage, loop);
    b.setInsertionPointToStart(loop.getBody());
    // The addresses of all words that a task waits for are the same in the next one. LLVM would
    // keep them in SGPRs over the loop, and spill.
    llvm::SaveAndRestore mailboxes(deviceMailboxes, hidden(deviceMailboxes, "=s,0"));
    if (succeeded(result))
      result = emitBody(stage, loop.getInductionVar());
  }
  hazards.merge(before);
  return result;
}

LogicalResult Emitter::addHazardsOfTasks(StageOp stage, scf::ForOp loop) {
  // A task is emitted to see what it leaves, and dropped again. With that pending, barriers stand
  // elsewhere in the next one, which may leave something else: repeated until nothing is new.
  auto dropped = [&]() -> FailureOr<LdsHazards> {
    auto state = std::tuple(barriersToSkip, scalars, tiles, streams, scaledStreams);
    llvm::SaveAndRestore start(hazards);
    b.setInsertionPointToStart(loop.getBody());
    LogicalResult result = emitBody(stage, loop.getInductionVar());
    std::tie(barriersToSkip, scalars, tiles, streams, scaledStreams) = std::move(state);
    Operation *end = loop.getBody()->getTerminator();
    while (Operation *last = end->getPrevNode())
      last->erase();
    return failed(result) ? FailureOr<LdsHazards>(failure()) : hazards;
  };
  for (;;) {
    FailureOr<LdsHazards> left = dropped();
    if (failed(left))
      return failure();
    if (!hazards.merge(*left))
      return success();
  }
}

LogicalResult Emitter::emitBody(StageOp stage, Value task) {
  // What follows from the thread's number is cheap, and every stage needs it. Computed once for all
  // of them, as LLVM would, it would fill registers through the whole kernel.
  locateThread(hidden(threadId, "=v,0"));
  scalars[stage.getBody().getArgument(0)] = task;
  if (markers)
    emitMarker(task);
  tag = nullptr;
  gathersAhead.clear();
  emitted.clear();
  LoadsAhead ahead(stage);
  for (Operation &op : stage.getBody().front()) {
    for (Operation *load : ahead.inFrontOf(&op))
      if (failed(emitAhead(load)))
        return failure();
    if (failed(emitOnce(&op)))
      return failure();
  }
  return success();
}

LogicalResult Emitter::emitAhead(Operation *load) {
  if (emitted.contains(load))
    return success();
  for (Operation *producer : producersInStage(load))
    if (failed(emitAhead(producer)))
      return failure();
  if (!hasTwoHalves(load))
    return emitOnce(load);
  b.setLoc(load->getLoc());
  gathersAhead[load] = issueGather(cast<GatherOp>(load), /*isAhead=*/true);
  return success();
}

LogicalResult Emitter::emitOnce(Operation *op) {
  if (!emitted.insert(op).second)
    return success();
  b.setLoc(op->getLoc());
  return emitOp(op);
}

/// Tells thread trace, or the emulator, which task begins (Manifest.h, markerOf).
void Emitter::emitMarker(Value task) {
  Value word = arith::AddIOp::create(b, toI32(task), constantI32(markerOf(stageIndex, 0)));
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.amdgcn.s.ttracedata"),
                                ValueRange{readFirstLane(word)});
}

void Emitter::fillEmpty(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!value.getDefiningOp<tensor::EmptyOp>() || isShapeOnly(operand) || tiles.contains(value))
      continue;
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    Value zero = constant(0);
    if (!element.isIndex())
      zero = b.createOrFold<arith::BitcastOp>(
          element,
          arith::ConstantIntOp::create(b, b.getIntegerType(element.getIntOrFloatBitWidth()), 0));
    emitSplat(zero, value);
  }
}

LogicalResult Emitter::emitOp(Operation *op) {
  fillEmpty(op);
  if (!tag && isa<PostOp, ReceiveOp, ReceiveRowsOp>(op))
    readTag();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LoadOp>([&](auto o) { return emitLoad(o); })
      .Case<StoreOp>([&](auto o) { return emitStore(o); })
      .Case<GatherOp>([&](auto o) { return emitGather(o); })
      .Case<ScatterOp>([&](auto o) { return emitScatter(o); })
      .Case<DistinctOp>([&](auto o) { return emitDistinct(o); })
      .Case<ReceiveRowsOp>([&](auto o) { return emitReceiveRows(o); })
      .Case<StreamOp>([&](auto o) { return emitStream(o); })
      .Case<ContractOp>([&](auto o) { return emitContract(o); })
      .Case<ProductOp>([&](auto o) { return emitProduct(o); })
      .Case<PostOp>([&](auto o) { return emitPost(o); })
      .Case<ReceiveOp>([&](auto o) { return emitReceive(o); })
      .Case<SelectOp>([&](auto o) { return emitSelect(o); })
      .Case<arith::ScalingTruncFOp>([&](auto o) { return emitScalingTrunc(o); })
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
        if (failed(verifyHasCode(o)))
          return failure();
        if (o->hasTrait<OpTrait::ConstantLike>() &&
            isa<RankedTensorType>(o->getResult(0).getType()))
          return emitConstant(o);
        if (OpTrait::hasElementwiseMappableTraits(o) &&
            isa<RankedTensorType>(o->getResult(0).getType()))
          return emitElementwise(o);
        bool onScalars =
            llvm::all_of(o->getOperands(), [&](Value v) { return scalars.contains(v); }) &&
            llvm::none_of(o->getResultTypes(), llvm::IsaPred<ShapedType>);
        if (onScalars && o->getNumRegions() == 0 && isMemoryEffectFree(o)) {
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
// Expressions
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::evaluate(AffineMap map, OperandRange args) {
  SmallVector<Value> values = llvm::map_to_vector(args, [&](Value v) { return scalars.lookup(v); });
  ValueRange dims = ValueRange(values).take_front(map.getNumDims());
  ValueRange symbols = ValueRange(values).drop_front(map.getNumDims());
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return affine::expandAffineExpr(b, b.getLoc(), expr, dims, symbols);
  });
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

void Emitter::setTile(Value tensor, int64_t home, int64_t padding) {
  tiles[tensor] = {cast<RankedTensorType>(tensor.getType()), {}, home, padding};
}

Value Emitter::inPaddedRows(Value first, int64_t columns, int64_t rowStride) {
  if (rowStride == columns)
    return first;
  return add(mul(divide(first, columns), rowStride), modulo(first, columns));
}

ArrayRef<Value> Emitter::inRegisters(Value tensor) {
  Tile &t = tile(tensor);
  if (!t.chunks.empty())
    return t.chunks;
  Distribution d = distributionOf(t.type);
  int64_t rowStride = d.columns + t.padding;
  willRead({*t.home, ldsBytes(t.type) / d.columns * rowStride});
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk)
    chunks.push_back(ldsLoad(*t.home, t.type.getElementType(), d.elements / d.columns * rowStride,
                             inPaddedRows(firstElement(d, chunk), d.columns, rowStride), d.width));
  t.chunks = std::move(chunks);
  return t.chunks;
}

void Emitter::toLds(RankedTensorType type, ArrayRef<Value> chunks, int64_t offset) {
  Distribution d = distributionOf(type);
  willWrite({offset, ldsBytes(type)});
  for (auto [chunk, value] : llvm::enumerate(chunks))
    forOwners(d, chunk,
              [&, value = value](Value element) { ldsStore(offset, d.elements, element, value); });
}

int64_t Emitter::inLds(Value tensor, int64_t scratch) {
  Tile &t = tile(tensor);
  if (t.home && !t.padding)
    return *t.home;
  toLds(t.type, inRegisters(tensor), scratch);
  t.home = scratch;
  t.padding = 0;
  return scratch;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Place of an operand among the kernel's arguments.
static int64_t indexOf(ScheduleOp schedule, OperandOp op) {
  auto operands = schedule.getBody().front().getOps<OperandOp>();
  return std::distance(operands.begin(), llvm::find(operands, op));
}

Value Emitter::operandPointer(OperandOp op) {
  // Read from the kernel arguments where it is needed: LLVM would load all pointers at the start,
  // and a layer has more of them than there are SGPRs to keep them in.
  return argumentPointer(kernelArguments, indexOf(schedule, op));
}

Value Emitter::argumentPointer(Value segment, int64_t number) {
  auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Value entry = LLVM::GEPOp::create(b, segment.getType(), b.getI8Type(), segment,
                                    ArrayRef<LLVM::GEPArg>{int32_t(8 * number)});
  return LLVM::LoadOp::create(b, global, entry, /*alignment=*/8, /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

Value Emitter::operandMemory(OperandOp op) {
  Value pointer = operandPointer(op);
  auto memref = dyn_cast<MemRefType>(func.getArgument(indexOf(schedule, op)).getType());
  return memref ? asMemRef(pointer, memref) : pointer;
}

Value Emitter::asMemRef(Value pointer, MemRefType type) {
  // The descriptor memrefs are lowered to (MLIR, "LLVM IR Target": ranked memrefs), 32-bit indices.
  auto i32 = b.getI32Type();
  auto one = LLVM::LLVMArrayType::get(i32, 1);
  auto descriptor = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {pointer.getType(), pointer.getType(), i32, one, one});
  Value value = LLVM::PoisonOp::create(b, descriptor);
  auto set = [&](Value field, ArrayRef<int64_t> place) {
    value = LLVM::InsertValueOp::create(b, value, field, place);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(constantI32(0), {2});
  set(constantI32(type.getNumElements()), {3, 0});
  set(constantI32(1), {4, 0});
  return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
}

} // namespace mono

// The checks on a bound schedule: bounds, and who posts what is received.
#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "lowering/Check/Boxes.h"
#include "lowering/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono {
#define GEN_PASS_DEF_CHECKPASS
#include "lowering/Passes.h.inc"
} // namespace mono

using namespace mono;

namespace {

/// One op that touches memory, with its box.
struct Access {
  Operation *op;
  mutable StageOp stage; // op handles have no const accessors
  int64_t stageIndex;
  Value memory;
  AffineMap offsets;
  OperandRange offsetArgs;
  SmallVector<int64_t> sizes;
};

std::string text(ArrayRef<int64_t> values) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::interleaveComma(values, os);
  return result;
}

/// The box a store or post fills: the tensor's shape behind ones.
SmallVector<int64_t> writtenBox(Value value, AffineMap offsets) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> sizes(offsets.getNumResults() - shape.size(), 1);
  llvm::append_range(sizes, shape);
  return sizes;
}

std::optional<Access> accessOf(Operation *op, StageOp stage, int64_t stageIndex) {
  return llvm::TypeSwitch<Operation *, std::optional<Access>>(op)
      .Case<LoadOp, StreamOp, ContractOp, ReceiveOp>([&](auto o) {
        return Access{o,
                      stage,
                      stageIndex,
                      o.getSource(),
                      o.getOffsets(),
                      o.getOffsetArgs(),
                      o.getStaticSizes()};
      })
      .Case<StoreOp>([&](StoreOp o) {
        return Access{o,
                      stage,
                      stageIndex,
                      o.getTarget(),
                      o.getOffsets(),
                      o.getOffsetArgs(),
                      writtenBox(o.getValue(), o.getOffsets())};
      })
      .Case<PostOp>([&](PostOp o) {
        return Access{o,
                      stage,
                      stageIndex,
                      o.getMailbox(),
                      o.getOffsets(),
                      o.getOffsetArgs(),
                      writtenBox(o.getValue(), o.getOffsets())};
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Calls `visit` for every rank and task of the access.
LogicalResult
forEachInstance(const Access &access, int64_t ranks,
                function_ref<LogicalResult(const Instance &, ArrayRef<int64_t>)> visit) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t task = 0, tasks = taskCount(access.stage); task < tasks; ++task) {
      Instance instance{task, rank};
      FailureOr<SmallVector<int64_t>> offsets =
          offsetsOf(access.op, access.offsets, access.offsetArgs, instance);
      if (failed(offsets) || failed(visit(instance, *offsets)))
        return failure();
    }
  return success();
}

LogicalResult checkBounds(const Access &access, int64_t ranks) {
  SmallVector<int64_t> shape = declaredBy(access.memory)->shape;
  return forEachInstance(
      access, ranks, [&](const Instance &instance, ArrayRef<int64_t> offsets) -> LogicalResult {
        for (auto [axis, offset, size, extent] : llvm::enumerate(offsets, access.sizes, shape)) {
          if (offset >= 0 && offset + size <= extent)
            continue;
          InFlightDiagnostic diag = access.op->emitError()
                                    << "expected a box inside " << describe(access.memory)
                                    << ", but task " << instance.task << " of stage '"
                                    << access.stage.getName() << "' covers " << offset << " to "
                                    << offset + size << " of " << extent << " on axis " << axis;
          diag.attachNote(access.memory.getLoc())
              << "declared here with shape [" << text(shape) << "]";
          return diag;
        }
        return success();
      });
}

/// Rank-dependent offsets mean an exchange between ranks, which a device mailbox can't carry.
LogicalResult checkDeviceOffsets(const Access &access) {
  auto mailbox = access.memory.getDefiningOp<MailboxOp>();
  if (mailbox.getScope() == Scope::Peers)
    return success();
  for (Value arg : access.offsetArgs) {
    if (!arg.getDefiningOp<RanksOp>())
      continue;
    InFlightDiagnostic diag = access.op->emitError()
                              << "expected offsets without the rank in " << describe(access.memory)
                              << " of scope 'device': its words never reach another rank";
    diag.attachNote(mailbox.getLoc()) << "declared here; scope(peers) joins ranks";
    return diag;
  }
  return success();
}

/// Who posts each element of one mailbox.
class Coverage {
public:
  Coverage(MailboxOp mailbox, int64_t ranks)
      : mailbox(mailbox), shape(declaredBy(mailbox.getResult())->shape), ranks(ranks) {
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    posted.assign(elements, nullptr);
  }

  LogicalResult addPost(const Access &post) {
    posts.push_back(&post);
    // Every rank posts to all copies of a peers mailbox; the copy of a device mailbox is filled by
    // its own rank alone, and checkDeviceOffsets() sees to it that the copies are filled alike.
    int64_t writers = mailbox.getScope() == Scope::Peers ? ranks : 1;
    return forEachInstance(
        post, writers, [&](const Instance &instance, ArrayRef<int64_t> offsets) -> LogicalResult {
          LogicalResult result = success();
          forEachRun(shape, offsets, post.sizes, [&](int64_t first, int64_t length) {
            for (int64_t i = first; succeeded(result) && i < first + length; ++i) {
              if (posted[i]) {
                InFlightDiagnostic diag = post.op->emitError()
                                          << "expected every element of " << describe(post.memory)
                                          << " to be posted once a launch, but element ["
                                          << text(indexOf(i)) << "] is posted again by task "
                                          << instance.task << " of stage '" << post.stage.getName()
                                          << "' on rank " << instance.rank;
                diag.attachNote(posted[i]->op->getLoc()) << "posted before here";
                result = diag;
              }
              posted[i] = &post;
            }
          });
          return result;
        });
  }

  LogicalResult checkReceive(const Access &receive) const {
    return forEachInstance(
        receive, ranks, [&](const Instance &instance, ArrayRef<int64_t> offsets) -> LogicalResult {
          LogicalResult result = success();
          forEachRun(shape, offsets, receive.sizes, [&](int64_t first, int64_t length) {
            for (int64_t i = first; succeeded(result) && i < first + length; ++i)
              result = checkElement(receive, instance, i);
          });
          return result;
        });
  }

private:
  LogicalResult checkElement(const Access &receive, const Instance &instance, int64_t i) const {
    const Access *post = posted[i];
    if (post && post->stageIndex < receive.stageIndex)
      return success();
    InFlightDiagnostic diag = receive.op->emitError()
                              << "this wait would never end: element [" << text(indexOf(i))
                              << "] of " << describe(receive.memory);
    if (!post) {
      diag << " is posted by nobody, but task " << instance.task << " of stage '"
           << receive.stage.getName() << "' on workgroup "
           << workgroupOf(receive.stage, instance.task) << " waits for it";
      diag.attachNote(mailbox.getLoc()) << "the mailbox is declared here";
      for (const Access *other : posts)
        diag.attachNote(other->op->getLoc())
            << "stage '" << other->stage.getName() << "' posts other elements here";
      if (posts.empty())
        diag.attachNote(receive.stage.getLoc())
            << "add a mono.post to " << describe(receive.memory) << " in a stage before this one";
      return diag;
    }
    diag << " is posted by stage '" << post->stage.getName() << "', which is not before stage '"
         << receive.stage.getName() << "' that waits for it";
    diag.attachNote(post->op->getLoc())
        << "posted here; every workgroup walks the stages in file order, so move this stage before "
           "the one that waits";
    return diag;
  }

  SmallVector<int64_t> indexOf(int64_t linear) const {
    SmallVector<int64_t> index(shape.size());
    for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
      index[axis] = linear % shape[axis];
      linear /= shape[axis];
    }
    return index;
  }

  mutable MailboxOp mailbox;
  SmallVector<int64_t> shape;
  int64_t ranks;
  std::vector<const Access *> posted;
  SmallVector<const Access *> posts;
};

/// A size that is still open depends on something that is no parameter.
LogicalResult checkStatic(ScheduleOp schedule) {
  for (Operation &op : schedule.getBody().front()) {
    AffineMap map;
    if (auto declaration = op.getAttrOfType<AffineMapAttr>("shape"))
      map = declaration.getAffineMap();
    else if (auto stage = dyn_cast<StageOp>(op))
      map = stage.getTasks();
    if (map && llvm::is_contained(staticValues(map), ShapedType::kDynamic))
      return op.emitError() << "expected sizes that parameters decide";
    if (auto stage = dyn_cast<StageOp>(op);
        stage && ShapedType::isDynamic(staticValues(stage.getBase()).front()))
      return op.emitError() << "expected a base that parameters decide";
  }
  return success();
}

LogicalResult checkSchedule(ScheduleOp schedule) {
  if (failed(checkStatic(schedule)))
    return failure();
  int64_t ranks = rankCount(schedule), stageIndex = 0;
  SmallVector<Access> accesses;
  for (auto stage : schedule.getBody().front().getOps<StageOp>()) {
    stage.walk([&](Operation *op) {
      if (std::optional<Access> access = accessOf(op, stage, stageIndex))
        accesses.push_back(std::move(*access));
    });
    ++stageIndex;
  }
  if (stageIndex == 0)
    return schedule.emitError() << "expected at least one stage";
  for (const Access &access : accesses)
    if (failed(checkBounds(access, ranks)))
      return failure();
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>()) {
    Coverage coverage(mailbox, ranks);
    for (const Access &access : accesses)
      if (access.memory == mailbox.getResult() && failed(checkDeviceOffsets(access)))
        return failure();
    for (const Access &access : accesses)
      if (access.memory == mailbox.getResult() && isa<PostOp>(access.op) &&
          failed(coverage.addPost(access)))
        return failure();
    for (const Access &access : accesses)
      if (access.memory == mailbox.getResult() && isa<ReceiveOp>(access.op) &&
          failed(coverage.checkReceive(access)))
        return failure();
  }
  return success();
}

struct CheckPass : mono::impl::CheckPassBase<CheckPass> {
  using Base::Base;

  void runOnOperation() override {
    auto schedules = getOperation().getOps<ScheduleOp>();
    if (schedules.empty()) {
      getOperation().emitError() << "expected a mono.schedule in the file";
      return signalPassFailure();
    }
    for (ScheduleOp schedule : schedules)
      if (failed(checkSchedule(schedule)))
        return signalPassFailure();
  }
};

} // namespace

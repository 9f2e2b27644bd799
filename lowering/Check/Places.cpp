// Rows at places that are known at run time only: no two tasks scatter to one, and none is read
// from memory in the launch that writes it.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "lowering/Check/Cover.h"
#include "lowering/Rules.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace mono {
namespace {

/// The mono.receive whose tensor `places` is, as it came; null if it is something else.
ReceiveOp receiveOf(Value places) {
  auto receive = places.getDefiningOp<ReceiveOp>();
  return receive && !receive.getSum() ? receive : ReceiveOp();
}

/// "mailbox 'p'", or "a value of 'arith.addi'".
std::string originOf(Value places) {
  if (ReceiveOp receive = receiveOf(places))
    return describe(receive.getSource());
  return ("a value of '" + places.getDefiningOp()->getName().getStringRef() + "'").str();
}

/// What a scatter writes, as boxes [places, columns]: equal places are equal rows.
MemoryAccess placesAndColumns(const MemoryAccess &places, const MemoryAccess &columns) {
  MemoryAccess both = columns;
  both.shape = places.shape;
  both.shape.push_back(columns.shape.back());
  both.sizes = places.sizes;
  both.sizes.push_back(columns.sizes.back());

  AffineMap first = places.offsets, second = columns.offsets;
  SmallVector<AffineExpr> exprs(first.getResults());
  exprs.push_back(second.getResults()
                      .back()
                      .shiftDims(second.getNumDims(), first.getNumDims())
                      .shiftSymbols(second.getNumSymbols(), first.getNumSymbols()));
  both.offsets =
      AffineMap::get(first.getNumDims() + second.getNumDims(),
                     first.getNumSymbols() + second.getNumSymbols(), exprs, first.getContext());
  both.argIsTask.clear();
  for (bool symbols : {false, true})
    for (const MemoryAccess *access : {&places, &columns}) {
      ArrayRef<bool> args = access->argIsTask;
      unsigned dims = access->offsets.getNumDims();
      llvm::append_range(both.argIsTask, symbols ? args.drop_front(dims) : args.take_front(dims));
    }
  return both;
}

/// The scatters to one operand, and whatever else touches it.
class PlacesCheck {
public:
  PlacesCheck(OperandOp operand, const BoundSchedule &schedule)
      : operand(operand), schedule(schedule) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == operand.getResult())
        (isa<ScatterOp>(access.op) ? scatters : others).push_back(&access);
  }

  LogicalResult check() {
    if (scatters.empty())
      return success();
    for (const MemoryAccess *scatter : scatters)
      if (failed(checkScatter(cast<ScatterOp>(scatter->op))))
        return failure();
    for (const MemoryAccess *other : others)
      if (failed(checkOther(*other)))
        return failure();
    addPosts();
    // Each rank has an operand of its own; ranks are alike unless a box names the rank.
    for (int64_t rank = 0; rank < schedule.ranks; ++rank)
      if (failed(checkPlaces(rank)) || failed(checkRows(rank)) || failed(checkGathers(rank)))
        return failure();
    return success();
  }

private:
  ScatterOp first() const { return cast<ScatterOp>(scatters.front()->op); }
  /// The mailbox of the places at which the first scatter writes.
  Value mailbox() const { return receiveOf(first().getRows()).getSource(); }

  const MemoryAccess &accessOf(Operation *op) const {
    return *llvm::find_if(schedule.accesses,
                          [&](const MemoryAccess &access) { return access.op == op; });
  }
  /// The receive of the places at which a scatter writes.
  const MemoryAccess &placesOf(const MemoryAccess &scatter) const {
    return accessOf(receiveOf(cast<ScatterOp>(scatter.op).getRows()));
  }

  /// Places come from one mailbox.
  LogicalResult checkScatter(ScatterOp scatter) {
    ReceiveOp receive = receiveOf(scatter.getRows());
    if (!receive) {
      InFlightDiagnostic diag = scatter.emitError()
                                << "expected rows of " << describe(operand.getResult())
                                << " to be scattered at places from a mailbox, but got "
                                << originOf(scatter.getRows());
      diag.attachNote(scatter.getRows().getLoc())
          << "computed here, where nothing tells it from the places of other tasks; let one task "
             "compute the places of all rows, post what mono.distinct makes of them, and receive "
             "the task's own";
      return diag;
    }
    if (receive.getSource() == mailbox())
      return success();
    InFlightDiagnostic diag = scatter.emitError()
                              << "expected all rows of " << describe(operand.getResult())
                              << " to be scattered at places from one mailbox, but got "
                              << describe(receive.getSource()) << " and " << describe(mailbox());
    diag.attachNote(first().getLoc()) << "scattered here at places from " << describe(mailbox());
    return diag;
  }

  /// Whatever else touches the operand compares its indices with places of the same mailbox.
  LogicalResult checkOther(const MemoryAccess &access) {
    auto gather = dyn_cast<GatherOp>(access.op);
    if (gather && gather.getFresh()) {
      ReceiveOp receive = receiveOf(gather.getPlaces());
      if (receive && receive.getSource() == mailbox())
        return success();
      return reportUnknown(gather, "");
    }
    InFlightDiagnostic diag =
        access.op->emitError()
        << "stage '" << access.stage.getName() << "' " << (access.writes ? "stores to " : "reads ")
        << describe(operand.getResult())
        << ", of which another workgroup writes rows in the same launch that are known at run "
           "time only";
    diag.attachNote(first().getLoc())
        << "written here; read the operand with mono.gather ... or %region places(...), where the "
           "region holds the rows of this launch";
    return diag;
  }

  InFlightDiagnostic reportUnknown(GatherOp gather, const std::string &which) {
    InFlightDiagnostic diag = gather.emitError()
                              << "expected all places at which rows of "
                              << describe(operand.getResult()) << " are written, from "
                              << describe(mailbox()) << ", but got " << originOf(gather.getPlaces())
                              << which;
    diag.attachNote(first().getLoc())
        << "written here: a row whose place is not known would be read from memory";
    return diag;
  }

  /// Fills `posted`; coverage has shown that no element has two owners.
  void addPosts() {
    int64_t writers =
        mailbox().getDefiningOp<MailboxOp>().getScope() == Scope::Peers ? schedule.ranks : 1;
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == mailbox() && access.writes)
        forEachExecution(access, writers, [&](const Execution &by) { posted.add(by); });
    posted.seal();
  }

  /// The places at which a rank scatters, into `written`: all from one mono.distinct, run once.
  LogicalResult checkPlaces(int64_t rank) {
    ArrayRef<int64_t> shape = placesOf(*scatters.front()).shape;
    written = llvm::BitVector(llvm::product_of(shape));
    std::optional<int64_t> poster, another;
    for (const MemoryAccess *scatter : scatters) {
      const MemoryAccess &places = placesOf(*scatter);
      for (int64_t task = 0; task < places.tasks; ++task)
        Execution{&places, task, rank}.forEachRun([&](int64_t begin, int64_t end) {
          written.set(begin, end);
          posted.forEachOwner(begin, end, [&](int64_t index, int64_t) {
            if (poster && *poster != index && !another)
              another = index;
            if (!poster)
              poster = index;
          });
        });
    }
    const Execution &post = posted.owners()[*poster];
    if (another) {
      const Execution &other = posted.owners()[*another];
      InFlightDiagnostic diag =
          reportPost(other, taskText(other, schedule.ranks > 1) + " posts some of them, too");
      diag.attachNote(post.access->op->getLoc())
          << "others are posted here by " << taskText(post, schedule.ranks > 1);
      return diag;
    }
    Value value = cast<PostOp>(post.access->op).getValue();
    if (value.getDefiningOp<DistinctOp>())
      return success();
    return reportPost(post, "got " + originOf(value));
  }

  InFlightDiagnostic reportPost(const Execution &post, const std::string &what) {
    InFlightDiagnostic diag = post.access->op->emitError()
                              << "expected the places in " << describe(mailbox())
                              << " to be what mono.distinct makes in one post, but " << what;
    diag.attachNote(first().getLoc()) << "rows of " << describe(operand.getResult())
                                      << " are scattered here at them: two that are equal would "
                                         "be written by two tasks";
    return diag;
  }

  /// No two tasks write the same columns at one place.
  LogicalResult checkRows(int64_t rank) {
    std::vector<MemoryAccess> boxes;
    for (const MemoryAccess *scatter : scatters)
      boxes.push_back(placesAndColumns(placesOf(*scatter), *scatter));
    Cover cover;
    for (const MemoryAccess &box : boxes)
      for (int64_t task = 0; task < box.tasks; ++task)
        cover.add({&box, task, rank});
    std::optional<Cover::Clash> clash = cover.seal();
    return clash ? reportTwice(*clash) : success();
  }

  LogicalResult reportTwice(const Cover::Clash &clash) {
    auto [earlier, later, element] = clash;
    ArrayRef<int64_t> shape = later.access->shape;
    int64_t columns = shape.back();
    InFlightDiagnostic diag =
        later.access->op->emitError()
        << "expected every row of " << describe(operand.getResult())
        << " to be scattered once per launch, but column " << element % columns
        << " of the row at place [" << indexText(shape.drop_back(), element / columns) << "] of "
        << describe(mailbox()) << " is written again by " << taskText(later, /*namesRank=*/false);
    diag.attachNote(earlier.access->op->getLoc())
        << "written before by " << taskText(earlier, /*namesRank=*/false)
        << "; let every task receive places of its own";
    return diag;
  }

  /// Gathers know all places in `written`.
  LogicalResult checkGathers(int64_t rank) {
    for (const MemoryAccess *other : others) {
      auto gather = cast<GatherOp>(other->op);
      const MemoryAccess &known = accessOf(receiveOf(gather.getPlaces()));
      for (int64_t task = 0; task < known.tasks; ++task) {
        llvm::BitVector unknown = written;
        Execution by{&known, task, rank};
        by.forEachRun([&](int64_t begin, int64_t end) { unknown.reset(begin, end); });
        if (unknown.any())
          return reportUnknown(gather, " without element [" +
                                           indexText(known.shape, unknown.find_first()) + "] in " +
                                           taskText(by, schedule.ranks > 1));
      }
    }
    return success();
  }

  OperandOp operand;
  const BoundSchedule &schedule;
  SmallVector<const MemoryAccess *> scatters, others; ///< in file order
  Cover posted;                                       ///< elements of the mailbox, by posts
  llvm::BitVector written; ///< elements of the mailbox that are places of one rank's scatters
};

} // namespace

LogicalResult checkPlaces(const BoundSchedule &schedule) {
  RuleScope rule(schedule.op->getContext(), "places");
  ScheduleOp op = schedule.op;
  for (auto operand : op.getBody().front().getOps<OperandOp>())
    if (failed(PlacesCheck(operand, schedule).check()))
      return failure();
  return success();
}

} // namespace mono

// Bounds and alignment of every box.
#include "dialect/Describe.h"
#include "dialect/VerifyBox.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Check/Checks.h"
#include "lowering/IndexRange.h"
#include "lowering/Rules.h"

using namespace mlir;

namespace mono {

/// An axis on which boxes start at multiples of `step` only.
struct Grain {
  int64_t axis, step;
  StringRef why;
};

/// The verifiers see what an expression says; with the task as a divisor only its values tell.
static SmallVector<Grain> grainsOf(const MemoryAccess &access) {
  int64_t last = int64_t(access.shape.size()) - 1;
  if (auto stream = dyn_cast<StreamOp>(access.op))
    return {{last - 1, gfx950::kMfmaM, "the tile of #mono.mfma_rows<16>"},
            {last, stream.getDepthGrain(), stream.getDepthGrainName()}};
  if (auto contract = dyn_cast<ContractOp>(access.op);
      contract && access.memory == contract.getSource())
    return {{1, contract.getDepthGrain(), contract.getScales() ? "a scale" : "16-byte loads"}};
  auto mailbox = access.memory.getDefiningOp<MailboxOp>();
  if (int64_t share = mailbox ? elementsOfWord(mailbox.getElement()) : 1; share > 1)
    return {{last, share, "so many share a tagged word"}};
  return {};
}

/// Offsets that the kernel could not compute.
static LogicalResult reportNoValue(const Execution &by, AffineExpr stuck) {
  InFlightDiagnostic diag = by.access->op->emitError();
  if (canLeaveRange(stuck))
    diag << "expected offsets whose every step is within " << kMaxIndex
         << ", as a kernel computes them in 32 bits";
  else
    diag << "expected offsets with a value (division by zero?)";
  return diag << ", but " << taskText(by, by.access->dependsOnRank()) << " has none for "
              << text(stuck);
}

static LogicalResult checkBox(const Execution &by, ArrayRef<Grain> grains) {
  const MemoryAccess &access = *by.access;
  AffineExpr stuck;
  std::optional<SmallVector<int64_t>> offsets = access.offsetsOf(by.task, by.rank, &stuck);
  if (!offsets)
    return reportNoValue(by, stuck);
  for (auto [axis, offset, size, extent] : llvm::enumerate(*offsets, access.sizes, access.shape)) {
    if (offset >= 0 && size <= extent && offset <= extent - size)
      continue;
    InFlightDiagnostic diag = access.op->emitError()
                              << "expected a box inside " << describe(access.memory)
                              << ", but task " << by.task << " of stage '" << access.stage.getName()
                              << "' covers " << offset << " to " << offset + size << " of "
                              << extent << " on axis " << axis;
    if (access.dependsOnRank())
      diag << " on rank " << by.rank;
    diag.attachNote(access.memory.getLoc())
        << "declared here with shape " << shapeText(access.shape);
    return diag;
  }
  for (const Grain &grain : grains)
    if ((*offsets)[grain.axis] % grain.step != 0)
      return access.op->emitError()
             << "expected offsets on axis " << grain.axis << " that are multiples of " << grain.step
             << " (" << grain.why << "), but task " << by.task << " of stage '"
             << access.stage.getName() << "' is at " << (*offsets)[grain.axis];
  return success();
}

LogicalResult checkBounds(const BoundSchedule &schedule) {
  RuleScope rule(schedule.op->getContext(), "bounds");
  for (const MemoryAccess &access : schedule.accesses) {
    SmallVector<Grain> grains = grainsOf(access);
    LogicalResult result = success();
    forEachExecution(access, access.dependsOnRank() ? schedule.ranks : 1, [&](const Execution &by) {
      if (succeeded(result))
        result = checkBox(by, grains);
    });
    if (failed(result))
      return failure();
  }
  return success();
}

} // namespace mono

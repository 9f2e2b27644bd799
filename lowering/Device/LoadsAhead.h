// Which loads of a stage go out ahead of a wait that stands in front of them in the file: shared by
// placement, code generation and the estimate of registers.
#pragma once

#include "dialect/Mono.h"
#include "llvm/ADT/DenseMap.h"

namespace mono {

/// Ops of the stage's body that make what `op` uses, regions of it included.
llvm::SmallVector<mlir::Operation *> producersInStage(mlir::Operation *op);

/// True of a gather whose loads go out alone when they go out early: its rows are put together with
/// those of this launch, or stored to its region, where it stands.
bool hasTwoHalves(mlir::Operation *load);

/// The plan for one stage of a bound schedule. A mono.load or mono.gather of an operand needs no
/// wait that nothing of its own depends on. It goes out in front of the first such mono.receive or
/// mono.receive_rows, if what it brings leaves half of a thread's registers to what lives until it
/// is used, and if the launch writes nothing that it reads:
/// - operands with `read` are written by nobody;
/// - a gather with `or` loads no row that this launch writes (docs/rules/places.md), and goes not
///   ahead of what its own task stores to the operand.
class LoadsAhead {
public:
  explicit LoadsAhead(StageOp stage);

  /// The loads that go out in front of `wait`, in file order.
  llvm::ArrayRef<mlir::Operation *> inFrontOf(mlir::Operation *wait) const;

  /// Where the loads of `op` go out: in front of this wait, or at the op itself.
  mlir::Operation *placeOf(mlir::Operation *op) const;

  /// 32-bit registers a thread holds at each op of the body, with what is in flight.
  llvm::ArrayRef<int64_t> registers() const { return held; }

private:
  /// True if the results of `op` can be had in front of `wait`.
  bool isKnown(mlir::Operation *op, mlir::Operation *wait);
  bool canBeKnown(mlir::Operation *op, mlir::Operation *wait);
  bool mayPass(mlir::Operation *load, mlir::Operation *wait);
  /// Counts what `load` brings from `wait` on, if there is room for it.
  bool reserve(mlir::Operation *load, mlir::Operation *wait);

  int64_t threads;
  llvm::SmallVector<int64_t> held;
  llvm::DenseMap<mlir::Operation *, int64_t> number; ///< of each op of the body
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, bool> known;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> places;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> loads;
};

} // namespace mono

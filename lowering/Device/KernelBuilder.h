// What every op emitter is written with: arithmetic on indices, and LDS with the barriers between
// its accesses.
#pragma once

#include "lowering/Device/LdsHazards.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mono {

class KernelBuilder {
protected:
  /// `skipBarrier`: number of a barrier to leave out; -1 for none.
  KernelBuilder(mlir::Location loc, int64_t skipBarrier)
      : b(loc, loc.getContext()), barriersToSkip(skipBarrier) {}
  ~KernelBuilder() = default;

  mlir::Value constant(int64_t value); ///< index
  mlir::Value constantI32(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value divide(mlir::Value a, int64_t b); ///< unsigned
  mlir::Value modulo(mlir::Value a, int64_t b); ///< unsigned
  mlir::Value lessThan(mlir::Value a, int64_t b);
  mlir::Value toI32(mlir::Value index);
  mlir::Value toI64(mlir::Value index);
  mlir::Value readFirstLane(mlir::Value i32);

  /// The value, or any one where it is poison (a shift too far, a float out of range): a branch on
  /// poison, bounds checks of what the schedule computes among them, would be undefined.
  mlir::Value frozen(mlir::Value scalar);
  mlir::Value single(mlir::Value scalar); ///< as a vector of one element, for LDS accesses

  /// The same value in registers of those constraints, but another one to LLVM, except that two
  /// with the same text are the same to it where one is always behind the other.
  mlir::Value hidden(mlir::Value value, llvm::StringRef constraints, const llvm::Twine &text = "");

  /// Runs `body` for the threads where `condition` holds.
  void guard(mlir::Value condition, llvm::function_ref<void()> body);

  /// Index of element `linear` of a tensor of `shape`, axis by axis.
  llvm::SmallVector<mlir::Value> unflatten(mlir::Value linear, llvm::ArrayRef<int64_t> shape);
  /// sum of (offsets[i] + index[i]) * strides[i]; a shorter index counts from the last axis.
  mlir::Value address(llvm::ArrayRef<mlir::Value> offsets, llvm::ArrayRef<mlir::Value> index,
                      llvm::ArrayRef<int64_t> strides);

  /// LDS as elements of one type, from a byte offset on.
  mlir::Value ldsView(int64_t offset, mlir::Type element, int64_t count);
  mlir::Value ldsLoad(int64_t offset, mlir::Type element, int64_t count, mlir::Value index,
                      int64_t width);
  void ldsStore(int64_t offset, int64_t count, mlir::Value index, mlir::Value vector);
  /// Says which bytes of LDS the workgroup reads and writes next; puts one barrier in front of all
  /// of it if any of it needs one. What is announced must be emitted before anything else is: the
  /// barrier of a later announcement ends what came before it, emitted or not.
  void willTouch(llvm::ArrayRef<LdsRange> reads, llvm::ArrayRef<LdsRange> writes);
  void willRead(LdsRange range) { willTouch(range, {}); }
  void willWrite(LdsRange range) { willTouch({}, range); }
  void barrier();
  /// Emits what must come behind a barrier that receives stand in front of.
  virtual void behindReceives() {}
  /// A barrier behind which all wavefronts see what each has stored to LDS in front of it.
  void emitBarrier();

  mlir::ImplicitLocOpBuilder b;
  mlir::Value arena; ///< memref<Nxi8, workgroup>
  LdsHazards hazards;
  int64_t barriersToSkip; ///< barriers before the one to leave out; negative: none or past it
};

/// Row-major strides of a shape.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace mono

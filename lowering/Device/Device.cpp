// The pass that turns a placed schedule into a gpu.module with one kernel.
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Device/Defined.h"
#include "lowering/Device/Emitter.h"
#include "lowering/Manifest.h"
#include "lowering/Passes.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {
#define GEN_PASS_DEF_DEVICEPASS
#include "lowering/Passes.h.inc"
} // namespace mono

using namespace mono;

namespace {

/// An operand in memory: all elements in a row; boxes are addressed by the emitter. Experts'
/// weights may be past the reach of a 32-bit index, so packed elements are behind a pointer.
Type memoryType(OperandOp op) {
  if (op.getElement().getIntOrFloatBitWidth() <= 8)
    return LLVM::LLVMPointerType::get(op.getContext(), 1);
  int64_t elements = llvm::product_of(staticValues(op.getShape()));
  auto space = gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Global);
  return MemRefType::get({elements}, op.getElement(), MemRefLayoutAttrInterface{}, space);
}

gpu::GPUFuncOp createKernel(OpBuilder &builder, ScheduleOp schedule) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> arguments;
  for (auto operand : schedule.getBody().front().getOps<OperandOp>())
    arguments.push_back(memoryType(operand));
  auto global = LLVM::LLVMPointerType::get(context, 1);
  auto constant = LLVM::LLVMPointerType::get(context, 4);
  // Device mailboxes, table of peer mailboxes (never written in a launch), epoch words, rank.
  arguments.append({global, constant, global, builder.getI32Type()});

  SmallVector<Type> workgroup;
  if (int64_t bytes = schedule->getAttrOfType<IntegerAttr>(kLdsBytesAttr).getInt()) {
    auto space = gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
    workgroup.push_back(
        MemRefType::get({bytes}, builder.getI8Type(), MemRefLayoutAttrInterface{}, space));
  }
  auto func = gpu::GPUFuncOp::create(builder, schedule.getLoc(), schedule.getSymName(),
                                     builder.getFunctionType(arguments, {}), workgroup);
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  func.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(schedule.getThreads()), 1, 1}));
  func.setKnownGridSizeAttr(
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(schedule.getCtas()), 1, 1}));
  if (!workgroup.empty())
    func.setWorkgroupAttributionAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                                     builder.getI64IntegerAttr(16));
  return func;
}

/// All memory has its place.
LogicalResult expectPlaced(ScheduleOp schedule) {
  if (schedule->hasAttr(kLdsBytesAttr))
    return success();
  return schedule.emitError() << "expected a placed schedule; run --mono-place-memory first";
}

struct DevicePass : mono::impl::DevicePassBase<DevicePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), UnitAttr::get(&getContext()));
    for (ScheduleOp schedule : llvm::make_early_inc_range(module.getOps<ScheduleOp>())) {
      if (failed(expectPlaced(schedule)))
        return signalPassFailure();
      OpBuilder builder(schedule);
      auto gpuModule = gpu::GPUModuleOp::create(builder, schedule.getLoc(),
                                                (schedule.getSymName() + "_module").str());
      gpuModule->setAttr(kManifestAttr,
                         builder.getStringAttr(manifestOf(schedule, watchdog, markers)));
      builder.setInsertionPointToStart(gpuModule.getBody());
      gpu::GPUFuncOp func = createKernel(builder, schedule);
      if (failed(Emitter(schedule, func, watchdog, markers, skipBarrier).emit()))
        return signalPassFailure();
      defineValues(func);
      schedule.erase();
    }
  }
};

} // namespace

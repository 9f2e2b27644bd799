// Pass groups in order, and what has to be registered for them.
#include "lowering/Pipeline.h"

#include "dialect/Mono.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace mono {

/// Per-thread code to the LLVM and ROCDL dialects.
static void addRocdlGroup(OpPassManager &pm) {
  OpPassManager &kernel = pm.nest<gpu::GPUModuleOp>();
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createSCFToControlFlowPass());
  // Both before the ROCDL patterns, which would call the ROCm device library instead.
  kernel.addPass(createApproximateMathPass());
  kernel.addPass(createConvertMathToLLVMPass());
  ConvertGpuOpsToROCDLOpsOptions options;
  options.chipset = gfx950::kName;
  // Byte offsets of operands stay below 2^31, and 32-bit addresses take half the registers.
  options.indexBitwidth = 32;
  options.useBarePtrCallConv = true;
  options.runtime = gpu::amd::Runtime::HIP;
  kernel.addPass(createConvertGpuOpsToROCDLOps(options));
  kernel.addPass(createReconcileUnrealizedCastsPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

void buildPipeline(OpPassManager &pm, const PipelineParams &params, Step first, Step last) {
  auto wanted = [&](Step step) { return first <= step && step <= last; };
  if (wanted(Step::Bound)) {
    BindPassOptions options;
    options.params.assign(params.params.begin(), params.params.end());
    pm.addPass(createBindPass(options));
  }
  if (wanted(Step::Checked))
    pm.addPass(createCheckPass());
  if (wanted(Step::Placed))
    pm.addPass(createPlacePass());
  if (wanted(Step::Device))
    pm.addPass(createDevicePass({params.watchdogCycles}));
  if (wanted(Step::Rocdl))
    addRocdlGroup(pm);
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<MonoDialect, amdgpu::AMDGPUDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  gpu::GPUDialect, index::IndexDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                  math::MathDialect, memref::MemRefDialect, ROCDL::ROCDLDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerROCDLDialectTranslation(registry);
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  ListOption<std::string> params{*this, "params", llvm::cl::desc("NAME=INT of each parameter")};
};
} // namespace

void registerPipelines() {
  registerBindPass();
  registerCheckPass();
  registerPlacePass();
  registerDevicePass();
  registerApproximateMathPass();
  PassPipelineRegistration<PipelineOptions>(
      "mono-pipeline", "the whole way from a schedule to the LLVM and ROCDL dialects",
      [](OpPassManager &pm, const PipelineOptions &options) {
        PipelineParams params;
        params.params.assign(options.params.begin(), options.params.end());
        buildPipeline(pm, params, Step::Bound, Step::Rocdl);
      });
}

} // namespace mono

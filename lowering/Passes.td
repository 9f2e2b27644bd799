// The passes of the pipeline, in the order they run.
#ifndef MONO_LOWERING_PASSES_TD
#define MONO_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def BindPass : Pass<"mono-bind-parameters", "::mlir::ModuleOp"> {
  let summary = "fix parameters, inline routines, make every shape static";
  let description = [{
    Reads imported files, replaces parameters by constants, inlines the calls of routines, refines
    the shapes of all tensors, judges every mono.require and moves tensors that are made outside the
    stages into those that use them. Errors: a parameter that is missing, unknown or outside its legal
    set; an import or a routine that does not exist; more than 65536 ops in the calls of a schedule;
    shapes that do not fit together once they are known; arithmetic on parameters past 64 bits.
  }];
  let options = [
    ListOption<"params", "params", "std::string", "values of parameters, NAME=INT each">
  ];
  let dependentDialects = ["::mono::MonoDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect"];
}

def CheckPass : Pass<"mono-check-schedule", "::mlir::ModuleOp"> {
  let summary = "reject schedules that read out of bounds, hang, or read what nobody wrote";
  let description = [{
    On the bound schedule, over all tasks and ranks: every box lies inside its operand, region or
    mailbox; every received element is posted exactly once per launch; program order and waits form no
    circle, so nothing waits forever; no slot of a mailbox is written over before its readers are
    done, with ranks launches apart; outputs are stored completely and once, and nobody loads what
    another thread stores; a region is read only where its workgroup has written it, and no task has
    written over what an earlier one of its stage left there for a later stage. Posts whose
    proof rests on earlier receives of their workgroup are marked `mono.after_waits`.
  }];
}

def PlacePass : Pass<"mono-place-memory", "::mlir::ModuleOp"> {
  let summary = "give LDS regions, scratch areas and mailboxes their addresses";
  let description = [{
    Regions live from the first stage that uses them to the last, scratch areas of reductions,
    broadcasts, contractions, products and selections for one stage; what does not live together may
    overlap.
    Regions with `at` stay where they are and are checked; the others are placed around them.
    Records the bytes of LDS (`mono.lds_bytes`), the least any placement needs
    (`mono.lds_lower_bound`) and the bytes of mailbox memory on the schedule. Errors: more LDS than
    the chip gives a workgroup; pinned regions that overlap while both live.
  }];
}

def DevicePass : Pass<"mono-lower-to-device", "::mlir::ModuleOp"> {
  let summary = "one gpu.func of per-thread code for the schedule";
  let description = [{
    Distributes tensors over the threads of the workgroup, turns posts and receives into tagged
    8-byte words, contractions into MFMA, and puts the barriers that LDS needs, and no others.
  }];
  let options = [
    Option<"watchdog", "watchdog", "int64_t", /*default=*/"0",
           "cycles a wait may take before the kernel records it and leaves; 0: forever">,
    Option<"markers", "markers", "bool", /*default=*/"false",
           "s_ttracedata at the begin of each task, for traces">,
    Option<"skipBarrier", "skip-barrier", "int64_t", /*default=*/"-1",
           "number of a barrier to leave out, for tests of the emulator's race check; -1: none">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::amdgpu::AMDGPUDialect",
                           "::mlir::ROCDL::ROCDLDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def ApproximateMathPass : Pass<"mono-approximate-math"> {
  let summary = "polynomials for math.tanh, math.erf and math.erfc";
  let description = [{
    LLVM has no code for these on AMD GPUs, and the ROCm device library, whose functions MLIR would
    call, is not linked. MLIR's own approximations are within a few units in the last place of f32.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // MONO_LOWERING_PASSES_TD

// LLVM dialect -> LLVM IR -> O3 -> machine code.
#include "lowering/codeobject/CodeObject.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Manifest.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

extern "C" {
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

using namespace llvm;

namespace mono {

static constexpr const char *kTriple = "amdgcn-amd-amdhsa";

static Error failure(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine() {
  static const bool initialised = [] {
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    return true;
  }();
  (void)initialised;
  Triple triple(kTriple);
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return failure("expected an LLVM with the AMDGPU target: " + error);
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, gfx950::kName, "", TargetOptions(), Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Aggressive));
}

/// Facts about the kernel that MLIR has no word for.
static void annotate(Module &module) {
  module.setModuleFlag(Module::Error, "amdhsa_code_object_version", 600);
  for (Function &function : module) {
    if (function.getCallingConv() != CallingConv::AMDGPU_KERNEL)
      continue;
    // No hidden arguments: the kernarg segment is what the manifest says.
    for (const char *hidden :
         {"amdgpu-no-implicitarg-ptr", "amdgpu-no-dispatch-ptr", "amdgpu-no-dispatch-id",
          "amdgpu-no-queue-ptr", "amdgpu-no-hostcall-ptr", "amdgpu-no-multigrid-sync-arg",
          "amdgpu-no-heap-ptr", "amdgpu-no-default-queue", "amdgpu-no-completion-action",
          "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z", "amdgpu-no-workitem-id-y",
          "amdgpu-no-workitem-id-z", "amdgpu-no-lds-kernel-id", "amdgpu-no-flat-scratch-init"})
      function.addFnAttr(hidden);
    function.addFnAttr("uniform-work-group-size", "true");
  }
}

/// Puts the manifest into a section of its own that survives optimisation and linking.
static void embedManifest(Module &module, StringRef manifest) {
  Constant *text = ConstantDataArray::getString(module.getContext(), manifest, /*AddNull=*/false);
  auto *global = new GlobalVariable(module, text->getType(), /*isConstant=*/true,
                                    GlobalValue::InternalLinkage, text, "mono.manifest", nullptr,
                                    GlobalValue::NotThreadLocal, /*AddressSpace=*/4);
  global->setSection(kManifestSection);
  global->setAlignment(Align(16));
  appendToCompilerUsed(module, {global});
}

Expected<std::unique_ptr<Module>> translate(mlir::Operation *gpuModule, LLVMContext &context,
                                            TargetMachine &target) {
  auto manifest = gpuModule->getAttrOfType<mlir::StringAttr>(kManifestAttr);
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(gpuModule, context, "mono");
  if (!module)
    return failure("the LLVM dialect could not be translated to LLVM IR");
  module->setTargetTriple(target.getTargetTriple());
  module->setDataLayout(target.createDataLayout());
  annotate(*module);
  if (manifest)
    embedManifest(*module, manifest.getValue());
  return module;
}

void optimize(Module &module, TargetMachine &target) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
}

Expected<Bytes> emitMachineCode(Module &module, TargetMachine &target, CodeGenFileType type) {
  SmallVector<char, 0> buffer;
  raw_svector_ostream stream(buffer);
  legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, type))
    return failure("the code generator can't write this kind of file");
  passes.run(module);
  return Bytes(buffer.begin(), buffer.end());
}

} // namespace mono

// From the LLVM dialect to the bytes of a gfx950 code object. The only user of LLVM's code
// generator and of the linkers.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <shared_mutex>
#include <vector>

namespace mono {

using Bytes = std::vector<uint8_t>;

/// The code generator for gfx950 (wave64, code object v6).
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine();

/// Translates a gpu.module in the LLVM and ROCDL dialects, with its manifest in kManifestSection.
llvm::Expected<std::unique_ptr<llvm::Module>>
translate(mlir::Operation *gpuModule, llvm::LLVMContext &context, llvm::TargetMachine &target);

/// LLVM's O3 pipeline.
void optimize(llvm::Module &module, llvm::TargetMachine &target);

/// Machine code as assembly text, or as a relocatable object.
llvm::Expected<Bytes> emitMachineCode(llvm::Module &module, llvm::TargetMachine &target,
                                      llvm::CodeGenFileType type);

/// LLVM's command line options are global. Who runs LLVM holds this shared; LLD, which resets the
/// options on every call, runs with it held exclusively.
std::shared_mutex &llvmOptionsMutex();

/// Links a relocatable into a loadable code object with LLD, in this process, one call at a time.
llvm::Expected<Bytes> linkWithLld(llvm::ArrayRef<uint8_t> relocatable);

/// What the finished code object asks of the chip, from its metadata note.
struct KernelResources {
  std::string name;
  int64_t vgprs = 0, agprs = 0, sgprs = 0;
  int64_t ldsBytes = 0, scratchBytes = 0;
  int64_t vgprSpills = 0, sgprSpills = 0;
  int64_t kernargBytes = 0;
};
llvm::Expected<std::vector<KernelResources>> inspect(llvm::ArrayRef<uint8_t> codeObject);

} // namespace mono

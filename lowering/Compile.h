// Schedule file in, code object out: the compiler as a library.
#pragma once

#include "lowering/Bind/Imports.h"
#include "lowering/Costs.h"
#include "lowering/Place/Arena.h"
#include "lowering/codeobject/CodeObject.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mono {

/// What to produce: the forms of `monoc --emit`, in the order they arise.
enum class Emit { Mono, Placed, Device, Rocdl, Llvm, Asm, Obj, Hsaco };

struct CompileOptions {
  std::vector<std::pair<std::string, int64_t>> params; ///< -D NAME=INT
  std::string linker = "lld";                          ///< lld or comgr
  /// Cycles a wait may take before the kernel records who waited for what and leaves; 0: for ever.
  int64_t watchdogCycles = 0;
  Emit emit = Emit::Hsaco;
  bool costs = false;     ///< fill CompileResult::costs
  bool checkOnly = false; ///< stop after the checks and placement; the result is empty
  bool warningsAreErrors = false;
  bool time = false;                        ///< print what each pass took to stderr
  llvm::raw_ostream *diagnostics = nullptr; ///< where diagnostics go; stderr if null
};

struct CompileResult {
  Bytes output;                           ///< text or bytes of the form asked for
  std::string manifest;                   ///< JSON, from Emit::Device on
  std::vector<KernelResources> resources; ///< from the finished object, for Emit::Hsaco
  ArenaPlan arena;                        ///< LDS over the stages, from Emit::Placed on
  Costs costs;                            ///< from Emit::Placed on, if asked for
  std::vector<ImportedFile> imports;      ///< what was read besides the schedule itself
};

/// Compiles a file. Diagnostics are printed as they arise; the error says only what failed as a
/// whole ("compilation failed", "can't open ..."). May be called from several threads at once.
llvm::Expected<CompileResult> compile(llvm::StringRef path, const CompileOptions &options);

/// Compiles text in memory. The identifier of the buffer stands for the file name: imports are
/// relative to its folder.
llvm::Expected<CompileResult> compile(std::unique_ptr<llvm::MemoryBuffer> source,
                                      const CompileOptions &options);

/// The code object alone.
llvm::Expected<std::vector<uint8_t>> compileFile(llvm::StringRef path,
                                                 const CompileOptions &options);

} // namespace mono

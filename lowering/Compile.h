// Schedule file in, code object out: the compiler as a library.
#pragma once

#include "lowering/codeobject/CodeObject.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
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
  Emit emit = Emit::Hsaco;
  bool checkOnly = false; ///< stop after the checks and placement; the result is empty
  bool time = false;      ///< print what each pass took to stderr
};

struct CompileResult {
  Bytes output;                           ///< text or bytes of the form asked for
  std::string manifest;                   ///< JSON, from Emit::Device on
  std::vector<KernelResources> resources; ///< from the finished object, for Emit::Hsaco
};

/// Compiles a file. Diagnostics go to stderr as they arise; the error says only what failed as a
/// whole ("compilation failed", "can't open ...").
llvm::Expected<CompileResult> compile(llvm::StringRef path, const CompileOptions &options);

/// The code object alone.
llvm::Expected<std::vector<uint8_t>> compileFile(llvm::StringRef path,
                                                 const CompileOptions &options);

} // namespace mono

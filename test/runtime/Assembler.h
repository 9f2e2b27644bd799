// Code objects for tests: gfx950 assembly text, assembled and linked by the LLVM tools.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mono::test {

/// Assembles and links `text`. A failure of the tools fails the running test and gives no bytes.
std::vector<uint8_t> assemble(llvm::StringRef text, llvm::StringRef chip = "gfx950");

/// What the head and tail of a kernel need beyond its instructions.
struct KernelText {
  std::string name = "exchange";
  std::string body;          ///< instructions; s[0:1] = kernel arguments, s2 = workgroup
  unsigned kernargBytes = 0; ///< of the descriptor
  unsigned ldsBytes = 0;     ///< static LDS of the descriptor
  std::string manifest;      ///< empty: no section .mono.manifest
};

/// Complete assembly of one kernel: code, descriptor, metadata, manifest.
std::string kernelAssembly(const KernelText &kernel, llvm::StringRef chip = "gfx950");

} // namespace mono::test

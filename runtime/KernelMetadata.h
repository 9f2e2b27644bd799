// What a code object says about one of its kernels: the metadata note (llvm AMDGPUUsage, "Code
// Object V5 Metadata"). For devices whose driver does not tell all of it.
#pragma once

#include "runtime/Device.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mono {

struct KernelMetadata {
  KernelInfo info;
  /// Bytes of the arguments the caller gives; hidden ones, which the driver fills in, come behind.
  uint64_t explicitKernargBytes = 0;
  /// Work-items of the largest workgroup it was compiled for; 0 when the code object does not say.
  uint64_t maxWorkgroupSize = 0;
};

/// Reads the metadata of a kernel. Any byte string gives metadata or an error.
llvm::Expected<KernelMetadata> readKernelMetadata(llvm::ArrayRef<uint8_t> codeObject,
                                                  llvm::StringRef kernel);

} // namespace mono

// The kernel descriptor and the metadata note of a code object.
#pragma once

#include "runtime/emulator/decode/CodeObject.h"

namespace mono::emu {

/// Reads the 64-byte descriptor at image offset `descriptorOffset` (AMDGPUUsage "Kernel
/// Descriptor"). The bytes must be inside `image`.
llvm::Expected<KernelDescription> parseKernelDescriptor(llvm::StringRef name,
                                                        llvm::ArrayRef<uint8_t> image,
                                                        uint64_t descriptorOffset);

/// Adds what the NT_AMDGPU_METADATA msgpack blob says about the kernels: register and spill counts,
/// arguments. A kernel with metadata but without a descriptor, or with other segment sizes than the
/// descriptor, is an error.
llvm::Error applyMetadata(llvm::StringRef blob, CodeObject &object);

} // namespace mono::emu

// The ELF file around a code object, for what reads parts of it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Error.h"

namespace mono {

/// Checks that the bytes are a 64-bit ELF file for AMDGPU. Its contents are not checked.
llvm::Expected<llvm::object::ELF64LEFile> openCodeObject(llvm::ArrayRef<uint8_t> codeObject);

/// Checks that the file holds all that its headers speak of: segments, sections and their tables.
llvm::Error checkSegments(llvm::ArrayRef<uint8_t> codeObject);

/// The same error, said about a broken code object.
llvm::Error brokenCodeObject(llvm::Error error);

} // namespace mono

// An AMDGPU code object: validated, laid out in memory form, its kernels described.
#pragma once

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/decode/Decoder.h"
#include "runtime/emulator/exec/Workgroup.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace mono::emu {

/// One kernel: register set-up from the 64-byte descriptor `NAME.kd`, the rest from the metadata.
struct KernelDescription {
  KernelInfo info;
  KernelSetup setup;
  std::vector<KernelArg> args;
};

/// A place that receives the load address: 64-bit word at `offset` = load address + `addend`.
struct RelativeRelocation {
  uint64_t offset;
  uint64_t addend;
};

/// A global variable of the image.
struct GlobalVariable {
  uint64_t offset, size;
};

/// The parsed file. Image offsets are the ELF's virtual addresses; the image can be placed at any
/// 4096-byte aligned device address.
struct CodeObject {
  std::vector<uint8_t> image; ///< PT_LOAD segments at their addresses, gaps zero; without the zeros
                              ///< at the end
  uint64_t imageBytes = 0;    ///< size in memory, zeros at the end (.bss) included; at most 2 GiB
  std::vector<CodeRange> code;
  std::vector<uint64_t> functions; ///< image offsets where code begins
  std::vector<RelativeRelocation> relocations;
  std::map<std::string, KernelDescription, std::less<>> kernels;
  std::map<std::string, GlobalVariable, std::less<>> globals;
};

/// Parses and validates a code object: ELF64 little endian, EM_AMDGPU, OSABI HSA, ABI version 2 to
/// 4 (code object v4 to v6), ET_DYN, mach gfx950, at least one PT_LOAD, every range inside the file
/// and the image, every descriptor consistent with the metadata. Any fault of the file is an error
/// that names the field; no input crashes.
llvm::Expected<CodeObject> parseCodeObject(llvm::ArrayRef<uint8_t> file);

} // namespace mono::emu

// Bytes of gfx950 code to Instruction records, through LLVM's disassembler.
#pragma once

#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/Program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mono::emu {

/// One disassembler. Not thread-safe: one per thread, or behind a lock.
class Decoder {
public:
  /// Fails if LLVM was built without the AMDGPU target.
  static llvm::Expected<std::unique_ptr<Decoder>> create();
  ~Decoder();

  /// Decodes the instruction at the start of `bytes`; `name` becomes its base name ("V_ADD_F32").
  /// False if the bytes are no gfx950 instruction. The handler is left null.
  bool decode(llvm::ArrayRef<uint8_t> bytes, Instruction &inst, std::string &name);

  /// Assembly text of the instruction at the start of `bytes`, e.g. "v_add_f32_e32 v0, v1, v2".
  std::string print(llvm::ArrayRef<uint8_t> bytes);

  /// Base names of every opcode LLVM can decode for gfx950, for table tests.
  std::vector<std::string> allBaseNames() const;

private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// "V_ADD_F32_e64_vi" -> "V_ADD_F32"; addressing-mode suffixes such as _SADDR, _OFFEN, _IMM and
/// _RTN go too.
std::string baseNameOf(llvm::StringRef opcodeName);

/// A range of executable bytes in a memory image.
struct CodeRange {
  uint64_t begin, end;
};

/// Decodes all code of `image`. Decoding restarts at each of `entries` (image offsets of
/// functions), so that data between functions cannot shift it. Undecodable dwords become records
/// without a handler that fail when executed.
llvm::Expected<std::shared_ptr<const Program>> decodeProgram(llvm::ArrayRef<uint8_t> image,
                                                             llvm::ArrayRef<CodeRange> ranges,
                                                             llvm::ArrayRef<uint64_t> entries,
                                                             const HandlerTable &handlers);

} // namespace mono::emu

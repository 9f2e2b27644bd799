// The table from base opcode names to handlers, filled by one register function a file.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

namespace mono::emu {

/// Base names are LLVM's opcode names up to the first lower-case suffix and without the addressing
/// mode: "V_ADD_F32" for _e32/_e64/_dpp/_sdwa, "GLOBAL_LOAD_DWORD" for the SADDR form too,
/// "BUFFER_LOAD_DWORD" for OFFEN/IDXEN/..., "BUFFER_LOAD_DWORD_LDS", "GLOBAL_ATOMIC_ADD" with and
/// without _RTN, "S_LOAD_DWORDX2" for _IMM/_SGPR, "V_MFMA_SCALE_F32_16X16X128_F8F6F4".
class HandlerTable {
public:
  /// Registers `handler` under `name`. Of two registrations of one name the first one stays; a test
  /// requires duplicates() to be 0.
  void add(llvm::StringRef name, Handler handler);

  /// The handler of a base name, or null if the instruction is not implemented.
  Handler find(llvm::StringRef name) const;

  unsigned duplicates() const { return duplicateCount; }
  const llvm::StringMap<Handler> &entries() const { return map; }

private:
  llvm::StringMap<Handler> map;
  unsigned duplicateCount = 0;
};

// One function a family. The scalar, memory and LDS families:
void registerSop(HandlerTable &);
void registerSopProgramFlow(HandlerTable &);
void registerSmem(HandlerTable &);
void registerVmem(HandlerTable &);
void registerVmemAtomic(HandlerTable &);
void registerVmemFormat(HandlerTable &);
void registerDs(HandlerTable &);
void registerDsCrossLane(HandlerTable &);
/// All vector ALU families (VOP1, VOP2, VOP3, VOPC, VOP3P, conversions); defined by exec/Valu*.
void registerValu(HandlerTable &);
/// MFMA, SMFMAC and v_accvgpr_*; defined by exec/Mfma*.
void registerMfma(HandlerTable &);

/// The table with every family registered; built once, thread-safe.
const HandlerTable &defaultHandlers();

} // namespace mono::emu

// Operands of LLVM's MCInst to the operand places of an Instruction record.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace llvm {
class MCInst;
class MCInstrDesc;
class MCInstrInfo;
class MCRegisterInfo;
} // namespace llvm

namespace mono::emu {

/// Knows which MCInst operands are registers, sources and bare modifiers. The named operand indices
/// of the AMDGPU target are private to LLVM, so operands are told apart by the public operand
/// information: defined, tied, register, or immediate of a source type.
class OperandDecoder {
public:
  OperandDecoder(const llvm::MCInstrInfo &instructions, const llvm::MCRegisterInfo &registers);

  /// Fills operands, immediates and register spans of `inst`, whose format is set. False if the
  /// instruction names a register the emulator does not have.
  bool decode(const llvm::MCInst &mc, llvm::StringRef name, Instruction &inst) const;

private:
  /// The MCInst operands sorted by role, in order.
  struct Roles {
    std::vector<Operand> defs;
    std::vector<Operand> sources;    ///< registers and source immediates, tied ones excluded
    std::vector<Operand> tied;       ///< registers tied to a def
    bool tiedFirst = false;          ///< a tied operand precedes all sources
    std::vector<int64_t> immediates; ///< modifiers and plain constants
  };
  bool sortRoles(const llvm::MCInst &mc, Roles &roles) const;
  void placeAlu(const llvm::MCInst &mc, llvm::StringRef name, Roles &roles,
                Instruction &inst) const;
  void placeSources(const llvm::MCInst &mc, llvm::StringRef name, Roles &roles,
                    Instruction &inst) const;
  void addImpliedVcc(const llvm::MCInstrDesc &desc, Instruction &inst) const;

  const llvm::MCInstrInfo &instructions;
  std::vector<Operand> registerOperands; ///< by MCRegister id
  unsigned inputModifierType = 0;        ///< operand type of src*_modifiers
  unsigned vccId = 0;
};

} // namespace mono::emu

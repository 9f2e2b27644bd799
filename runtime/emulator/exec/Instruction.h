// The decoded form of one gfx950 instruction: everything a handler needs, resolved once at load.
// No ELF and no MC types: decode/ fills these records, exec/ only reads them.
#pragma once

#include <array>
#include <cstdint>

namespace mono::emu {

class Wave;
struct Instruction;

/// Executes one instruction on one wavefront. Handlers report errors with Wave::fault() and never
/// throw.
using Handler = void (*)(Wave &, const Instruction &);

/// Microcode formats (CDNA4 ISA chapter "Microcode Formats").
enum class Format : uint8_t {
  Unknown,
  Sop1,
  Sop2,
  Sopk,
  Sopc,
  Sopp,
  Smem,
  Vop1,
  Vop2,
  Vopc,
  Vop3,  ///< VOP3A and VOP3B
  Vop3p, ///< packed math, dot products, v_fma_mix
  Mai,   ///< VOP3P-MAI: MFMA, SMFMAC, v_accvgpr_*; also the 16-byte scaled form VOP3PX2
  Ds,
  Mubuf,
  Mtbuf,
  Flat,
  Global,
  Scratch,
};

/// What an instruction counts as in the statistics.
enum class InstructionClass : uint8_t {
  Salu,
  Branch,
  Valu,
  Mfma,
  Smem,
  VmemLoad,
  VmemStore,
  VmemAtomic,
  Lds,
  Barrier,
  Waitcnt,
  Sleep,
  Other,
};
inline constexpr unsigned instructionClassCount = 13;

enum class OperandKind : uint8_t {
  None,      ///< absent, also "off"
  Sgpr,      ///< index is the hardware number 0..127: s0-s101, 106 vcc, 108 ttmp0, 124 m0, 126 exec
  Vgpr,      ///< index v0..v255
  Agpr,      ///< index a0..a255; physical register accum_offset + index
  Immediate, ///< `imm` holds the bits as the operation sees them (f16 1.0 = 0x3c00, f64 = 64 bits)
  Special,   ///< index is a SpecialRegister
};

/// Read-only sources that are not registers of the SGPR file (CDNA4 ISA, table of SRC encodings).
enum class SpecialRegister : uint16_t {
  SharedBase,   ///< src_shared_base, 64 bits
  SharedLimit,  ///< src_shared_limit
  PrivateBase,  ///< src_private_base
  PrivateLimit, ///< src_private_limit
  PopsWaveId,   ///< src_pops_exiting_wave_id, always 0
  Vccz,
  Execz,
  Scc,
  LdsDirect, ///< lds_direct: LDS[M0]
};

/// Numbers of the special registers that live in the SGPR file.
namespace sgpr {
inline constexpr unsigned flatScratch = 102, xnackMask = 104, vcc = 106, ttmp0 = 108, m0 = 124,
                          exec = 126, count = 128;
}

/// One source or destination. Modifiers are those of this operand, whatever the encoding: VOP3
/// bits, DPP or SDWA bits; an encoding without a modifier leaves it false.
struct Operand {
  OperandKind kind = OperandKind::None;
  uint8_t dwords = 1;   ///< register width; for sub-dword data 1
  uint16_t index = 0;   ///< register number, see OperandKind
  bool neg = false;     ///< VOP3/DPP/SDWA neg; VOP3P neg_lo
  bool abs = false;     ///< VOP3/DPP/SDWA abs (not VOP3P)
  bool negHi = false;   ///< VOP3P neg_hi (v_fma_mix: abs)
  bool sext = false;    ///< SDWA integer sign extension
  bool opSel = false;   ///< op_sel bit of this source
  bool opSelHi = false; ///< VOP3P op_sel_hi bit of this source
  bool literal = false; ///< a 32-bit literal rather than an inline constant
  uint8_t sdwaSel = 6;  ///< SDWA select: 0-3 BYTE_n, 4-5 WORD_n, 6 DWORD
  uint64_t imm = 0;

  bool isNone() const { return kind == OperandKind::None; }
  bool isVector() const { return kind == OperandKind::Vgpr || kind == OperandKind::Agpr; }
  bool isSgpr() const { return kind == OperandKind::Sgpr; }
  bool isImmediate() const { return kind == OperandKind::Immediate; }
};

/// DPP16 control (CDNA4 ISA "DPP"): valid if `Instruction::isDpp`.
struct DppControl {
  uint16_t ctrl = 0; ///< dpp_ctrl, 9 bits: quad_perm 0-0xff, row_shl 0x101.., row_newbcast 0x150..
  uint8_t rowMask = 0xf;
  uint8_t bankMask = 0xf;
  bool boundCtrl =
      false; ///< the encoded bit: out-of-bounds lanes read 0 instead of disabling the write
  bool fetchInactive = false; ///< not encodable on GFX9; here for completeness
};

/// SDWA control of the destination; source selects are in the operands.
struct SdwaControl {
  uint8_t dstSel = 6;    ///< 0-3 BYTE_n, 4-5 WORD_n, 6 DWORD
  uint8_t dstUnused = 0; ///< 0 UNUSED_PAD, 1 UNUSED_SEXT, 2 UNUSED_PRESERVE
};

/// A run of registers an instruction reads or writes, for the pending-load and poison checks.
struct RegisterSpan {
  OperandKind kind = OperandKind::None; ///< Sgpr, Vgpr or Agpr
  bool isWrite = false;
  uint16_t first = 0;
  uint16_t count = 0;
};

/// Operand order is the assembler's, without "off" and without the implied old value of DPP/SDWA.
///  - `dst[0]` vdst or sdst, `dst[1]` the carry or compare mask (vcc in e32 forms is made explicit:
///    v_add_co_u32_e32 has dst[1] = vcc, v_cmp_*_e32 has dst[0] = vcc). v_cmpx writes exec besides
///    dst[0]. v_swap_b32 and v_permlane*_swap have both registers in dst[0] and dst[1] and no
///    source.
///  - `src[]`: in order; an implied vcc source is made explicit as the last one (v_cndmask_b32_e32,
///    v_addc_co_u32_e32, v_div_fmas). v_fmac, v_mac, v_dot*c, v_pk_fmac have the accumulator in
///    src[2], the same register as dst[0]; v_smfmac has src[0..1] = A, B and src[2] = index
///    register, accumulator = dst[0]. v_fmaak/v_fmamk have the literal where the assembler shows
///    it. v_mfma_scale_*: src[0..2] = A, B, C, src[3] scale of A, src[4] scale of B.
///  - memory formats have fixed places: src[0] address VGPR, src[1] data, src[2] srsrc or saddr or
///    sbase, src[3] soffset; DS: src[0] address, src[1] data0, src[2] data1. Absent ones are None.
struct Instruction {
  Handler handler = nullptr;
  uint64_t pc = 0;     ///< byte address inside the code object's memory image
  uint32_t size = 4;   ///< bytes
  uint32_t nameId = 0; ///< index into the program's table of base names, see Program::name()
  Format format = Format::Unknown;
  InstructionClass cls = InstructionClass::Other;
  /// What it counts as: the number of its class, or for a matrix instruction instructionClassCount
  /// + its matrixKind().
  uint8_t counter = uint8_t(InstructionClass::Other);
  uint8_t numDst = 0;
  uint8_t numSrc = 0;

  bool clamp = false;
  uint8_t omod = 0; ///< 0 none, 1 *2, 2 *4, 3 /2
  uint8_t opSel =
      0; ///< VOP3: the 4 encoded bits, bit 3 = destination. VOP3P: 3 bits, also in src[].opSel
  uint8_t opSelHi = 0;   ///< VOP3P, 3 bits
  bool dstOpSel = false; ///< VOP3 op_sel[3]: result goes to the high half
  bool isDpp = false;
  bool isSdwa = false;
  bool isVop3 = false; ///< the 64-bit form (e64): clamp, omod and abs/neg are meaningful
  DppControl dpp;
  SdwaControl sdwa;

  // Matrix instructions.
  uint8_t cbsz = 0; ///< broadcast size, or the format of A for f8f6f4
  uint8_t abid = 0;
  uint8_t blgp = 0;      ///< B lane group pattern, or the format of B, or the neg bits of f64 MFMA
  bool isScaled = false; ///< v_mfma_scale_*: op_sel/op_sel_hi of src[3], src[4] pick the scale byte

  // Memory instructions.
  int32_t offset = 0;  ///< signed byte offset (FLAT family, SMEM), or DS/MUBUF unsigned offset
  uint8_t offset0 = 0; ///< DS two-address forms, unscaled
  uint8_t offset1 = 0;
  bool sc0 = false; ///< on atomics: return the old value; on SMEM: glc
  bool sc1 = false;
  bool nt = false;
  bool lds = false;   ///< MUBUF/GLOBAL load straight to LDS
  bool offen = false; ///< MUBUF
  bool idxen = false; ///< MUBUF

  uint32_t imm = 0;  ///< SOPP/SOPK simm16 (sign-extended), s_getreg/s_setreg hwreg, v_bitop3 table,
                     ///< MTBUF format
  uint32_t imm2 = 0; ///< s_setreg_imm32_b32 value

  std::array<Operand, 2> dst;
  std::array<Operand, 5> src;

  uint8_t numSpans = 0;
  std::array<RegisterSpan, 8> spans; ///< explicit operands, adjacent to what the checks need
  uint16_t vgprEnd = 0; ///< one past the highest VGPR named; the allocation must cover it
  uint16_t agprEnd = 0; ///< the same for AGPRs
};

} // namespace mono::emu

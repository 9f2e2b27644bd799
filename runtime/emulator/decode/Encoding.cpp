// The bit fields of the GFX9 microcode formats.
#include "runtime/emulator/decode/Encoding.h"

namespace mono::emu {

static uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return word >> low & (high - low == 31 ? ~0u : (1u << (high - low + 1)) - 1);
}
static bool bit(uint32_t word, unsigned n) { return word >> n & 1; }

/// FLAT, GLOBAL and SCRATCH share one prefix.
static Format flatFormat(uint32_t word) {
  switch (bits(word, 15, 14)) {
  case 0:
    return Format::Flat;
  case 1:
    return Format::Scratch;
  default:
    return Format::Global;
  }
}
Format formatOf(uint32_t word) {
  if (!bit(word, 31)) {
    uint32_t prefix = bits(word, 30, 25);
    return prefix == 0x3E ? Format::Vopc : prefix == 0x3F ? Format::Vop1 : Format::Vop2;
  }
  if (bits(word, 31, 30) == 2) {
    switch (bits(word, 31, 23)) {
    case 0x17D:
      return Format::Sop1;
    case 0x17E:
      return Format::Sopc;
    case 0x17F:
      return Format::Sopp;
    }
    return bits(word, 31, 28) == 0xB ? Format::Sopk : Format::Sop2;
  }
  switch (bits(word, 31, 26)) {
  case 0x30:
    return Format::Smem;
  case 0x34:
    return bits(word, 31, 23) == 0x1A7 ? Format::Vop3p : Format::Vop3;
  case 0x36:
    return Format::Ds;
  case 0x37:
    return flatFormat(word);
  case 0x38:
    return Format::Mubuf;
  case 0x3A:
    return Format::Mtbuf;
  }
  return Format::Unknown;
}

static void decodeVop3(const EncodedWords &w, Instruction &i) {
  i.isVop3 = true;
  i.opSel = uint8_t(bits(w.word[0], 14, 11));
  i.dstOpSel = i.opSel >> 3 & 1;
  i.clamp = bit(w.word[0], 15);
  i.omod = uint8_t(bits(w.word[1], 28, 27));
  for (unsigned s = 0; s < 3; ++s) {
    i.src[s].abs = bit(w.word[0], 8 + s);
    i.src[s].neg = bit(w.word[1], 29 + s);
    i.src[s].opSel = bit(w.word[0], 11 + s);
  }
}

/// VOP3B: bits 14:8 hold the scalar destination instead of abs and op_sel.
static void decodeVop3b(const EncodedWords &w, Instruction &i) {
  decodeVop3(w, i);
  i.opSel = 0;
  i.dstOpSel = false;
  for (Operand &source : i.src)
    source.abs = source.opSel = false;
}

static void decodeVop3p(const EncodedWords &w, Instruction &i) {
  i.isVop3 = true;
  i.opSel = uint8_t(bits(w.word[0], 13, 11));
  i.opSelHi = uint8_t(bits(w.word[1], 28, 27) | bit(w.word[0], 14) << 2);
  i.clamp = bit(w.word[0], 15);
  for (unsigned s = 0; s < 3; ++s) {
    i.src[s].neg = bit(w.word[1], 29 + s);
    i.src[s].negHi = bit(w.word[0], 8 + s);
    i.src[s].opSel = i.opSel >> s & 1;
    i.src[s].opSelHi = i.opSelHi >> s & 1;
  }
}

static void decodeMai(const EncodedWords &w, Instruction &i) {
  // VOP3PX2: the first 8 bytes hold the scale operands, the second 8 the MFMA. The scale of operand
  // n takes byte {op_sel_hi[n], op_sel[n]} of its register.
  i.isScaled = i.size == 16;
  unsigned base = i.isScaled ? 2 : 0;
  i.cbsz = uint8_t(bits(w.word[base], 10, 8));
  i.abid = uint8_t(bits(w.word[base], 14, 11));
  i.blgp = uint8_t(bits(w.word[base + 1], 31, 29));
  if (!i.isScaled)
    return;
  i.opSel = uint8_t(bits(w.word[0], 12, 11));
  i.opSelHi = uint8_t(bits(w.word[1], 28, 27));
  for (unsigned s = 0; s < 2; ++s) {
    i.src[3 + s].opSel = i.opSel >> s & 1;
    i.src[3 + s].opSelHi = i.opSelHi >> s & 1;
  }
}

static void decodeDpp(uint32_t word, Instruction &i) {
  i.isDpp = true;
  i.dpp.ctrl = uint16_t(bits(word, 16, 8));
  i.dpp.boundCtrl = bit(word, 19);
  i.dpp.bankMask = uint8_t(bits(word, 27, 24));
  i.dpp.rowMask = uint8_t(bits(word, 31, 28));
  for (unsigned s = 0; s < 2; ++s) {
    i.src[s].neg = bit(word, 20 + 2 * s);
    i.src[s].abs = bit(word, 21 + 2 * s);
  }
}

static void decodeSdwa(uint32_t word, Instruction &i) {
  i.isSdwa = true;
  // SDWAB (VOPC) has the scalar destination where VOP1/VOP2 have the destination select.
  if (i.format != Format::Vopc) {
    i.sdwa.dstSel = uint8_t(bits(word, 10, 8));
    i.sdwa.dstUnused = uint8_t(bits(word, 12, 11));
    i.clamp = bit(word, 13);
    i.omod = uint8_t(bits(word, 15, 14));
  }
  for (unsigned s = 0; s < 2; ++s) {
    unsigned shift = 16 + 8 * s;
    i.src[s].sdwaSel = uint8_t(bits(word, shift + 2, shift));
    i.src[s].sext = bit(word, shift + 3);
    i.src[s].neg = bit(word, shift + 4);
    i.src[s].abs = bit(word, shift + 5);
  }
}

/// VOP1, VOP2 and VOPC: src0 = 249 announces an SDWA dword, 250 a DPP dword.
static void decodeShortVop(const EncodedWords &w, Instruction &i) {
  uint32_t src0 = bits(w.word[0], 8, 0);
  if (src0 == 249)
    decodeSdwa(w.word[1], i);
  else if (src0 == 250)
    decodeDpp(w.word[1], i);
}

static int32_t signExtend(uint32_t value, unsigned width) {
  return int32_t(value << (32 - width)) >> (32 - width);
}

static void decodeFlat(const EncodedWords &w, Instruction &i) {
  i.offset = i.format == Format::Flat ? int32_t(bits(w.word[0], 11, 0))
                                      : signExtend(bits(w.word[0], 12, 0), 13);
  i.sc0 = bit(w.word[0], 16);
  i.nt = bit(w.word[0], 17);
  i.sc1 = bit(w.word[0], 25);
}

static void decodeMubuf(const EncodedWords &w, Instruction &i) {
  i.offset = int32_t(bits(w.word[0], 11, 0));
  i.offen = bit(w.word[0], 12);
  i.idxen = bit(w.word[0], 13);
  i.sc0 = bit(w.word[0], 14);
  i.sc1 = bit(w.word[0], 15);
  i.lds = bit(w.word[0], 16);
  i.nt = bit(w.word[0], 17);
}

/// Here op is where MUBUF has sc1, so that sc1 and nt are in the second word. `imm` gets the
/// format: data format in bits 3:0, number format in bits 6:4.
static void decodeMtbuf(const EncodedWords &w, Instruction &i) {
  i.offset = int32_t(bits(w.word[0], 11, 0));
  i.offen = bit(w.word[0], 12);
  i.idxen = bit(w.word[0], 13);
  i.sc0 = bit(w.word[0], 14);
  i.imm = bits(w.word[0], 25, 19);
  i.sc1 = bit(w.word[1], 21);
  i.nt = bit(w.word[1], 22);
}

static void decodeSmem(const EncodedWords &w, Instruction &i) {
  i.sc0 = bit(w.word[0], 16);
  // Without IMM the offset field names an SGPR, which LLVM lists as an operand.
  if (bit(w.word[0], 17))
    i.offset = signExtend(bits(w.word[1], 20, 0), 21);
}

static void decodeDs(const EncodedWords &w, Instruction &i) {
  i.offset = int32_t(bits(w.word[0], 15, 0));
  i.offset0 = uint8_t(bits(w.word[0], 7, 0));
  i.offset1 = uint8_t(bits(w.word[0], 15, 8));
}

/// A VOP3 instruction with a scalar second destination has the VOP3B layout.
static bool isVop3b(const Instruction &i) {
  return i.numDst == 2 && i.dst[0].isVector() && i.dst[1].isSgpr();
}

void decodeModifiers(const EncodedWords &words, Instruction &inst) {
  switch (inst.format) {
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc:
    return decodeShortVop(words, inst);
  case Format::Vop3:
    return isVop3b(inst) ? decodeVop3b(words, inst) : decodeVop3(words, inst);
  case Format::Vop3p:
    return decodeVop3p(words, inst);
  case Format::Mai:
    return decodeMai(words, inst);
  case Format::Flat:
  case Format::Global:
  case Format::Scratch:
    return decodeFlat(words, inst);
  case Format::Mubuf:
    return decodeMubuf(words, inst);
  case Format::Mtbuf:
    return decodeMtbuf(words, inst);
  case Format::Smem:
    return decodeSmem(words, inst);
  case Format::Ds:
    return decodeDs(words, inst);
  default:
    return;
  }
}

} // namespace mono::emu

// Instruction records against LLVM's printed text, hand-checked encodings, and the handler table.
#include "runtime/emulator/decode/Decoder.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <set>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

struct Decoded {
  Instruction inst;
  std::string name;
};

Decoder &decoder() {
  static std::unique_ptr<Decoder> instance = llvm::cantFail(Decoder::create());
  return *instance;
}

Decoded decodeText(const std::string &text) {
  Decoded result;
  EXPECT_TRUE(decoder().decode(assembleBytes(text), result.inst, result.name)) << text;
  return result;
}

Decoded decodeWords(const std::vector<uint32_t> &words) {
  Decoded result;
  EXPECT_TRUE(decoder().decode(bytesOf(words), result.inst, result.name));
  return result;
}

void expectRegister(const Operand &operand, OperandKind kind, unsigned index, unsigned dwords) {
  EXPECT_EQ(operand.kind, kind);
  EXPECT_EQ(operand.index, index);
  EXPECT_EQ(operand.dwords, dwords);
}

} // namespace

TEST(Decoder, BaseNames) {
  EXPECT_EQ(baseNameOf("V_ADD_F32_e64_vi"), "V_ADD_F32");
  EXPECT_EQ(baseNameOf("V_MFMA_SCALE_F32_16X16X128_F8F6F4_f8_f4_gfx940_vcd"),
            "V_MFMA_SCALE_F32_16X16X128_F8F6F4");
  EXPECT_EQ(baseNameOf("GLOBAL_ATOMIC_ADD_SADDR_RTN_vi"), "GLOBAL_ATOMIC_ADD");
  EXPECT_EQ(baseNameOf("BUFFER_LOAD_DWORDX4_LDS_OFFEN_gfx90a"), "BUFFER_LOAD_DWORDX4_LDS");
  EXPECT_EQ(baseNameOf("S_LOAD_DWORDX2_SGPR_IMM_gfx9"), "S_LOAD_DWORDX2");
  EXPECT_EQ(baseNameOf("SCRATCH_STORE_DWORD_ST_gfx940"), "SCRATCH_STORE_DWORD");
  EXPECT_EQ(baseNameOf("DS_READ_U8_D16_HI_vi"), "DS_READ_U8_D16_HI");
}

/// Every handler's name must be one LLVM can produce, or it would never run.
TEST(Decoder, EveryHandlerIsReachableAndUnique) {
  std::vector<std::string> known = decoder().allBaseNames();
  std::set<std::string> names(known.begin(), known.end());
  EXPECT_EQ(defaultHandlers().duplicates(), 0u);
  // Names of the manual that LLVM has no gfx950 opcode for.
  for (const auto &entry : defaultHandlers().entries())
    EXPECT_TRUE(names.count(entry.getKey().str())) << entry.getKey().str();
}

/// Encodings put together by hand from the format tables of the CDNA4 ISA, not by an assembler.
TEST(Decoder, HandEncodedInstructions) {
  // VOP2 v_add_f32: 0 | op 1 | vdst 3 | vsrc1 2 | src0 256 + 1
  Decoded add = decodeWords({1u << 25 | 3u << 17 | 2u << 9 | 257u});
  EXPECT_EQ(add.name, "V_ADD_F32");
  expectRegister(add.inst.dst[0], OperandKind::Vgpr, 3, 1);
  expectRegister(add.inst.src[0], OperandKind::Vgpr, 1, 1);
  expectRegister(add.inst.src[1], OperandKind::Vgpr, 2, 1);
  // SOP2 s_add_u32: 10 | op 0 | sdst 5 | ssrc1 = 129 (constant 1) | ssrc0 7
  Decoded sadd = decodeWords({2u << 30 | 5u << 16 | 129u << 8 | 7u});
  EXPECT_EQ(sadd.name, "S_ADD_U32");
  EXPECT_EQ(sadd.inst.src[1].imm, 1u);
  // SOPP s_waitcnt vmcnt(0): 101111111 | op 12 | 0x0f70
  Decoded wait = decodeWords({0x17Fu << 23 | 12u << 16 | 0x0F70u});
  EXPECT_EQ(wait.name, "S_WAITCNT");
  EXPECT_EQ(wait.inst.imm & 0xFFFF, 0x0F70u);
  // DS ds_read_b128: 110110 | op 255 | offset1:offset0 | vdst 8 | addr 4
  Decoded read = decodeWords({0x36u << 26 | 255u << 17 | 0x1234u, 8u << 24 | 4u});
  EXPECT_EQ(read.name, "DS_READ_B128");
  EXPECT_EQ(read.inst.offset, 0x1234);
  expectRegister(read.inst.dst[0], OperandKind::Vgpr, 8, 4);
  expectRegister(read.inst.src[0], OperandKind::Vgpr, 4, 1);
  // FLAT global_load_dwordx4: 110111 | op 23 | seg 2 | offset -16 | saddr off | addr 4 | vdst 8,
  // sc1
  Decoded load = decodeWords(
      {0x37u << 26 | 1u << 25 | 23u << 18 | 2u << 14 | (8192u - 16), 8u << 24 | 0x7Fu << 16 | 4u});
  EXPECT_EQ(load.name, "GLOBAL_LOAD_DWORDX4");
  EXPECT_EQ(load.inst.offset, -16);
  EXPECT_TRUE(load.inst.sc1);
  EXPECT_FALSE(load.inst.sc0);
  expectRegister(load.inst.src[0], OperandKind::Vgpr, 4, 2);
  EXPECT_TRUE(load.inst.src[2].isNone());
}

TEST(Decoder, Vop3Modifiers) {
  Decoded d = decodeText("v_add_f32_e64 v0, -|v1|, s2 clamp mul:4");
  EXPECT_TRUE(d.inst.src[0].neg && d.inst.src[0].abs && d.inst.clamp && d.inst.isVop3);
  EXPECT_FALSE(d.inst.src[1].neg || d.inst.src[1].abs);
  EXPECT_EQ(d.inst.omod, 2);
  d = decodeText("v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]");
  EXPECT_TRUE(d.inst.dstOpSel);
  d = decodeText("v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 op_sel:[0,0,1,1]");
  EXPECT_EQ(d.inst.opSel, 0b1100);
}

TEST(Decoder, Vop3bHasAScalarDestination) {
  Decoded d = decodeText("v_addc_co_u32_e64 v0, s[10:11], v1, v2, s[4:5]");
  EXPECT_EQ(d.inst.numDst, 2);
  expectRegister(d.inst.dst[1], OperandKind::Sgpr, 10, 2);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, 4, 2);
  EXPECT_FALSE(d.inst.src[1].abs) << "bits 14:8 are sdst here, not abs";
  d = decodeText("v_mad_u64_u32 v[0:1], s[10:11], v2, v3, v[4:5]");
  expectRegister(d.inst.src[2], OperandKind::Vgpr, 4, 2);
}

TEST(Decoder, ImpliedVccIsExplicit) {
  Decoded d = decodeText("v_addc_co_u32_e32 v0, vcc, v1, v2, vcc");
  expectRegister(d.inst.dst[1], OperandKind::Sgpr, sgpr::vcc, 2);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, sgpr::vcc, 2);
  d = decodeText("v_cmp_lt_f32_e32 vcc, v0, v1");
  expectRegister(d.inst.dst[0], OperandKind::Sgpr, sgpr::vcc, 2);
  d = decodeText("v_cmpx_lt_f32_e32 vcc, v0, v1");
  expectRegister(d.inst.dst[0], OperandKind::Sgpr, sgpr::vcc, 2);
  d = decodeText(
      "v_cndmask_b32_dpp v0, v1, v2, vcc quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xa");
  expectRegister(d.inst.src[2], OperandKind::Sgpr, sgpr::vcc, 2);
  d = decodeText("v_div_fmas_f32 v0, v1, v2, v3");
  expectRegister(d.inst.src[3], OperandKind::Sgpr, sgpr::vcc, 2);
}

TEST(Decoder, DppAndSdwa) {
  Decoded d =
      decodeText("v_add_f32_dpp v0, -v1, |v2| row_shl:3 row_mask:0x5 bank_mask:0xa bound_ctrl:0");
  EXPECT_TRUE(d.inst.isDpp && d.inst.dpp.boundCtrl);
  EXPECT_EQ(d.inst.dpp.ctrl, 0x103);
  EXPECT_EQ(d.inst.dpp.rowMask, 5);
  EXPECT_EQ(d.inst.dpp.bankMask, 10);
  EXPECT_TRUE(d.inst.src[0].neg && d.inst.src[1].abs);
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 1, 1);
  d = decodeText("v_fmac_f32_dpp v0, v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf");
  expectRegister(d.inst.src[2], OperandKind::Vgpr, 0, 1);
  d = decodeText("v_add_u32_sdwa v0, v1, sext(v2) dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE "
                 "src0_sel:WORD_1 src1_sel:BYTE_3");
  EXPECT_TRUE(d.inst.isSdwa && d.inst.src[1].sext);
  EXPECT_EQ(d.inst.sdwa.dstSel, 2);
  EXPECT_EQ(d.inst.sdwa.dstUnused, 2);
  EXPECT_EQ(d.inst.src[0].sdwaSel, 5);
  EXPECT_EQ(d.inst.src[1].sdwaSel, 3);
  d = decodeText("v_cmp_eq_u32_sdwa s[10:11], v1, v2 src0_sel:WORD_1 src1_sel:DWORD");
  expectRegister(d.inst.dst[0], OperandKind::Sgpr, 10, 2);
}

TEST(Decoder, MatrixInstructions) {
  Decoded d =
      decodeText("v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[4:11], v[12:15], a[0:3], v20, v21 "
                 "op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:1 blgp:4");
  EXPECT_TRUE(d.inst.isScaled);
  EXPECT_EQ(d.inst.size, 16u);
  EXPECT_EQ(d.inst.cbsz, 1);
  EXPECT_EQ(d.inst.blgp, 4);
  expectRegister(d.inst.dst[0], OperandKind::Agpr, 0, 4);
  expectRegister(d.inst.src[1], OperandKind::Vgpr, 12, 4);
  expectRegister(d.inst.src[3], OperandKind::Vgpr, 20, 1);
  EXPECT_TRUE(d.inst.src[3].opSel && !d.inst.src[3].opSelHi);
  EXPECT_TRUE(!d.inst.src[4].opSel && d.inst.src[4].opSelHi);
  d = decodeText("v_mfma_f32_16x16x32_bf16 v[0:3], v[0:3], a[4:7], 0");
  EXPECT_EQ(d.inst.format, Format::Mai);
  expectRegister(d.inst.src[1], OperandKind::Agpr, 4, 4);
  EXPECT_TRUE(d.inst.src[2].isImmediate());
  EXPECT_EQ(d.inst.vgprEnd, 4);
  EXPECT_EQ(d.inst.agprEnd, 8);
  d = decodeText("v_smfmac_f32_16x16x64_bf16 v[0:3], v[4:7], v[8:15], v16 cbsz:1 abid:1");
  expectRegister(d.inst.src[2], OperandKind::Vgpr, 16, 1);
  d = decodeText("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[0,1,0] op_sel_hi:[1,0,1] "
                 "neg_lo:[1,0,0] neg_hi:[0,0,1]");
  EXPECT_EQ(d.inst.opSel, 0b010);
  EXPECT_EQ(d.inst.opSelHi, 0b101);
  EXPECT_TRUE(d.inst.src[0].neg && d.inst.src[2].negHi && !d.inst.src[2].neg);
}

TEST(Decoder, MemoryOperandsHaveFixedPlaces) {
  Decoded d = decodeText("global_store_dwordx2 v4, v[8:9], s[2:3] offset:8");
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 4, 1);
  expectRegister(d.inst.src[1], OperandKind::Vgpr, 8, 2);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, 2, 2);
  d = decodeText("global_load_dword v0, v4, s[2:3]");
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 4, 1);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, 2, 2);
  d = decodeText("scratch_store_dword v7, v8, s5 offset:4");
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 7, 1);
  expectRegister(d.inst.src[1], OperandKind::Vgpr, 8, 1);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, 5, 1);
  d = decodeText("scratch_store_dword off, v8, s5");
  EXPECT_TRUE(d.inst.src[0].isNone());
  expectRegister(d.inst.src[1], OperandKind::Vgpr, 8, 1);
  d = decodeText("buffer_store_dwordx2 v[8:9], v1, s[4:7], s3 offen offset:16 sc0 nt");
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 1, 1);
  expectRegister(d.inst.src[1], OperandKind::Vgpr, 8, 2);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, 4, 4);
  expectRegister(d.inst.src[3], OperandKind::Sgpr, 3, 1);
  EXPECT_TRUE(d.inst.offen && d.inst.sc0 && d.inst.nt && !d.inst.sc1 && !d.inst.idxen);
  d = decodeText("buffer_atomic_add v0, v1, s[4:7], 0 offen sc0");
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 1, 1);
  expectRegister(d.inst.src[1], OperandKind::Vgpr, 0, 1);
  EXPECT_EQ(d.inst.cls, InstructionClass::VmemAtomic);
  d = decodeText("buffer_load_dwordx4 v1, s[4:7], 0 offen lds");
  EXPECT_TRUE(d.inst.dst[0].isNone() && d.inst.lds);
  expectRegister(d.inst.src[0], OperandKind::Vgpr, 1, 1);
  d = decodeText("ds_cmpst_rtn_b64 v[0:1], v2, v[4:5], v[6:7]");
  expectRegister(d.inst.src[2], OperandKind::Vgpr, 6, 2);
  d = decodeText("s_store_dword s9, s[2:3], 0x10");
  expectRegister(d.inst.src[1], OperandKind::Sgpr, 9, 1);
  expectRegister(d.inst.src[2], OperandKind::Sgpr, 2, 2);
  EXPECT_EQ(d.inst.offset, 16);
}

/// Instructions that hand-written production kernels use: all must have a handler.
TEST(Decoder, ProductionInstructionsAreImplemented) {
  for (const char *text : {"s_setvskip s0, s1",
                           "s_store_dword s0, s[2:3], 0",
                           "s_atomic_dec s0, s[2:3], 0",
                           "v_mul_f32_dpp v0, v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf",
                           "s_lshl1_add_u32 s0, s1, s2",
                           "ds_read_b64_tr_b16 v[0:1], v2",
                           "ds_read_b64_tr_b4 v[0:1], v2",
                           "ds_bpermute_b32 v0, v1, v2",
                           "global_load_lds_dwordx4 v[0:1], off",
                           "buffer_load_dword v0, s[4:7], 0 offen lds",
                           "global_atomic_pk_add_bf16 v[0:1], v2, off",
                           "buffer_atomic_pk_add_f16 v0, off, s[4:7], 0",
                           "s_set_gpr_idx_on s0, 1",
                           "v_swap_b32 v0, v1",
                           "v_cvt_pk_u8_f32 v0, v1, v2, v3",
                           "buffer_load_short_d16 v0, off, s[4:7], 0",
                           "v_permlane16_swap_b32 v0, v1",
                           "v_smfmac_f32_16x16x128_fp8_fp8 v[0:3], v[4:7], v[8:15], v16",
                           "global_atomic_cmpswap_x2 v[0:1], v[4:7], off",
                           "s_ff1_i32_b64 s0, s[2:3]",
                           "v_cvt_scalef32_pk_bf16_fp8 v0, v1, v2",
                           "v_rcp_iflag_f32 v0, v1",
                           "s_cmpk_eq_u32 s0, 1"}) {
    Decoded d = decodeText(text);
    EXPECT_NE(defaultHandlers().find(d.name), nullptr) << text << " as " << d.name;
  }
}

/// An instruction that the end of the code cuts off is none, whatever LLVM does about it.
TEST(Decoder, CutOffInstructions) {
  std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  for (const char *text : {"s_mov_b32 s0, 0x12345678", "v_add_f32_e32 v1, 0x12345678, v2",
                           "v_add_f32_e64 v0, v1, v2 clamp", "ds_read_b32 v0, v1"}) {
    const std::vector<uint8_t> whole = assembleBytes(text);
    Instruction inst;
    std::string name;
    EXPECT_TRUE(decoder->decode(whole, inst, name)) << text;
    for (size_t bytes = 4; bytes < whole.size(); ++bytes) {
      EXPECT_FALSE(decoder->decode(llvm::ArrayRef(whole).take_front(bytes), inst, name))
          << text << ", " << bytes << " bytes";
      EXPECT_EQ(decoder->print(llvm::ArrayRef(whole).take_front(bytes)), "<undecodable>");
    }
  }
}

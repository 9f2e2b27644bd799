// Cases by operand shape: mnemonics that take the same operands share a line.
#include "test/runtime/kernels/MnemonicCases.h"

#include <sstream>

namespace mono::emu::test {
namespace {

/// `operands` follow each of the space-separated `mnemonics`.
struct OperandGroup {
  const char *operands;
  const char *mnemonics;
};

const OperandGroup groups[] = {
    // ---- scalar ----
    {"s20, s21", "s_mov_b32 s_ff1_i32_b32"},
    {"s[20:21], s[22:23]", "s_mov_b64"},
    {"s20, s[22:23]", "s_ff1_i32_b64"},
    {"s20, s21, s22", "s_add_u32 s_mul_i32 s_and_b32 s_cselect_b32 s_addc_u32 s_lshr_b32 s_or_b32 "
                      "s_add_i32 s_lshl_b32 s_sub_u32 s_sub_i32 s_lshl1_add_u32 s_mul_hi_u32 "
                      "s_min_u32 s_subb_u32 s_ashr_i32 s_xor_b32 s_bfm_b32"},
    {"s[20:21], s[22:23], s[24:25]", "s_cselect_b64"},
    {"s[20:21], 5, 7", "s_bfm_b64"},
    {"s20, s21", "s_cmp_lt_u32 s_cmp_lt_i32 s_cmp_eq_u32 s_cmp_ge_u32 s_cmp_eq_i32 s_cmp_le_i32 "
                 "s_cmp_ge_i32 s_cmp_le_u32 s_cmp_gt_u32 s_cmp_gt_i32 s_cmp_lg_u32"},
    {"s[20:21], s[22:23]", "s_cmp_lg_u64"},
    {"s20, 0x123", "s_addk_i32 s_movk_i32 s_cmpk_eq_u32"},
    {"s20, s[10:11], 0x8", "s_load_dword s_store_dword s_atomic_dec"},
    {"s[20:21], s[10:11], 0x8", "s_load_dwordx2"},
    {"s[24:31], s[10:11], 0x20", "s_load_dwordx8"},
    {"0", "s_nop"},
    {"1", "s_sleep s_setprio"},
    {"vmcnt(0) lgkmcnt(0)", "s_waitcnt"},
    {"", "s_barrier s_endpgm v_nop"},
    {"target\ntarget:", "s_cbranch_scc0 s_cbranch_scc1 s_branch s_cbranch_vccnz"},
    {"0, 0", "s_setvskip"}, // bit 0 of 0: vector instructions are not skipped

    // ---- vector ALU ----
    {"v40, v41", "v_exp_f32_e32 v_mov_b32_e32 v_cvt_f32_i32_e32 v_rcp_f32_e32 v_cvt_i32_f32_e32 "
                 "v_cvt_u32_f32_e32 v_rcp_iflag_f32_e32 v_cvt_f32_u32_e32 v_cvt_f32_f16_e32 "
                 "v_cvt_f32_bf16_e32 v_swap_b32 v_log_f32_e32 v_permlane16_swap_b32_e32 "
                 "v_permlane32_swap_b32_e32"},
    {"v[40:41], v[42:43]", "v_mov_b64_e32"},
    {"v[40:41], v42", "v_cvt_pk_f32_fp8_e32"},
    {"v[40:41], v42 src0_sel:WORD_1", "v_cvt_pk_f32_fp8_sdwa"},
    {"v40, v41, v42",
     "v_mul_f32_e32 v_add_u32_e32 v_add_f32_e64 v_mul_f32_e64 v_lshlrev_b32_e32 v_and_b32_e32 "
     "v_add_f32_e32 v_cvt_pk_fp8_f32 v_lshrrev_b32_e32 v_add_u32_e64 v_mul_lo_u32 "
     "v_cvt_pk_bf16_f32 v_cvt_pkrtz_f16_f32 v_mul_i32_i24_e32 v_max_f32_e32 v_mul_hi_u32 "
     "v_sub_f32_e32 v_cvt_pk_f16_f32 v_add_i32 v_min_u32_e32 v_and_b32_e64 v_mul_i32_i24_e64 "
     "v_or_b32_e32 v_sub_u32_e32 v_xor_b32_e32 v_subrev_u32_e32 v_sub_i32 v_lshrrev_b32_e64 "
     "v_mul_u32_u24_e32 v_sub_u32_e64 v_mul_u32_u24_e64 v_xor_b32_e64 v_sub_f32_e64 "
     "v_subrev_f32_e32 v_lshlrev_b32_e64 v_mbcnt_lo_u32_b32 v_mbcnt_hi_u32_b32 v_bfm_b32 "
     "v_cvt_scalef32_pk_bf16_fp8"},
    {"v40, v41, v42, v43", "v_max3_f32 v_fma_f32 v_add3_u32 v_perm_b32 v_bfe_u32 v_cvt_pk_u8_f32 "
                           "v_cvt_scalef32_pk_fp4_f32 v_and_or_b32 v_lshl_add_u32"},
    {"v[40:41], v[42:43], v[44:45]", "v_pk_mul_f32 v_pk_add_f32"},
    {"v[40:41], v[42:43], v[44:45], v[46:47]", "v_pk_fma_f32"},
    {"v40, v41, v42 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
     "v_mul_f32_dpp v_subrev_f32_dpp v_max_f32_dpp v_or_b32_dpp v_mul_u32_u24_dpp "
     "v_mul_i32_i24_dpp v_add_f32_dpp v_add_u32_dpp"},
    {"v40, v41 row_shr:1 row_mask:0xf bank_mask:0xf", "v_mov_b32_dpp"},
    {"v40, v41, v42, s[22:23]", "v_cndmask_b32_e64"},
    {"v40, v41, v42, vcc", "v_cndmask_b32_e32"},
    {"v40, vcc, v41, v42", "v_add_co_u32_e32"},
    {"v40, s[22:23], v41, v42", "v_add_co_u32_e64"},
    {"v40, vcc, v41, v42, vcc", "v_addc_co_u32_e32"},
    {"v40, s[22:23], v41, v42, s[24:25]", "v_addc_co_u32_e64"},
    {"vcc, v41, v42", "v_cmp_lt_i32_e32 v_cmp_le_u32_e32 v_cmp_lt_u32_e32 v_cmp_eq_u32_e32 "
                      "v_cmp_nge_f32_e32 v_cmp_gt_f32_e32 v_cmp_eq_f32_e32 v_cmp_lt_f32_e32"},
    {"s[22:23], v41, v42",
     "v_cmp_u_f32_e64 v_cmp_lt_u32_e64 v_cmp_le_u32_e64 v_cmp_eq_u32_e64 v_cmp_lt_i32_e64 "
     "v_cmp_le_i32_e64 v_cmp_gt_i32_e64 v_cmp_eq_f32_e64 v_cmp_gt_f32_e64 v_cmp_class_f32_e64 "
     "v_cmp_lt_f32_e64 v_cmp_ge_i32_e64 v_cmp_neq_f32_e64 v_cmp_ge_f32_e64 v_cmp_ge_u32_e64"},
    {"s[22:23], v[40:41], v[42:43]", "v_cmp_le_u64_e64"},
    {"s20, v41, 5", "v_readlane_b32"},
    {"s20, v41", "v_readfirstlane_b32"},
    {"v40, s20, 5", "v_writelane_b32"},
    {"v40, a3", "v_accvgpr_read_b32"},
    {"a3, v40", "v_accvgpr_write_b32"},

    // ---- matrix ----
    {"a[0:3], v[40:41], v[42:43], a[0:3]",
     "v_mfma_f32_16x16x32_fp8_fp8 v_mfma_i32_16x16x32_i8 v_mfma_f32_16x16x16_bf16 "
     "v_mfma_f32_16x16x16_f16"},
    {"v[32:35], v[40:43], v[44:47], v[32:35]", "v_mfma_f32_16x16x32_bf16 v_mfma_f32_16x16x32_f16"},
    {"a[0:15], v[40:41], v[42:43], a[0:15]", "v_mfma_f32_32x32x8_bf16"},
    {"a[0:15], v[40:43], v[44:47], a[0:15]",
     "v_mfma_f32_32x32x16_bf16 v_mfma_f32_32x32x16_f16 v_mfma_i32_32x32x32_i8"},
    {"v[32:35], v[40:47], v[48:55], v[32:35]", "v_mfma_f32_16x16x128_f8f6f4"},
    {"a[0:15], v[40:47], v[48:55], a[0:15]", "v_mfma_f32_32x32x64_f8f6f4"},
    {"v[32:35], v[40:47], v[48:55], v[32:35], v56, v57 op_sel:[1,0,0] op_sel_hi:[0,1,0]",
     "v_mfma_scale_f32_16x16x128_f8f6f4"},
    {"a[0:15], v[40:45], v[48:51], a[0:15], v56, v57 op_sel_hi:[0,0,0] cbsz:2 blgp:4",
     "v_mfma_scale_f32_32x32x64_f8f6f4"},
    {"v[32:35], v[40:43], v[44:51], v52", "v_smfmac_f32_16x16x128_fp8_fp8"},

    // ---- memory ----
    {"v40, v1, s[12:15], 0 offen offset:64",
     "buffer_load_dword buffer_load_short_d16 buffer_store_dword buffer_atomic_add_f32 "
     "buffer_atomic_pk_add_bf16 buffer_atomic_pk_add_f16"},
    {"v[40:41], v5, s[12:15], 0 offen", "buffer_load_dwordx2 buffer_store_dwordx2"},
    {"v[40:43], v4, s[12:15], s21 offen", "buffer_load_dwordx4 buffer_store_dwordx4"},
    {"v40, v1, s[10:11] offset:32", "global_load_dword global_load_ubyte"},
    {"v[40:41], v5, s[10:11]", "global_load_dwordx2"},
    {"v[40:43], v4, s[10:11]", "global_load_dwordx4"},
    {"v5, v[40:41], s[10:11]", "global_store_dwordx2"},
    {"v1, v40, s[10:11]",
     "global_atomic_pk_add_bf16 global_atomic_add_f32 global_atomic_pk_add_f16"},
    {"v5, v[40:43], s[10:11]", "global_atomic_cmpswap_x2"},
    {"v1, s[10:11]", "global_load_lds_dword"},
    {"v4, s[10:11]", "global_load_lds_dwordx4"},

    // ---- LDS ----
    {"v40, v1 offset:16", "ds_read_b32 ds_read_u8"},
    {"v[40:41], v5", "ds_read_b64 ds_read_b64_tr_b16 ds_read_b64_tr_b8 ds_read_b64_tr_b4"},
    {"v[40:43], v4", "ds_read_b128"},
    {"v1, v40", "ds_write_b32 ds_write_b8 ds_write_b16"},
    {"v5, v[40:41]", "ds_write_b64"},
    {"v4, v[40:43]", "ds_write_b128"},
    {"v40, v1, v41", "ds_bpermute_b32"},
};

/// Instructions that come in company.
const MnemonicCase wholeBodies[] = {
    {"s_set_gpr_idx_on", "s_set_gpr_idx_on s21, gpr_idx(SRC0)\nv_mov_b32_e32 v40, v41\n"
                         "s_set_gpr_idx_off"},
    {"s_set_gpr_idx_off", "s_set_gpr_idx_on s21, gpr_idx(DST)\nv_mov_b32_e32 v40, v41\n"
                          "s_set_gpr_idx_off"},
};

} // namespace

std::string mnemonicPrologue() {
  std::string text = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s12, s10
  s_mov_b32 s13, s11
  s_mov_b32 s14, 0x8000
  s_mov_b32 s15, 0x27000
  s_mov_b32 s20, 0x1234
  s_mov_b32 s21, 4
  s_mov_b64 s[22:23], 0x5555
  s_mov_b64 s[24:25], -1
  s_mov_b64 s[26:27], 0
  s_mov_b64 vcc, 0x33
  s_mov_b32 m0, 0
  v_lshlrev_b32_e32 v1, 2, v0
  v_lshlrev_b32_e32 v4, 4, v0
  v_lshlrev_b32_e32 v5, 3, v0
)";
  for (unsigned n = 6; n < 64; ++n)
    text += "  v_add_u32_e32 v" + std::to_string(n) + ", 0x3f800000, v" +
            std::to_string(n % 2 ? 0 : 1) + "\n";
  for (unsigned n = 0; n < 16; ++n)
    text += "  v_accvgpr_write_b32 a" + std::to_string(n) + ", v" + std::to_string(40 + n) + "\n";
  return text + "  ds_write_b128 v4, v[40:43]\n  s_waitcnt lgkmcnt(0)\n";
}

std::vector<MnemonicCase> mnemonicCases() {
  std::vector<MnemonicCase> cases(std::begin(wholeBodies), std::end(wholeBodies));
  for (const OperandGroup &group : groups) {
    std::istringstream names(group.mnemonics);
    for (std::string name; names >> name;)
      cases.push_back({name, name + " " + group.operands});
  }
  return cases;
}

} // namespace mono::emu::test

// One row of each kind of instruction that compilers and kernels use, and of each way in which the
// emulator computes them.
#include "bench/Instructions.h"

namespace mono::bench {

using enum emu::InstructionClass;

// ---- vector ALU --------------------------------------------------------------------------------

static constexpr InstructionRow kValu[] = {
    // Moves, integers, comparisons.
    {"v_mov_b32 v32, v1"},
    {"v_mov_b32_dpp v32, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"},
    {"v_add_u32 v32, v1, v2"},
    {"v_add_u32_sdwa v32, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
     "src1_sel:DWORD"},
    {"v_add_co_u32 v32, vcc, v1, v2"},
    {"v_mul_lo_u32 v32, v1, v2"},
    {"v_mul_hi_u32 v32, v1, v2"},
    {"v_mul_hi_i32 v32, v1, v2"},
    {"v_mad_u64_u32 v[32:33], vcc, v6, v7, v[8:9]"},
    {"v_lshl_add_u64 v[32:33], v[6:7], 2, v[8:9]"},
    {"v_lshlrev_b64 v[32:33], v1, v[6:7]"},
    {"v_bfe_u32 v32, v1, 3, 5"},
    {"v_alignbit_b32 v32, v1, v2, v4"},
    {"v_perm_b32 v32, v1, v2, v4"},
    {"v_bcnt_u32_b32 v32, v1, v2"},
    {"v_ffbh_u32 v32, v1"},
    {"v_mbcnt_lo_u32_b32 v32, v1, v2"},
    {"v_med3_i32 v32, v1, v2, v4"},
    {"v_sad_u8 v32, v1, v2, v4"},
    {"v_cmp_gt_f32 vcc, v1, v2"},
    {"v_cmp_lt_u64 vcc, v[6:7], v[8:9]"},
    {"v_cmp_class_f32 vcc, v1, v2"},
    {"v_cndmask_b32 v32, v1, v2, vcc"},
    {"v_permlane32_swap_b32 v32, v33"},
    // f32.
    {"v_add_f32 v32, v1, v2"},
    {"v_add_f32 v32, v1, v2", Valu, 1, "instructions/s", true},
    {"v_add_f32_dpp v32, v1, v2 row_shr:4 row_mask:0xf bank_mask:0xf"},
    {"v_fma_f32 v32, v1, v2, v4"},
    {"v_fma_f32 v32, v1, v2, v4", Valu, 1, "instructions/s", true},
    {"v_max_f32 v32, v1, v2"},
    {"v_max3_f32 v32, v1, v2, v4"},
    {"v_med3_f32 v32, v1, v2, v4"},
    {"v_pk_fma_f32 v[32:33], v[6:7], v[8:9], v[10:11]"},
    {"v_pk_fma_f32 v[32:33], v[6:7], v[8:9], v[10:11]", Valu, 1, "instructions/s", true},
    {"v_rndne_f32 v32, v1"},
    {"v_ldexp_f32 v32, v1, v2"},
    {"v_frexp_mant_f32 v32, v1"},
    {"v_exp_f32 v32, v1"},
    {"v_log_f32 v32, v1"},
    {"v_rcp_f32 v32, v1"},
    {"v_rsq_f32 v32, v1"},
    {"v_sqrt_f32 v32, v1"},
    {"v_sin_f32 v32, v1"},
    {"v_cos_f32 v32, v1"},
    {"v_div_scale_f32 v32, vcc, v1, v2, v1"},
    {"v_div_fmas_f32 v32, v1, v2, v4"},
    {"v_div_fixup_f32 v32, v1, v2, v4"},
    // f64.
    {"v_add_f64 v[32:33], v[6:7], v[8:9]"},
    {"v_mul_f64 v[32:33], v[6:7], v[8:9]"},
    {"v_fma_f64 v[32:33], v[6:7], v[8:9], v[10:11]"},
    {"v_max_f64 v[32:33], v[6:7], v[8:9]"},
    {"v_rcp_f64 v[32:33], v[6:7]"},
    {"v_rsq_f64 v[32:33], v[6:7]"},
    {"v_sqrt_f64 v[32:33], v[6:7]"},
    {"v_ldexp_f64 v[32:33], v[6:7], v2"},
    {"v_div_scale_f64 v[32:33], vcc, v[6:7], v[8:9], v[6:7]"},
    {"v_div_fmas_f64 v[32:33], v[6:7], v[8:9], v[10:11]"},
    {"v_div_fixup_f64 v[32:33], v[6:7], v[8:9], v[10:11]"},
    // f16 and other 16 bits.
    {"v_add_f16 v32, v1, v2"},
    {"v_fma_f16 v32, v1, v2, v4"},
    {"v_max_f16 v32, v1, v2"},
    {"v_med3_f16 v32, v1, v2, v4"},
    {"v_exp_f16 v32, v1"},
    {"v_log_f16 v32, v1"},
    {"v_rcp_f16 v32, v1"},
    {"v_rsq_f16 v32, v1"},
    {"v_sqrt_f16 v32, v1"},
    {"v_sin_f16 v32, v1"},
    {"v_ldexp_f16 v32, v1, v2"},
    {"v_mad_u16 v32, v1, v2, v4"},
    {"v_pk_add_f16 v32, v1, v2"},
    {"v_pk_fma_f16 v32, v1, v2, v4"},
    {"v_pk_max_f16 v32, v1, v2"},
    {"v_pk_mad_u16 v32, v1, v2, v4"},
    {"v_fma_mix_f32 v32, v1, v2, v4 op_sel_hi:[1,0,0]"},
    {"v_fma_mixlo_f16 v32, v1, v2, v4 op_sel_hi:[1,0,0]"},
    // Dot products.
    {"v_dot2_f32_f16 v32, v1, v2, v4"},
    {"v_dot2_f32_bf16 v32, v1, v2, v4"},
    {"v_dot2_i32_i16 v32, v1, v2, v4"},
    {"v_dot4_i32_i8 v32, v1, v2, v4"},
    {"v_dot8_u32_u4 v32, v1, v2, v4"},
    // Conversions.
    {"v_cvt_f32_u32 v32, v1"},
    {"v_cvt_i32_f32 v32, v1"},
    {"v_cvt_f64_f32 v[32:33], v1"},
    {"v_cvt_f32_f64 v32, v[6:7]"},
    {"v_cvt_f16_f32 v32, v1"},
    {"v_cvt_f32_f16 v32, v1"},
    {"v_cvt_pk_bf16_f32 v32, v1, v2"},
    {"v_cvt_pkrtz_f16_f32 v32, v1, v2"},
    {"v_cvt_pk_u8_f32 v32, v1, v2, v4"},
    {"v_cvt_f32_fp8 v32, v1"},
    {"v_cvt_f32_bf8 v32, v1"},
    {"v_cvt_pk_f32_fp8 v[32:33], v1"},
    {"v_cvt_pk_fp8_f32 v32, v1, v2"},
    {"v_cvt_pk_bf8_f32 v32, v1, v2"},
    {"v_cvt_sr_fp8_f32 v32, v1, v2"},
    {"v_cvt_scalef32_f32_fp8 v32, v1, v2"},
    {"v_cvt_scalef32_pk_f32_fp8 v[32:33], v1, v2"},
    {"v_cvt_scalef32_pk_bf16_fp8 v32, v1, v2"},
    {"v_cvt_scalef32_pk_f16_bf8 v32, v1, v2"},
    {"v_cvt_scalef32_pk_f32_fp4 v[32:33], v1, v2"},
    {"v_cvt_scalef32_pk_bf16_fp4 v32, v1, v2"},
    {"v_cvt_scalef32_pk_fp8_f32 v32, v1, v2, v4"},
    {"v_cvt_scalef32_pk_fp8_bf16 v32, v1, v2"},
    {"v_cvt_scalef32_pk_fp4_f32 v32, v1, v2, v4"},
    {"v_cvt_scalef32_pk_fp4_bf16 v32, v1, v2"},
    {"v_cvt_scalef32_sr_fp8_f32 v32, v1, v2, v4"},
    // 32 elements an instruction.
    {"v_cvt_scalef32_pk32_f32_fp6 v[32:63], v[2:7], v1"},
    {"v_cvt_scalef32_pk32_bf16_fp6 v[32:47], v[2:7], v1"},
    {"v_cvt_scalef32_2xpk16_fp6_f32 v[32:37], v[0:15], v[16:31], v1"},
    {"v_cvt_scalef32_pk32_bf6_bf16 v[32:37], v[0:15], v1"},
};

// ---- matrix ------------------------------------------------------------------------------------

static constexpr const char *kMac = "MAC/s";

static constexpr InstructionRow kMatrix[] = {
    {"v_mfma_f32_16x16x32_bf16 v[32:35], v[4:7], v[8:11], v[12:15]", Mfma, 16 * 16 * 32, kMac},
    {"v_mfma_f32_32x32x16_bf16 v[32:47], v[4:7], v[8:11], v[16:31]", Mfma, 32 * 32 * 16, kMac},
    {"v_mfma_f32_16x16x32_f16 v[32:35], v[4:7], v[8:11], v[12:15]", Mfma, 16 * 16 * 32, kMac},
    {"v_mfma_f32_4x4x4_16b_bf16 v[32:35], v[4:5], v[8:9], v[12:15]", Mfma, 16 * 4 * 4 * 4, kMac},
    {"v_mfma_f32_16x16x4_f32 v[32:35], v4, v8, v[12:15]", Mfma, 16 * 16 * 4, kMac},
    {"v_mfma_f64_16x16x4_f64 v[32:39], v[4:5], v[8:9], v[16:23]", Mfma, 16 * 16 * 4, kMac},
    {"v_mfma_i32_16x16x64_i8 v[32:35], v[4:7], v[8:11], v[12:15]", Mfma, 16 * 16 * 64, kMac},
    {"v_mfma_f32_16x16x32_fp8_fp8 v[32:35], v[4:5], v[8:9], v[12:15]", Mfma, 16 * 16 * 32, kMac},
    // Unscaled fp8, then scaled fp8, fp6 and fp4.
    {"v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[4:11], v[12:19], v[20:23]", Mfma, 16 * 16 * 128,
     kMac},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[32:35], v[4:11], v[12:19], v[20:23], v1, v2", Mfma,
     16 * 16 * 128, kMac},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[32:35], v[4:9], v[12:17], v[20:23], v1, v2 cbsz:2 "
     "blgp:2",
     Mfma, 16 * 16 * 128, kMac},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[32:35], v[4:7], v[12:15], v[20:23], v1, v2 cbsz:4 "
     "blgp:4",
     Mfma, 16 * 16 * 128, kMac},
    {"v_mfma_scale_f32_32x32x64_f8f6f4 v[32:47], v[4:7], v[12:15], v[16:31], v1, v2 cbsz:4 "
     "blgp:4",
     Mfma, 32 * 32 * 64, kMac},
    {"v_smfmac_f32_16x16x64_bf16 v[32:35], v[4:7], v[8:15], v1", Mfma, 16 * 16 * 32, kMac},
    {"v_smfmac_f32_16x16x128_fp8_fp8 v[32:35], v[4:7], v[8:15], v1", Mfma, 16 * 16 * 64, kMac},
    {"v_smfmac_i32_16x16x128_i8 v[32:35], v[4:7], v[8:15], v1", Mfma, 16 * 16 * 64, kMac},
};

// ---- memory: v[64:65] is a device address and v66 an LDS address, 16 bytes per lane -------------

static constexpr const char *kBytes = "B/s";

static constexpr InstructionRow kMemory[] = {
    {"global_load_dword v32, v[64:65], off", VmemLoad, 64 * 4, kBytes},
    {"global_load_dwordx4 v[32:35], v[64:65], off", VmemLoad, 64 * 16, kBytes},
    {"global_store_dword v[64:65], v1, off", VmemStore, 64 * 4, kBytes},
    {"global_store_dwordx4 v[64:65], v[2:5], off", VmemStore, 64 * 16, kBytes},
    {"ds_read_b32 v32, v66", Lds, 64 * 4, kBytes},
    {"ds_read_b128 v[32:35], v66", Lds, 64 * 16, kBytes},
    {"ds_read_b64_tr_b16 v[32:33], v66", Lds, 64 * 8, kBytes},
    {"ds_write_b32 v66, v1", Lds, 64 * 4, kBytes},
    {"ds_write_b128 v66, v[2:5]", Lds, 64 * 16, kBytes},
    {"ds_bpermute_b32 v32, v66, v1", Lds, 64 * 4, kBytes},
};

llvm::ArrayRef<InstructionRow> valuRows() { return kValu; }
llvm::ArrayRef<InstructionRow> matrixRows() { return kMatrix; }
llvm::ArrayRef<InstructionRow> memoryRows() { return kMemory; }

} // namespace mono::bench

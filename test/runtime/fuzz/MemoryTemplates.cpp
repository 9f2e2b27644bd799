// Templates of LDS and memory instructions. v48 to v55 and s32 to s45 hold the addresses that
// RandomState.cpp sets up.
#include "test/runtime/fuzz/Generator.h"

namespace mono::fuzz {

namespace {

constexpr InstructionTemplate kTemplates[] = {
    // ---- LDS
    {"ds_read_b32 {w}, v{p:48|49|53} offset:{n:0:2048:4}"},
    {"ds_read_b64 {w2}, v{p:48|49} offset:{n:0:1024:8}"},
    {"ds_read_b96 {w3}, v48 offset:{n:0:1024:16}"},
    {"ds_read_b128 {w4}, v{p:48|53} offset:{n:0:1024:16}"},
    {"ds_read_{p:u8|i8|u8_d16|u8_d16_hi|i8_d16|i8_d16_hi} {d}, v52 offset:{n:0:1000}"},
    {"ds_read_{p:u16|i16|u16_d16|u16_d16_hi} {d}, v{p:48|49} offset:{n:0:1000:2}"},
    {"ds_write_b32 v{p:48|49|53}, {r} offset:{n:0:2048:4}"},
    {"ds_write_b64 v{p:48|49}, {r2} offset:{n:0:1024:8}"},
    {"ds_write_b96 v48, {r3} offset:{n:0:1024:16}"},
    {"ds_write_b128 v{p:48|53}, {r4} offset:{n:0:1024:16}"},
    {"ds_write_{p:b8|b8_d16_hi} v52, {v} offset:{n:0:1000}"},
    {"ds_write_{p:b16|b16_d16_hi} v{p:48|49}, {v} offset:{n:0:1000:2}"},
    {"ds_read2_b32 {d2}, v{p:48|49} offset0:{n:0:255} offset1:{n:0:255}"},
    {"ds_read2_b64 {d4}, v{p:48|49} offset0:{n:0:255} offset1:{n:0:255}"},
    {"ds_read2st64_b32 {d2}, v49 offset0:{n:0:20} offset1:{n:0:12}"},
    {"ds_read2st64_b64 {d4}, v49 offset0:{n:0:5} offset1:{n:0:5}"},
    {"ds_write2_b32 v{p:48|49}, {v}, {v} offset0:{n:0:255} offset1:{n:0:255}"},
    {"ds_write2_b64 v{p:48|49}, {v2}, {v2} offset0:{n:0:255} offset1:{n:0:255}"},
    {"ds_write2st64_b32 v49, {v}, {v} offset0:{n:0:12} offset1:{n:0:12}"},
    {"ds_write2st64_b64 v49, {v2}, {v2} offset0:{n:0:5} offset1:{n:0:5}"},
    {"ds_{p:add|sub|rsub|inc|dec|min|max}_u32 v{p:48|49}, {v} offset:{n:0:1024:4}"},
    {"ds_{p:add|sub|rsub|inc|dec|min|max}_u64 v{p:48|49}, {v2} offset:{n:0:1024:8}"},
    {"ds_{p:add|sub|rsub|inc|dec|min|max}_rtn_u32 {d}, v{p:48|49}, {v} offset:{n:0:1024:4}"},
    {"ds_{p:add|sub|rsub|inc|dec|min|max}_rtn_u64 {d2}, v{p:48|49}, {v2} offset:{n:0:1024:8}"},
    {"ds_{p:min|max}_i32 v{p:48|49}, {v} offset:{n:0:1024:4}"},
    {"ds_{p:min|max}_rtn_i64 {d2}, v{p:48|49}, {v2} offset:{n:0:1024:8}"},
    {"ds_{p:and|or|xor}_b32 v{p:48|49}, {v} offset:{n:0:1024:4}"},
    {"ds_{p:and|or|xor}_b64 v{p:48|49}, {v2}"},
    {"ds_{p:and|or|xor|wrxchg}_rtn_b32 {d}, v{p:48|49}, {v} offset:{n:0:1024:4}"},
    {"ds_{p:and|or|xor|wrxchg}_rtn_b64 {d2}, v{p:48|49}, {v2}"},
    {"ds_{p:cmpst|mskor}_b32 v{p:48|49}, {v}, {v} offset:{n:0:1024:4}"},
    {"ds_{p:cmpst|mskor}_rtn_b32 {d}, v{p:48|49}, {v}, {v}"},
    {"ds_{p:cmpst|mskor}_rtn_b64 {d2}, v{p:48|49}, {v2}, {v2}"},
    {"ds_cmpst_f32 v48, {v}, {v}"},
    {"ds_cmpst_f64 v48, {v2}, {v2}"},
    {"ds_{p:add|min|max}_f32 v48, {v} offset:{n:0:1024:4}"},
    {"ds_{p:add|min|max}_rtn_f32 {d}, v48, {v}"},
    {"ds_{p:add|min|max}_f64 v48, {v2} offset:{n:0:1024:8}"},
    {"ds_{p:add|min|max}_rtn_f64 {d2}, v48, {v2}"},
    {"ds_pk_add_{p:f16|bf16} v48, {v}"},
    {"ds_pk_add_rtn_{p:f16|bf16} {d}, v48, {v}"},
    {"ds_swizzle_b32 {d}, {v} offset:{n:0:65535}"},
    {"ds_permute_b32 {d}, v54, {v} offset:{n:0:256:4}"},
    {"ds_bpermute_b32 {d}, v54, {v} offset:{n:0:256:4}"},
    {"s_mov_b64 exec, -1\nds_read_b64_tr_b{p:4|8|16} {w2}, v48 offset:{n:0:1024:8}"},
    {"s_mov_b64 exec, -1\nds_read_b96_tr_b6 {w3}, v48 offset:{n:0:1024:16}"},
    {"s_movk_i32 m0, {n:0:1000:4}\nds_{p:append|consume} {d} offset:{n:0:2000:4}"},
    {"s_movk_i32 m0, {n:0:1000:4}\nds_read_addtid_b32 {d} offset:{n:0:2000:4}"},
    {"s_movk_i32 m0, {n:0:1000:4}\nds_write_addtid_b32 {v} offset:{n:0:2000:4}"},
    // ---- straight to LDS
    {"s_movk_i32 m0, {n:0:1024:4}\nglobal_load_lds_dword v{p:48|49}, s[36:37] "
     "offset:{n:0:1024:4}"},
    {"s_movk_i32 m0, {n:0:1024:16}\nglobal_load_lds_dwordx{p:3|4} v48, s[36:37] "
     "offset:{n:0:1024:16}"},
    {"s_movk_i32 m0, {n:0:1024:4}\nglobal_load_lds_{p:ubyte|sbyte} v52, s[36:37] "
     "offset:{n:0:1024:4}"},
    {"s_movk_i32 m0, {n:0:1024:4}\nglobal_load_lds_{p:ushort|sshort} v48, s[36:37] "
     "offset:{n:0:1024:4}"},
    {"s_movk_i32 m0, {n:0:1024:4}\nbuffer_load_dword v{p:48|53}, s[32:35], {p:0|s44} offen "
     "offset:{n:0:1024:4} lds"},
    {"s_movk_i32 m0, {n:0:1024:16}\nbuffer_load_dwordx{p:3|4} v{p:48|53}, s[32:35], 0 offen "
     "offset:{n:0:1024:4} lds"},
    {"s_movk_i32 m0, {n:0:1024:4}\nbuffer_load_{p:ubyte|sbyte|ushort|sshort} v{p:48|53}, s[32:35], "
     "0 offen offset:{n:0:1024:4} lds"},
    // ---- scratch
    {"scratch_load_dword {w}, off, off offset:{n:0:124:4}"},
    {"scratch_load_dword {w}, v56, off offset:{n:-16:16:4}"},
    {"scratch_load_dwordx2 {w2}, v56, off offset:{n:0:20:4}"},
    {"scratch_load_dwordx3 {w3}, off, off offset:{n:0:116:4}"},
    {"scratch_load_dwordx4 {w4}, off, off offset:{n:0:112:4}"},
    {"scratch_load_{p:ubyte|sbyte|ubyte_d16|sbyte_d16_hi} {d}, v56, off offset:{n:0:100}"},
    {"scratch_load_{p:ushort|sshort|short_d16|short_d16_hi} {d}, v56, off offset:{n:0:60:2}"},
    {"scratch_store_dword off, {r}, off offset:{n:0:124:4}"},
    {"scratch_store_dword v56, {r}, off offset:{n:-16:16:4}"},
    {"scratch_store_dwordx2 v56, {r2}, off offset:{n:0:20:4}"},
    {"scratch_store_dwordx4 off, {r4}, off offset:{n:0:112:4}"},
    {"scratch_store_{p:byte|byte_d16_hi} v56, {v}, off offset:{n:0:100}"},
    {"scratch_store_{p:short|short_d16_hi} v56, {v}, off offset:{n:0:60:2}"},
    // ---- global, flat
    {"global_load_dword {w}, v{p:48|49}, s[36:37] offset:{n:-4096:3072:4}{p:|| sc0| nt}"},
    {"global_load_dwordx2 {w2}, v{p:48|49}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_load_dwordx3 {w3}, v{p:48|49}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_load_dwordx4 {w4}, v{p:48|49}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_load_dwordx{p:2} {d2}, v[50:51], off offset:{n:-4096:3072:4}"},
    {"global_load_dword {d}, v[50:51], off offset:{n:-4096:3072:4} sc1"},
    {"global_load_{p:ubyte|sbyte|ubyte_d16|ubyte_d16_hi|sbyte_d16|sbyte_d16_hi} {d}, v52, "
     "s[36:37] offset:{n:-4096:3000}"},
    {"global_load_{p:ushort|sshort|short_d16|short_d16_hi} {d}, v48, s[36:37] "
     "offset:{n:-4096:3000:2}"},
    {"global_store_dword v{p:48|49}, {r}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_store_dwordx2 v{p:48|49}, {r2}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_store_dwordx3 v48, {r3}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_store_dwordx4 v48, {r4}, s[36:37] offset:{n:-4096:3072:4}"},
    {"global_store_dwordx4 v[50:51], {v4}, off offset:{n:-4096:3072:4}"},
    {"global_store_{p:byte|byte_d16_hi} v52, {v}, s[36:37] offset:{n:-4096:3000}"},
    {"global_store_{p:short|short_d16_hi} v48, {v}, s[36:37] offset:{n:-4096:3000:2}"},
    {"flat_load_dword {d}, v[50:51] offset:{n:0:3072:4}"},
    {"flat_load_dwordx4 {d4}, v[50:51] offset:{n:0:3072:4}"},
    {"flat_store_dwordx2 v[50:51], {v2} offset:{n:0:3072:4}"},
    {"global_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap} v{p:48|49}, {v}, "
     "s[36:37] offset:{n:-4096:3072:4}"},
    {"global_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap}_x2 v{p:48|49}, {v2}, "
     "s[36:37] offset:{n:-4096:3072:8}"},
    {"global_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap} {d}, v{p:48|49}, {v}, "
     "s[36:37] sc0"},
    {"global_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap}_x2 {d2}, v[50:51], "
     "{v2}, off sc0"},
    {"global_atomic_cmpswap v48, {v2}, s[36:37]"},
    {"global_atomic_cmpswap {d}, v48, {v2}, s[36:37] sc0"},
    {"global_atomic_cmpswap_x2 {d2}, v48, {v4}, s[36:37] sc0"},
    {"global_atomic_add_f32 v48, {v}, s[36:37] offset:{n:0:64:4}"},
    {"global_atomic_add_f32 {d}, v48, {v}, s[36:37] sc0"},
    {"global_atomic_pk_add_{p:f16|bf16} v48, {v}, s[36:37]"},
    {"global_atomic_pk_add_{p:f16|bf16} {d}, v48, {v}, s[36:37] sc0"},
    {"global_atomic_{p:add|min|max}_f64 v48, {v2}, s[36:37]"},
    {"global_atomic_{p:add|min|max}_f64 {d2}, v48, {v2}, s[36:37] sc0"},
    {"flat_atomic_add {d}, v[50:51], {v} sc0"},
    // ---- buffers
    {"buffer_load_dword {w}, v{p:48|53}, s[32:35], {p:0|s44|16} offen offset:{n:0:2048:4}"},
    {"buffer_load_dwordx2 {w2}, v{p:48|53}, s[32:35], 0 offen offset:{n:0:2048:4}"},
    {"buffer_load_dwordx3 {w3}, v{p:48|53}, s[32:35], 0 offen offset:{n:0:2048:4}"},
    {"buffer_load_dwordx4 {w4}, v{p:48|53}, s[32:35], s44 offen offset:{n:0:2048:4}"},
    {"buffer_load_dword {w}, off, s[32:35], s44 offset:{n:0:4092:4}"},
    {"buffer_load_dword {d}, v55, s[40:43], 0 idxen offset:{n:0:12:4}"},
    {"buffer_load_{p:ubyte|sbyte|ubyte_d16_hi|sbyte_d16} {d}, v{p:52|53}, s[32:35], 0 offen "
     "offset:{n:0:2000}"},
    {"buffer_load_{p:ushort|sshort|short_d16|short_d16_hi} {d}, v53, s[32:35], 0 offen "
     "offset:{n:0:2000:2}"},
    {"buffer_store_dword {r}, v{p:48|53}, s[32:35], {p:0|s44} offen offset:{n:0:2048:4}"},
    {"buffer_store_dwordx4 {r4}, v{p:48|53}, s[32:35], 0 offen offset:{n:0:2048:4}"},
    {"buffer_store_{p:byte|byte_d16_hi} {v}, v{p:52|53}, s[32:35], 0 offen offset:{n:0:2000}"},
    {"buffer_store_{p:short|short_d16_hi} {v}, v53, s[32:35], 0 offen offset:{n:0:2000:2}"},
    {"buffer_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap} {d}, v{p:48|53}, "
     "s[32:35], 0 offen offset:{n:0:2048:4}{p:| sc0}"},
    {"buffer_atomic_cmpswap {d2}, v48, s[32:35], 0 offen{p:| sc0}"},
    {"buffer_atomic_{p:add_f32|pk_add_f16|pk_add_bf16} {d}, v48, s[32:35], 0 offen"},
    // ---- scalar
    {"s_load_dword {t}, s[38:39], 0x{n:0:9}00"},
    {"s_load_dword {t}, s[38:39], s45"},
    {"s_load_dwordx2 {t2}, s[38:39], 0x{n:10:99}0"},
    {"s_load_dwordx4 {t4}, s[36:37], 0x{n:10:99}0"},
    {"s_load_dwordx8 {t8}, s[36:37], 0x{n:10:99}0"},
    {"s_buffer_load_dword {t}, s[32:35], 0x{n:10:99}0"},
    {"s_buffer_load_dwordx2 {t2}, s[32:35], s45"},
    {"s_buffer_load_dwordx4 {t4}, s[32:35], 0x{n:10:90}0"},
    {"s_store_dword {s}, s[36:37], 0x{n:10:90}0"},
    {"s_store_dwordx2 {s2}, s[36:37], s45"},
    {"s_store_dwordx4 {s4}, s[36:37], 0x{n:10:90}0"},
    {"s_buffer_store_dword {s}, s[32:35], 0x{n:10:90}0"},
    {"s_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap} {t}, s[36:37], "
     "0x{n:10:90}0{p:| glc}"},
    {"s_atomic_{p:add|sub|inc|dec|smin|smax|umin|umax|and|or|xor|swap}_x2 {t2}, s[36:37], "
     "0x{n:10:90}0{p:| glc}"},
    {"s_atomic_cmpswap {t2}, s[36:37], 0x{n:10:90}0{p:| glc}"},
};

} // namespace

llvm::ArrayRef<InstructionTemplate> memoryTemplates() { return kTemplates; }

} // namespace mono::fuzz

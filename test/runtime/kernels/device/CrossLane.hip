// What moves data between the lanes of a wave, device only: each kernel writes rows of 64 dwords.
#include "test/runtime/kernels/device/Device.h"

DEVICE void writeRows(u32 *out, const u32 *rows, u32 count) {
  for (u32 row = 0; row < count; ++row)
    out[64 * row + laneId()] = rows[row];
}

/// DPP patterns; lanes without a source keep the old value, here ~0, or read 0 with bound control.
KERNEL void dppPatterns(const u32 *in, u32 *out) {
  i32 v = i32(in[laneId()]);
#define DPP(control, bound) u32(__builtin_amdgcn_update_dpp(-1, v, control, 0xf, 0xf, bound))
  u32 rows[] = {DPP(0x1b, false),  // quad_perm:[3,2,1,0]
                DPP(0x101, false), // row_shl:1
                DPP(0x113, false), // row_shr:3
                DPP(0x113, true),
                DPP(0x125, false),                                                // row_ror:5
                DPP(0x140, false),                                                // row_mirror
                DPP(0x141, false),                                                // row_half_mirror
                DPP(0x130, false),                                                // wave_shl:1
                DPP(0x138, false),                                                // wave_shr:1
                DPP(0x142, false),                                                // row_bcast:15
                DPP(0x143, false),                                                // row_bcast:31
                DPP(0x157, false),                                                // row_newbcast:7
                u32(__builtin_amdgcn_update_dpp(-1, v, 0x140, 0xa, 0x5, false))}; // masks
#undef DPP
  writeRows(out, rows, sizeof(rows) / sizeof(rows[0]));
}

/// The classic DPP reduction: after it lane 63 holds the sum of the wave.
KERNEL void dppReduce(const u32 *in, u32 *out) {
  u32 v = in[globalIndex()];
  v += u32(__builtin_amdgcn_update_dpp(0, i32(v), 0x111, 0xf, 0xf, true));
  v += u32(__builtin_amdgcn_update_dpp(0, i32(v), 0x112, 0xf, 0xf, true));
  v += u32(__builtin_amdgcn_update_dpp(0, i32(v), 0x114, 0xf, 0xf, true));
  v += u32(__builtin_amdgcn_update_dpp(0, i32(v), 0x118, 0xf, 0xf, true));
  v += u32(__builtin_amdgcn_update_dpp(0, i32(v), 0x142, 0xa, 0xf, false));
  v += u32(__builtin_amdgcn_update_dpp(0, i32(v), 0x143, 0xc, 0xf, false));
  if (laneId() == 63)
    out[globalIndex() / 64] = v;
}

/// ds_bpermute pulls, ds_permute pushes, ds_swizzle moves by pattern.
KERNEL void dsPermutes(const u32 *in, const u32 *lanes, u32 *out) {
  i32 v = i32(in[laneId()]), lane = i32(lanes[laneId()] * 4);
  u32 rows[] = {u32(__builtin_amdgcn_ds_bpermute(lane, v)),
                u32(__builtin_amdgcn_ds_permute(lane, v)),
                u32(__builtin_amdgcn_ds_swizzle(v, 0x041f)),  // xor 1
                u32(__builtin_amdgcn_ds_swizzle(v, 0x401f)),  // xor 16
                u32(__builtin_amdgcn_ds_swizzle(v, 0x00f0)),  // and 16, or 7
                u32(__builtin_amdgcn_ds_swizzle(v, 0x8039))}; // quad_perm:[1,2,3,0]
  writeRows(out, rows, 6);
}

/// Both results of both swaps.
KERNEL void permlaneSwaps(const u32 *a, const u32 *b, u32 *out) {
  auto by16 = __builtin_amdgcn_permlane16_swap(a[laneId()], b[laneId()], false, false);
  auto by32 = __builtin_amdgcn_permlane32_swap(a[laneId()], b[laneId()], false, false);
  u32 rows[] = {by16[0], by16[1], by32[0], by32[1]};
  writeRows(out, rows, 4);
}

/// Votes and counts inside a branch that only some lanes take.
KERNEL void votes(const u32 *in, u64 *masks, u32 *counts, u32 *first) {
  u32 lane = laneId(), v = in[lane];
  if (lane == 0)
    masks[0] = 0;
  counts[lane] = first[lane] = 0;
  if (v % 3 == 0)
    return;
  u64 mask = ballot(v % 2 == 1);
  masks[0] = mask; // every live lane writes the same
  counts[lane] =
      __builtin_amdgcn_mbcnt_hi(u32(mask >> 32), __builtin_amdgcn_mbcnt_lo(u32(mask), 0));
  first[lane] =
      u32(__builtin_amdgcn_readfirstlane(i32(v))) + u32(__builtin_amdgcn_readlane(i32(v), 17));
}

/// v_prng_b32, clocks that run forward, and sleeping.
KERNEL void clocks(const u32 *in, u32 *random, u64 *elapsed) {
  random[laneId()] = __builtin_amdgcn_prng_b32(in[laneId()]);
  u64 start = __builtin_amdgcn_s_memtime();
  u64 startReal = __builtin_amdgcn_s_memrealtime();
  __builtin_amdgcn_s_sleep(10);
  u64 end = __builtin_amdgcn_s_memtime();
  elapsed[0] = end - start;
  elapsed[1] = __builtin_amdgcn_s_memrealtime() - startReal;
}

/// Dot products of small integers and halves with a 32-bit sum.
KERNEL void dotProducts(const u32 *a, const u32 *b, u32 *out) {
  typedef i16 ShortPair __attribute__((ext_vector_type(2)));
  typedef __fp16 HalfPair __attribute__((ext_vector_type(2)));
  u32 lane = laneId(), x = a[lane], y = b[lane];
  HalfPair hx = {__fp16(f32(x & 15)), __fp16(f32(x >> 4 & 15))};
  HalfPair hy = {__fp16(f32(y & 15)), __fp16(f32(y >> 4 & 15))};
  u32 rows[] = {u32(__builtin_amdgcn_sdot2(__builtin_bit_cast(ShortPair, x),
                                           __builtin_bit_cast(ShortPair, y), 5, false)),
                u32(__builtin_amdgcn_sdot4(i32(x), i32(y), 7, false)),
                __builtin_amdgcn_udot4(x, y, 9, false),
                u32(__builtin_amdgcn_sdot8(i32(x), i32(y), 11, false)),
                __builtin_amdgcn_udot8(x, y, 13, false),
                u32(__builtin_amdgcn_fdot2(hx, hy, 2.0f, false))};
  writeRows(out, rows, 6);
}

// Integer arithmetic of every width: division, shifts, bit tricks, saturation, packed halves.
#include "test/runtime/kernels/device/Device.h"

/// Arithmetic is done in the unsigned type, where wrapping is defined, and read as T.
template <typename T, typename U> DEVICE void wrapping(const T *a, const T *b, T *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  T x = a[i], y = b[i];
  U ux = U(x), uy = U(y);
  T results[] = {T(U(ux + uy)),
                 T(U(ux - uy)),
                 T(U(U(ux) * u64(uy))),
                 T(x & y),
                 T(x | y),
                 T(x ^ y),
                 T(~x),
                 T(x < y ? x : y),
                 T(x > y ? x : y),
                 T(x == y ? ux : uy),
                 T(U(0) - ux),
                 T((x < y) * 2 + (x >= y)),
                 T(U(ux * 5 + uy * 9))};
  u32 row = 0;
  for (T result : results)
    out[n * row++ + i] = result;
}

/// Quotients and remainders; the one division that overflows and those by zero are left out.
template <typename T> DEVICE void dividing(const T *a, const T *b, T *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  T x = a[i], y = b[i];
  if (y == 0 || (T(-1) < T(0) && y == T(-1)))
    y = 3;
  T results[] = {T(x / y), T(x % y), T(x / 7), T(x % 10), T(x / T(100)), T(x / T(64))};
  u32 row = 0;
  for (T result : results)
    out[n * row++ + i] = result;
}

template <typename T, typename U> DEVICE void shifting(const T *a, const T *b, T *out, u32 n) {
  constexpr u32 width = 8 * sizeof(T);
  u32 i = globalIndex();
  if (i >= n)
    return;
  T x = a[i];
  U ux = U(x);
  u32 by = u32(b[i]) % width;
  T results[] = {T(U(ux << by)),
                 T(x >> by),
                 T(U(ux >> by)),
                 T(U(ux << by | ux >> (width - by) % width)), // rotate
                 T(U(ux >> 3)),
                 T(U(ux << 5)),
                 T(x >> (width - 1)),
                 T(U(ux >> by & 0xf)), // bit field
                 T(U(U(ux << 2) + U(b[i]))),
                 reverseBits(x)};
  u32 row = 0;
  for (T result : results)
    out[n * row++ + i] = result;
}

#define INTEGER_KERNELS(T, U)                                                                      \
  KERNEL void wrapping_##T(const T *a, const T *b, T *out, u32 n) {                                \
    wrapping<T, U>(a, b, out, n);                                                                  \
  }                                                                                                \
  KERNEL void dividing_##T(const T *a, const T *b, T *out, u32 n) { dividing(a, b, out, n); }      \
  KERNEL void shifting_##T(const T *a, const T *b, T *out, u32 n) { shifting<T, U>(a, b, out, n); }

INTEGER_KERNELS(i8, u8)
INTEGER_KERNELS(u8, u8)
INTEGER_KERNELS(i16, u16)
INTEGER_KERNELS(u16, u16)
INTEGER_KERNELS(i32, u32)
INTEGER_KERNELS(u32, u32)
INTEGER_KERNELS(i64, u64)
INTEGER_KERNELS(u64, u64)

/// Counting and moving bits of 32 and 64 bits, high halves of products, byte permutes.
KERNEL void bitTricks(const u64 *a, const u64 *b, u64 *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  u64 x = a[i], y = b[i];
  u32 lo = u32(x), hi = u32(y);
  u64 results[] = {
      u64(__builtin_popcount(lo)),
      u64(__builtin_popcountll(x)),
      u64(lo ? __builtin_clz(lo) : 32),
      u64(x ? __builtin_clzll(x) : 64),
      u64(lo ? __builtin_ctz(lo) : 32),
      u64(x ? __builtin_ctzll(x) : 64),
      u64(__builtin_ffs(i32(lo))),
      u64(__builtin_bswap32(lo)),
      __builtin_bswap64(x),
      u64(__builtin_parity(lo)),
      u64(lo >> 5 & 0x1ff),                                     // v_bfe_u32
      u64(i64(i32(lo << 7) >> 20)),                             // v_bfe_i32
      u64(u32((lo & 0x00ff0ff0u) | (hi & ~0x00ff0ff0u))),       // v_bfi_b32
      u64(u32((x >> 32 << 32 | hi) >> (lo & 31))),              // v_alignbit_b32
      u64(u32((lo & 0xffu) << 24 | (hi & 0xff00u) | lo >> 24)), // v_perm_b32
      u64(lo) * hi >> 32,
      u64(i64(i32(lo)) * i32(hi)),
      x * y,
      u64((unsigned __int128)x * y >> 64),
      u64((__int128)i64(x) * i64(y) >> 64),
      u64((lo & 0xffffffu) * (hi & 0xffffffu)), // v_mul_u32_u24
      u64(lo ^ hi ^ u32(x >> 32)),              // v_bitop3_b32
      u64((lo & hi) | (~lo & u32(x >> 32))),
      u64(i64(x) < 0 ? 0 - x : x),
      u64(u32(lo - hi) < lo ? 1 : 2),
      u64(u32(__builtin_abs(i32(lo >> 1) - i32(hi >> 1)))),
  };
  u32 row = 0;
  for (u64 result : results)
    out[n * row++ + i] = result;
}

/// Saturating sums and differences of every width and sign, widened to i64.
KERNEL void saturating(const u64 *a, const u64 *b, i64 *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  u64 x = a[i], y = b[i];
  i64 results[] = {
      __builtin_elementwise_add_sat(i8(x), i8(y)),   __builtin_elementwise_sub_sat(i8(x), i8(y)),
      __builtin_elementwise_add_sat(u8(x), u8(y)),   __builtin_elementwise_sub_sat(u8(x), u8(y)),
      __builtin_elementwise_add_sat(i16(x), i16(y)), __builtin_elementwise_sub_sat(i16(x), i16(y)),
      __builtin_elementwise_add_sat(u16(x), u16(y)), __builtin_elementwise_sub_sat(u16(x), u16(y)),
      __builtin_elementwise_add_sat(i32(x), i32(y)), __builtin_elementwise_sub_sat(i32(x), i32(y)),
      __builtin_elementwise_add_sat(u32(x), u32(y)), __builtin_elementwise_sub_sat(u32(x), u32(y)),
      __builtin_elementwise_add_sat(i64(x), i64(y)), __builtin_elementwise_sub_sat(i64(x), i64(y)),
      i64(__builtin_elementwise_add_sat(x, y)),      i64(__builtin_elementwise_sub_sat(x, y))};
  u32 row = 0;
  for (i64 result : results)
    out[n * row++ + i] = result;
}

/// Two 16-bit integers at a time: v_pk_add_u16, v_pk_mad_i16, v_pk_max_i16, packed shifts.
KERNEL void packedI16(const i16 *a, const i16 *b, i16 *out, u32 n) {
  typedef i16 Pair __attribute__((ext_vector_type(2)));
  typedef u16 UPair __attribute__((ext_vector_type(2)));
  u32 i = globalIndex();
  if (2 * i >= n)
    return;
  Pair x = {a[2 * i], a[2 * i + 1]}, y = {b[2 * i], b[2 * i + 1]};
  UPair ux = __builtin_bit_cast(UPair, x), uy = __builtin_bit_cast(UPair, y);
  Pair results[] = {__builtin_bit_cast(Pair, UPair(ux + uy)),
                    __builtin_bit_cast(Pair, UPair(ux - uy)),
                    __builtin_bit_cast(Pair, UPair(ux * uy)),
                    __builtin_bit_cast(Pair, UPair(ux * uy + ux)),
                    __builtin_elementwise_min(x, y),
                    __builtin_elementwise_max(x, y),
                    __builtin_bit_cast(Pair, __builtin_elementwise_min(ux, uy)),
                    __builtin_bit_cast(Pair, __builtin_elementwise_max(ux, uy)),
                    __builtin_bit_cast(Pair, UPair(ux << (uy & UPair{15, 15}))),
                    __builtin_bit_cast(Pair, UPair(ux >> (uy & UPair{15, 15}))),
                    Pair(x >> (y & Pair{15, 15})),
                    __builtin_elementwise_add_sat(x, y),
                    __builtin_elementwise_sub_sat(x, y)};
  u32 row = 0;
  for (Pair result : results) {
    out[n * row + 2 * i] = result.x;
    out[n * row++ + 2 * i + 1] = result.y;
  }
}

/// 128-bit sums and products through carry chains.
KERNEL void wideIntegers(const u64 *a, const u64 *b, u64 *out, u32 n) {
  u32 i = globalIndex();
  if (i + 1 >= n)
    return;
  unsigned __int128 x = (unsigned __int128)a[i] << 64 | a[i + 1];
  unsigned __int128 y = (unsigned __int128)b[i] << 64 | b[i + 1];
  unsigned __int128 results[] = {x + y, x - y, x * y, x << (b[i] & 127), x >> (b[i] & 127)};
  u32 row = 0;
  for (unsigned __int128 result : results) {
    out[2 * (n * row + i)] = u64(result);
    out[2 * (n * row++ + i) + 1] = u64(result >> 64);
  }
}

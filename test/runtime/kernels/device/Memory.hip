// Memory instructions beyond loads and stores of C, device only: loads straight to LDS, buffers
// with bounds, transposing LDS reads.
#include "test/runtime/kernels/device/Device.h"

template <typename T> using LdsPointer = __attribute__((address_space(3))) T *;
template <typename T> using GlobalPointer = __attribute__((address_space(1))) T *;

constexpr i32 bufferFlags = 0x27000; // what the compiler writes to word 3 of a V# for gfx950

/// global_load_lds of each width (part of the encoding); lanes read in reverse order, LDS is copied
/// out dword by dword. 12- and 16-byte loads take 16 bytes a lane.
#define GLOBAL_LOAD_LDS(width)                                                                     \
  KERNEL void globalLoadLds##width(u32 *in, u32 *out) {                                            \
    SHARED(staged, u32[64 * 4]);                                                                   \
    u32 lane = laneId(), stride = width == 4 ? 1 : 4;                                              \
    for (u32 n = lane; n < 64 * 4; n += 64)                                                        \
      staged[n] = 0xabababab;                                                                      \
    syncThreads();                                                                                 \
    __builtin_amdgcn_global_load_lds((GlobalPointer<u32>)(in + (63 - lane) * (width / 4)),         \
                                     (LdsPointer<u32>)&staged[0], width, 0, 0);                    \
    __builtin_amdgcn_s_waitcnt(0x0f70); /* vmcnt(0) */                                             \
    syncThreads();                                                                                 \
    for (u32 n = lane; n < 64 * stride; n += 64)                                                   \
      out[n] = staged[n];                                                                          \
  }
GLOBAL_LOAD_LDS(4)
GLOBAL_LOAD_LDS(12)
GLOBAL_LOAD_LDS(16)

/// A buffer of `bytes`: what is outside reads as 0 and is not written.
KERNEL void buffers(u32 *in, u32 *store, u32 *out, u32 bytes) {
  typedef u32 Word4 __attribute__((ext_vector_type(4)));
  u32 lane = laneId();
  auto source = __builtin_amdgcn_make_buffer_rsrc(in, 0, bytes, bufferFlags);
  auto target = __builtin_amdgcn_make_buffer_rsrc(store, 0, bytes, bufferFlags);
  u32 word = __builtin_amdgcn_raw_buffer_load_b32(source, lane * 4, 0, 0);
  Word4 four = __builtin_amdgcn_raw_buffer_load_b128(source, lane * 16, 0, 0);
  u8 byte = __builtin_amdgcn_raw_buffer_load_b8(source, lane, 0, 0);
  u16 half = __builtin_amdgcn_raw_buffer_load_b16(source, lane * 2, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(word + 1, target, lane * 4, 0, 0);
  u32 rows[] = {word, four.x, four.y, four.z, four.w, byte, half};
  for (u32 row = 0; row < 7; ++row)
    out[64 * row + lane] = rows[row];
}

/// buffer_load ... lds of 4 and 16 bytes a lane, the tail beyond the buffer.
KERNEL void bufferLoadLds(u32 *in, u32 *out, u32 bytes) {
  SHARED(staged, u32[64 + 256]);
  u32 lane = laneId();
  auto source = __builtin_amdgcn_make_buffer_rsrc(in, 0, bytes, bufferFlags);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(source, (LdsPointer<void>)&staged[0], 4, lane * 4, 0, 0,
                                           0);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(source, (LdsPointer<void>)&staged[64], 16, lane * 16, 0,
                                           0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  syncThreads();
  for (u32 n = lane; n < 64 + 256; n += 64)
    out[n] = staged[n];
}

/// Tiles of 16 columns: 16-bit with 4 rows, 8-bit with 8, 4-bit with 16, one a group of 16 lanes;
/// each lane's address walks the tile in order.
KERNEL void transposingReads(const u32 *in, u32 *out16, u32 *out8, u32 *out4) {
  typedef i32 Int2 __attribute__((ext_vector_type(2)));
  typedef i16 Short4 __attribute__((ext_vector_type(4)));
  SHARED(tiles, u32[128]);
  u32 lane = laneId();
  tiles[lane] = in[lane];
  tiles[lane + 64] = in[lane + 64];
  syncThreads();
  Int2 by16 = __builtin_bit_cast(
      Int2, __builtin_amdgcn_ds_read_tr16_b64_v4i16((LdsPointer<Short4>)&tiles[2 * lane]));
  Int2 by8 = __builtin_amdgcn_ds_read_tr8_b64_v2i32((LdsPointer<Int2>)&tiles[2 * lane]);
  Int2 by4 = __builtin_amdgcn_ds_read_tr4_b64_v2i32((LdsPointer<Int2>)&tiles[2 * lane]);
  for (u32 n = 0; n < 2; ++n) {
    out16[2 * lane + n] = u32(by16[n]);
    out8[2 * lane + n] = u32(by8[n]);
    out4[2 * lane + n] = u32(by4[n]);
  }
}

/// Every width of load and store of C, at odd places.
KERNEL void unalignedAccess(const u8 *in, u8 *out) {
  struct __attribute__((packed)) Record {
    u8 a;
    u16 b;
    u32 c;
    u64 d;
    f64 e;
  };
  u32 lane = laneId();
  const Record *from = (const Record *)in;
  Record *to = (Record *)out;
  Record r = from[lane];
  to[63 - lane] = {u8(r.a + 1), u16(r.b + 1), r.c + 1, r.d + 1, r.e};
}

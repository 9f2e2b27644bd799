// Sorts of a workgroup in LDS.
#include "test/runtime/kernels/device/Device.h"

DEVICE void orderPair(u32 &low, u32 &high, bool ascending) {
  if ((low > high) != ascending)
    return;
  u32 kept = low;
  low = high;
  high = kept;
}

/// 512 keys by 256 work-items.
KERNEL void bitonicSort(const u32 *in, u32 *out) {
  SHARED(keys, u32[512]);
  u32 t = threadX(), base = blockX() * 512;
  keys[t] = in[base + t];
  keys[t + 256] = in[base + t + 256];
  for (u32 size = 2; size <= 512; size *= 2)
    for (u32 stride = size / 2; stride > 0; stride /= 2) {
      syncThreads();
      u32 low = 2 * t - (t & (stride - 1));
      orderPair(keys[low], keys[low + stride], (low & size) == 0);
    }
  syncThreads();
  out[base + t] = keys[t];
  out[base + t + 256] = keys[t + 256];
}

/// 128 keys by 64 work-items, 128 rounds.
KERNEL void oddEvenSort(const u32 *in, u32 *out) {
  SHARED(keys, u32[128]);
  u32 t = threadX(), base = blockX() * 128;
  keys[t] = in[base + t];
  keys[t + 64] = in[base + t + 64];
  for (u32 round = 0; round < 128; ++round) {
    syncThreads();
    u32 low = 2 * t + (round & 1);
    if (low + 1 < 128)
      orderPair(keys[low], keys[low + 1], true);
  }
  syncThreads();
  out[base + t] = keys[t];
  out[base + t + 64] = keys[t + 64];
}

/// Stable LSD radix sort of 256 key-value pairs, one bit a pass; ballots rank the keys of a wave.
KERNEL void radixSort(const u32 *keysIn, const u32 *valuesIn, u32 *keysOut, u32 *valuesOut) {
  SHARED(keys, u32[256]);
  SHARED(values, u32[256]);
  SHARED(zeros, u32[4]);
  u32 t = threadX(), base = blockX() * 256, wave = t / 64;
  u32 key = keysIn[base + t], value = valuesIn[base + t];
  for (u32 bit = 0; bit < 32; ++bit) {
    bool one = key >> bit & 1;
    u64 zeroMask = ballot(!one);
    if (laneId() == 0)
      zeros[wave] = u32(__builtin_popcountll(zeroMask));
    syncThreads();
    u32 before = 0, all = 0;
    for (u32 w = 0; w < 4; ++w) {
      before += w < wave ? zeros[w] : 0;
      all += zeros[w];
    }
    before += u32(__builtin_popcountll(zeroMask & ((1ull << laneId()) - 1)));
    u32 place = one ? all + t - before : before;
    keys[place] = key;
    values[place] = value;
    syncThreads();
    key = keys[t];
    value = values[t];
    syncThreads();
  }
  keysOut[base + t] = key;
  valuesOut[base + t] = value;
}

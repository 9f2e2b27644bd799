// Reductions and scans: across a wave, a workgroup, a grid.
#include "test/runtime/kernels/device/Device.h"

template <typename T> DEVICE T waveSum(T v) {
  for (u32 step = 32; step > 0; step /= 2)
    v += shuffle(v, laneId() ^ step);
  return v;
}

KERNEL void shuffleReduce(const f32 *in, f32 *sums, const u64 *wideIn, u64 *wideSums) {
  u32 i = globalIndex();
  f32 sum = waveSum(in[i]);
  u64 wide = waveSum(wideIn[i]);
  if (laneId() == 0) {
    sums[i / 64] = sum;
    wideSums[i / 64] = wide;
  }
}

/// Tree in LDS; the order of the additions is fixed, so the sums agree bit for bit.
KERNEL void treeReduce(const f32 *in, f32 *sums) {
  SHARED(partial, f32[256]);
  u32 t = threadX();
  partial[t] = in[globalIndex()];
  for (u32 width = 128; width > 0; width /= 2) {
    syncThreads();
    if (t < width)
      partial[t] += partial[t + width];
  }
  if (t == 0)
    sums[blockX()] = partial[0];
}

/// Waves reduce by shuffles, the first wave reduces the waves, the last workgroup the workgroups.
KERNEL void twoLevelReduce(const f64 *in, f64 *partials, u32 *arrived, f64 *total) {
  SHARED(waves, f64[16]);
  SHARED(isLast, u32[1]);
  u32 t = threadX(), waveCount = blockSizeX() / 64;
  f64 sum = waveSum(in[globalIndex()]);
  if (laneId() == 0)
    waves[t / 64] = sum;
  syncThreads();
  if (t == 0) {
    f64 group = 0;
    for (u32 w = 0; w < waveCount; ++w)
      group += waves[w];
    storeRelaxed(&partials[blockX()], group);
    isLast[0] = atomicAddAcquireRelease(arrived, 1u) == gridSizeX() - 1;
  }
  syncThreads();
  if (!isLast[0] || t != 0)
    return;
  f64 all = 0;
  for (u32 g = 0; g < gridSizeX(); ++g)
    all += loadRelaxed(&partials[g]);
  total[0] = all;
}

/// Inclusive (Hillis and Steele) and exclusive (Blelloch) sums of a workgroup of 256.
KERNEL void blockScan(const u32 *in, u32 *inclusive, u32 *exclusive) {
  SHARED(a, u32[256]);
  SHARED(b, u32[256]);
  u32 t = threadX(), i = globalIndex();
  a[t] = b[t] = in[i];
  for (u32 step = 1; step < 256; step *= 2) {
    syncThreads();
    u32 v = t >= step ? a[t - step] : 0;
    syncThreads();
    a[t] += v;
  }
  inclusive[i] = a[t];
  for (u32 step = 1; step < 256; step *= 2) {
    syncThreads();
    if ((t + 1) % (2 * step) == 0)
      b[t] += b[t - step];
  }
  syncThreads();
  if (t == 255)
    b[t] = 0;
  for (u32 step = 128; step > 0; step /= 2) {
    syncThreads();
    if ((t + 1) % (2 * step) == 0) {
      u32 left = b[t - step];
      b[t - step] = b[t];
      b[t] += left;
    }
  }
  syncThreads();
  exclusive[i] = b[t];
}

/// Scan over the whole grid in one launch: each workgroup publishes its sum, then its prefix, in
/// one 8-byte word {state, value}, and looks back over its predecessors.
KERNEL void lookbackScan(const u32 *in, u64 *state, u32 *ticket, u32 *out) {
  constexpr u64 hasSum = 1ull << 32, hasPrefix = 2ull << 32;
  SHARED(data, u32[256]);
  SHARED(group, u32[2]);
  u32 t = threadX();
  if (t == 0)
    group[0] = atomicAdd(ticket, 1u); // predecessors have started, whatever order workgroups run in
  syncThreads();
  u32 g = group[0];
  data[t] = in[g * 256 + t];
  for (u32 step = 1; step < 256; step *= 2) {
    syncThreads();
    u32 v = t >= step ? data[t - step] : 0;
    syncThreads();
    data[t] += v;
  }
  syncThreads();
  if (t == 0) {
    u32 sum = data[255], prefix = 0;
    storeRelaxed(&state[g], (g == 0 ? hasPrefix : hasSum) | sum);
    for (u32 back = g; back > 0;) {
      u64 word = loadRelaxed(&state[back - 1]);
      if (word < hasSum) {
        spinPause();
        continue;
      }
      prefix += u32(word);
      if (word >= hasPrefix)
        break;
      --back;
    }
    if (g != 0)
      storeRelaxed(&state[g], hasPrefix | (prefix + sum));
    group[1] = prefix;
  }
  syncThreads();
  out[g * 256 + t] = group[1] + data[t];
}

/// Running maximum of signed values, one wave a row, by shuffles.
KERNEL void prefixMaximum(const i32 *in, i32 *out, u32 columns) {
  i32 running = -2147483647 - 1;
  u32 lane = laneId();
  for (u32 start = 0; start < columns; start += 64) {
    i32 v = in[blockX() * columns + start + lane];
    for (u32 step = 1; step < 64; step *= 2) {
      i32 left = shuffle(v, lane >= step ? lane - step : lane);
      v = left > v ? left : v;
    }
    v = running > v ? running : v;
    out[blockX() * columns + start + lane] = v;
    running = shuffle(v, 63);
  }
}

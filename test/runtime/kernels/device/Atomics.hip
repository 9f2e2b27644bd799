// Read-modify-write operations on global memory and LDS, locks built of them, and a hash table.
#include "test/runtime/kernels/device/Device.h"

/// Every operation whose outcome does not depend on the order, on `T` cells: add, sub, min, max,
/// and, or, xor.
template <typename T> DEVICE void everyInteger(const T *in, T *cells) {
  T v = in[globalIndex()];
  atomicAdd(&cells[0], v);
  atomicSub(&cells[1], v);
  atomicMin(&cells[2], v);
  atomicMax(&cells[3], v);
  atomicAnd(&cells[4], T(v | T(0x0ff0f00f)));
  atomicOr(&cells[5], T(v & T(0x12345678)));
  atomicXor(&cells[6], v);
}
KERNEL void atomics_i32(const i32 *in, i32 *cells) { everyInteger(in, cells); }
KERNEL void atomics_u32(const u32 *in, u32 *cells) { everyInteger(in, cells); }
KERNEL void atomics_i64(const i64 *in, i64 *cells) { everyInteger(in, cells); }
KERNEL void atomics_u64(const u64 *in, u64 *cells) { everyInteger(in, cells); }

/// The same on LDS, copied out at the end.
template <typename T> DEVICE void everyIntegerLds(const T *in, const T *start, T *cells) {
  SHARED(local, T[7]);
  u32 t = threadX();
  if (t < 7)
    local[t] = start[t];
  syncThreads();
  everyInteger(in, local);
  syncThreads();
  if (t < 7)
    cells[7 * blockX() + t] = local[t];
}
KERNEL void ldsAtomics_i32(const i32 *in, const i32 *start, i32 *cells) {
  everyIntegerLds(in, start, cells);
}
KERNEL void ldsAtomics_u64(const u64 *in, const u64 *start, u64 *cells) {
  everyIntegerLds(in, start, cells);
}

/// Sums of small integers stored as reals are exact in any order.
KERNEL void realAtomics(const i32 *in, f32 *cells, f64 *wideCells, f32 *ldsSums) {
  SHARED(sum, f32[1]);
  f32 v = f32(in[globalIndex()] % 1024);
  if (threadX() == 0)
    sum[0] = 0;
  syncThreads();
  atomicAdd(&cells[0], v);
  atomicAdd(&wideCells[0], f64(v) * 0.5);
  atomicMin(&wideCells[1], f64(v));
  atomicMax(&wideCells[2], f64(v));
  atomicAdd(sum, v);
  syncThreads();
  if (threadX() == 0)
    ldsSums[blockX()] = sum[0];
}

/// Every work-item takes one ticket; together they take each number once. Exchange hands a token
/// on.
KERNEL void tickets(u32 *next, u32 *taken, u32 *token, u32 *tokenSum) {
  u32 mine = atomicAdd(next, 1u);
  atomicAdd(&taken[mine], 1u);
  atomicAdd(tokenSum, atomicExchange(token, globalIndex() + 1));
}

/// A compare-and-swap loop: the greatest of a function that has no atomic of its own.
KERNEL void casMaximum(const f32 *in, u32 *cell) {
  f32 v = in[globalIndex()] * in[globalIndex()];
  u32 seen = loadRelaxed(cell);
  while (__builtin_bit_cast(f32, seen) < v) {
    u32 before = atomicCas(cell, seen, __builtin_bit_cast(u32, v));
    if (before == seen)
      break;
    seen = before;
  }
}

/// One work-item of each workgroup adds to a plain counter under a spin lock.
KERNEL void spinLock(u32 *lock, u64 *counters) {
  if (threadX() != 0)
    return;
  for (u32 round = 0; round < 4; ++round) {
    while (atomicCas(lock, 0u, 1u) != 0u)
      spinPause();
    u64 old = loadAcquire(&counters[0]);
    storeRelaxed(&counters[0], old + blockX() + round);
    storeRelaxed(&counters[1], loadRelaxed(&counters[1]) + 1);
    storeRelease(lock, 0u);
  }
}

/// Workgroups enter in the order of their tickets and append themselves to a list.
KERNEL void ticketLock(u32 *next, u32 *serving, u32 *order) {
  if (threadX() != 0)
    return;
  u32 ticket = atomicAdd(next, 1u);
  while (loadAcquire(serving) != ticket)
    spinPause();
  storeRelaxed(&order[ticket], loadRelaxed(&order[ticket]) + blockX() + 1);
  storeRelease(serving, ticket + 1);
}

/// Even workgroups write a row and raise its flag; the next workgroup waits for it and reads it.
KERNEL void producerConsumer(const u32 *in, u32 *channel, u32 *flags, u32 *out) {
  u32 pair = blockX() / 2, t = threadX(), size = blockSizeX();
  if (blockX() % 2 == 0) {
    channel[pair * size + t] = in[pair * size + t] * 3 + 1;
    syncThreads();
    if (t == 0)
      storeRelease(&flags[pair], 1u);
    return;
  }
  if (t == 0)
    while (loadAcquire(&flags[pair]) == 0)
      spinPause();
  syncThreads();
  out[pair * size + t] = channel[pair * size + (t + 1) % size];
}

/// Inserts keys (none is 0) into an open-addressing table of `capacity` slots, a power of two, and
/// counts each.
KERNEL void hashInsert(const u32 *keys, u32 *slots, u32 *counts, u32 capacity, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  u32 key = keys[i];
  for (u32 slot = key * 2654435761u & (capacity - 1);; slot = (slot + 1) & (capacity - 1)) {
    u32 owner = atomicCas(&slots[slot], 0u, key);
    if (owner != 0 && owner != key)
      continue;
    atomicAdd(&counts[slot], 1u);
    return;
  }
}
/// Looks every key up again and returns its count.
KERNEL void hashLookup(const u32 *keys, const u32 *slots, const u32 *counts, u32 *found,
                       u32 capacity, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  u32 slot = keys[i] * 2654435761u & (capacity - 1);
  while (slots[slot] != keys[i])
    slot = (slot + 1) & (capacity - 1);
  found[i] = counts[slot];
}

/// Histogram of bytes: LDS counters a workgroup, then one global addition a bin.
KERNEL void histogram(const u8 *in, u32 *bins, u32 n) {
  SHARED(local, u32[256]);
  for (u32 bin = threadX(); bin < 256; bin += blockSizeX())
    local[bin] = 0;
  syncThreads();
  for (u32 i = globalIndex(); i < n; i += gridSizeX() * blockSizeX())
    atomicAdd(&local[in[i]], 1u);
  syncThreads();
  for (u32 bin = threadX(); bin < 256; bin += blockSizeX())
    atomicAdd(&bins[bin], local[bin]);
}

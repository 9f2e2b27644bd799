// What a compiler makes of control flow: real calls, recursion, function pointers, switch tables,
// arrays in scratch, dynamic LDS.
#include "test/runtime/kernels/device/Device.h"

#define NOINLINE __attribute__((noinline))

DEVICE NOINLINE u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

DEVICE NOINLINE u32 ackermann(u32 m, u32 n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

/// Each lane recurses to its own depth.
KERNEL void recursion(u32 *fib, u32 *ack) {
  u32 i = globalIndex();
  fib[i] = fibonacci(i % 12);
  ack[i] = ackermann(i % 3, i % 4);
}

DEVICE NOINLINE u32 addOp(u32 a, u32 b) { return a + b; }
DEVICE NOINLINE u32 mulOp(u32 a, u32 b) { return a * b; }
DEVICE NOINLINE u32 xorOp(u32 a, u32 b) { return a ^ (b << 3); }
DEVICE NOINLINE u32 maxOp(u32 a, u32 b) { return a > b ? a : b; }

using BinaryOp = u32 (*)(u32, u32);
CONSTANT_TABLE BinaryOp operations[] = {addOp, mulOp, xorOp, maxOp};

/// Indirect calls whose targets differ between the lanes of a wave.
KERNEL void functionPointers(const u32 *in, u32 *out) {
  u32 i = globalIndex(), v = in[i];
  for (u32 n = 0; n < 6; ++n)
    v = operations[(v + n) % 4](v, in[i] + n);
  out[i] = v;
}

/// Many arguments: some travel in registers, the rest on the stack.
DEVICE NOINLINE u64 manyArguments(u32 a0, u64 a1, f32 a2, f64 a3, u32 a4, u64 a5, u32 a6, u32 a7,
                                  u64 a8, u64 a9, u64 a10, u64 a11, u64 a12, u64 a13, u64 a14,
                                  u64 a15, u64 a16, u64 a17, u64 a18, u64 a19) {
  u64 sum = a0 + 3 * a1 + u64(a2) + u64(a3) + 5 * a4 + 7 * a5 + 11 * a6 + 13 * a7;
  sum += a8 * 17 + a9 * 19 + a10 * 23 + a11 * 29 + a12 * 31 + a13 * 37 + a14 * 41;
  return sum + a15 * 43 + a16 * 47 + a17 * 53 + a18 * 59 + a19 * 61;
}
KERNEL void callWithStack(const u32 *in, u64 *out) {
  u32 i = globalIndex(), v = in[i];
  out[i] = manyArguments(v, v + 1, f32(v % 100), f64(v % 1000), v ^ 7, u64(v) << 20, v / 3, v % 7,
                         v + 8, v + 9, v + 10, v + 11, v + 12, v + 13, v + 14, v + 15, v + 16,
                         v + 17, v + 18, v + 19);
}

/// A switch dense enough for a table.
KERNEL void switchTable(const u32 *in, u32 *out) {
  u32 i = globalIndex(), v = in[i], r = 0;
  for (u32 n = 0; n < 8; ++n) {
    switch ((v >> 4 * n) % 12) {
    case 0:
      r += v;
      break;
    case 1:
      r ^= v << 1;
      break;
    case 2:
      r = r * 5 + 1;
      break;
    case 3:
      r -= n;
      break;
    case 4:
      r = r << 3 | r >> 29;
      break;
    case 5:
      r ^= 0xdeadbeef;
      break;
    case 6:
      r += __builtin_popcount(v);
      break; // falls out of the pattern of the others
    case 7:
      continue;
    case 8:
      r = ~r;
      [[fallthrough]];
    case 9:
      r += 9;
      break;
    case 10:
      r *= v | 1;
      break;
    default:
      r ^= r >> 7;
      break;
    }
  }
  out[i] = r;
}

/// An insertion sort of an array that only scratch can hold, indexed by data.
KERNEL void scratchArray(const u32 *in, u32 *out) {
  u32 i = globalIndex();
  u32 values[24];
  u16 shorts[24];
  for (u32 n = 0; n < 24; ++n) {
    values[n] = in[i] * (n * 2654435761u + 12345) >> 3;
    shorts[n] = u16(values[n] >> 5);
  }
  for (u32 n = 1; n < 24; ++n) {
    u32 v = values[n], at = n;
    for (; at > 0 && values[at - 1] > v; --at)
      values[at] = values[at - 1];
    values[at] = v;
  }
  u32 hash = 0;
  for (u32 n = 0; n < 24; ++n)
    hash = hash * 31 + values[(in[i] + n) % 24] + shorts[values[n] % 24];
  out[i] = hash;
}

/// An array whose length only the data knows.
KERNEL void variableLengthArray(const u32 *in, u32 *out) {
  u32 i = globalIndex(), length = in[i] % 13 + 1;
  u32 *values = static_cast<u32 *>(__builtin_alloca(length * sizeof(u32)));
  for (u32 n = 0; n < length; ++n)
    values[n] = in[i] ^ n * 77;
  u32 sum = 0;
  for (u32 n = 0; n < length; ++n)
    sum = sum * 3 + values[length - 1 - n];
  out[i] = sum;
}

/// Reverses a workgroup's values in LDS whose size the launch says.
KERNEL void dynamicLdsReverse(const u32 *in, u32 *out) {
  DYNAMIC_SHARED(values, u32);
  u32 t = threadX(), size = blockSizeX();
  values[t] = in[globalIndex()];
  syncThreads();
  out[globalIndex()] = values[size - 1 - t];
}

/// Writes through one generic pointer to global memory, LDS and scratch: flat instructions.
DEVICE NOINLINE void bump(u32 *p, u32 by) { *p += by; }
KERNEL void genericPointers(u32 *cells) {
  SHARED(local, u32[64]);
  u32 t = threadX(), mine[2] = {t, 2 * t};
  local[t] = 3 * t;
  u32 *targets[] = {&cells[globalIndex()], &local[t], &mine[t % 2]};
  bump(targets[0], 5);
  bump(targets[1], 7);
  bump(targets[2], 9);
  bump(t % 3 == 0 ? targets[0] : t % 3 == 1 ? targets[1] : targets[2], 100);
  cells[globalIndex()] += local[t] + mine[0] + mine[1];
}

/// Three dimensions of work-items and of workgroups.
KERNEL void threeDimensions(u32 *out) {
  u32 block = (blockZ() * 2 + blockY()) * 3 + blockX();
  u32 thread = (threadZ() * 3 + threadY()) * 5 + threadX();
  out[block * 60 + thread] = blockX() + 10 * blockY() + 100 * blockZ() + 1000 * threadX() +
                             10000 * threadY() + 100000 * threadZ();
}

/// Nested loops with breaks and early returns, different in every lane.
KERNEL void divergence(const u32 *in, u32 *out) {
  u32 i = globalIndex(), v = in[i], steps = 0;
  out[i] = 0;
  for (u32 outer = 0; outer < 50; ++outer) {
    while (v > 1) {
      v = v % 2 ? 3 * v + 1 : v / 2;
      if (++steps % 17 == 0)
        break;
      if (steps > 300) {
        out[i] = ~steps;
        return;
      }
    }
    if (v <= 1)
      break;
    if (outer % 5 == 4)
      v ^= outer;
  }
  out[i] = steps * 2 + (v == 1);
}

#if defined(__AMDGCN__)
/// A trap: what assert() becomes.
KERNEL void trapIfOdd(const u32 *in) {
  if (in[globalIndex()] % 2)
    __builtin_trap();
}
#endif

// The host meaning of the names of Device.h: a work-item is a fiber of HostGrid. Fibers of one
// launch share one host thread, so plain accesses are atomic between two calls into HostGrid.
#pragma once

#include "test/runtime/kernels/HostGrid.h"
#include "test/runtime/kernels/device/HostBfloat.h"

#include <bit>
#include <cmath>
#include <cstring>

using bf16 = HostBfloat;

#define DEVICE inline
#define KERNEL inline
#define SHARED(name, ...)                                                                          \
  static char name##Site;                                                                          \
  using name##Type = As<__VA_ARGS__>;                                                              \
  name##Type &name = *static_cast<name##Type *>(                                                   \
      mono::emu::test::host::ldsVariable(&name##Site, sizeof(name##Type)))
#define DYNAMIC_SHARED(name, type)                                                                 \
  type *name = static_cast<type *>(mono::emu::test::host::dynamicLds())
#define CONSTANT_TABLE inline const

DEVICE u32 threadX() { return mono::emu::test::host::threadIndex()[0]; }
DEVICE u32 threadY() { return mono::emu::test::host::threadIndex()[1]; }
DEVICE u32 threadZ() { return mono::emu::test::host::threadIndex()[2]; }
DEVICE u32 blockX() { return mono::emu::test::host::blockIndex()[0]; }
DEVICE u32 blockY() { return mono::emu::test::host::blockIndex()[1]; }
DEVICE u32 blockZ() { return mono::emu::test::host::blockIndex()[2]; }
DEVICE u32 blockSizeX() { return mono::emu::test::host::blockSize()[0]; }
DEVICE u32 blockSizeY() { return mono::emu::test::host::blockSize()[1]; }
DEVICE u32 gridSizeX() { return mono::emu::test::host::gridSize()[0]; }
DEVICE u32 laneId() { return mono::emu::test::host::laneIndex(); }

DEVICE void syncThreads() { mono::emu::test::host::barrier(); }
DEVICE void spinPause() { mono::emu::test::host::yield(); }

template <typename T> DEVICE T shuffle(T value, u32 lane) {
  u64 bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = mono::emu::test::host::exchange(bits, lane % 64);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
DEVICE u64 ballot(bool predicate) { return mono::emu::test::host::ballot(predicate); }

template <typename T> DEVICE T atomicExchange(T *p, T v) {
  T old = *p;
  *p = v;
  return old;
}
template <typename T> DEVICE T atomicAdd(T *p, T v) { return atomicExchange(p, T(*p + v)); }
template <typename T> DEVICE T atomicAddAcquireRelease(T *p, T v) { return atomicAdd(p, v); }
template <typename T> DEVICE T atomicSub(T *p, T v) { return atomicExchange(p, T(*p - v)); }
template <typename T> DEVICE T atomicMin(T *p, T v) { return atomicExchange(p, v < *p ? v : *p); }
template <typename T> DEVICE T atomicMax(T *p, T v) { return atomicExchange(p, v > *p ? v : *p); }
template <typename T> DEVICE T atomicAnd(T *p, T v) { return atomicExchange(p, T(*p & v)); }
template <typename T> DEVICE T atomicOr(T *p, T v) { return atomicExchange(p, T(*p | v)); }
template <typename T> DEVICE T atomicXor(T *p, T v) { return atomicExchange(p, T(*p ^ v)); }
template <typename T> DEVICE T atomicCas(T *p, T expected, T desired) {
  return atomicExchange(p, *p == expected ? desired : *p);
}
template <typename T> DEVICE T loadRelaxed(const T *p) { return *p; }
template <typename T> DEVICE T loadAcquire(const T *p) { return *p; }
template <typename T> DEVICE void storeRelaxed(T *p, T v) { *p = v; }
template <typename T> DEVICE void storeRelease(T *p, T v) { *p = v; }

DEVICE f32 fusedMultiplyAdd(f32 a, f32 b, f32 c) { return std::fma(a, b, c); }
DEVICE f64 fusedMultiplyAdd(f64 a, f64 b, f64 c) { return std::fma(a, b, c); }
// Products of two halves are exact in double, and so is nearly every sum with a third.
DEVICE f16 fusedMultiplyAdd(f16 a, f16 b, f16 c) { return f16(f64(a) * f64(b) + f64(c)); }

template <typename T> DEVICE T reverseBits(T v) {
  T result = 0;
  for (u32 bit = 0; bit < 8 * sizeof(T); ++bit)
    result = T(result | (v >> bit & 1) << (8 * sizeof(T) - 1 - bit));
  return result;
}

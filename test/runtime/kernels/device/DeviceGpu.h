// The gfx950 meaning of the names of Device.h, through compiler builtins alone: no device library.
#pragma once

using bf16 = __bf16;

#define DEVICE static __attribute__((device))
#define KERNEL extern "C" __attribute__((global))
/// An LDS variable `name` of `type` (which may be an array type).
#define SHARED(name, ...) __attribute__((shared)) As<__VA_ARGS__> name
/// The LDS that the launch asked for beyond the static one, as an array of `type`.
#define DYNAMIC_SHARED(name, type)                                                                 \
  extern __attribute__((shared)) u64 dynamicLds[];                                                 \
  type *name = reinterpret_cast<type *>(dynamicLds)
#define CONSTANT_TABLE static __attribute__((device)) const

DEVICE u32 threadX() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 threadY() { return __builtin_amdgcn_workitem_id_y(); }
DEVICE u32 threadZ() { return __builtin_amdgcn_workitem_id_z(); }
DEVICE u32 blockX() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 blockY() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE u32 blockZ() { return __builtin_amdgcn_workgroup_id_z(); }
DEVICE u32 blockSizeX() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE u32 blockSizeY() { return __builtin_amdgcn_workgroup_size_y(); }
/// hidden_block_count_x is the first hidden argument of code object v5.
DEVICE u32 gridSizeX() { return *(const u32 *)__builtin_amdgcn_implicitarg_ptr(); }

DEVICE u32 laneId() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

/// Barrier of the workgroup that orders LDS and global memory between its work-items.
DEVICE void syncThreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/// The 4- or 8-byte value of another lane. All live lanes of the wave take part.
template <typename T> DEVICE T shuffle(T value, u32 lane) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  struct Words {
    i32 word[sizeof(T) / 4];
  };
  Words words = __builtin_bit_cast(Words, value);
  for (i32 &word : words.word)
    word = __builtin_amdgcn_ds_bpermute(i32(lane * 4), word);
  return __builtin_bit_cast(T, words);
}
/// Bit l is set if lane l is live and its `predicate` holds.
DEVICE u64 ballot(bool predicate) { return __builtin_amdgcn_ballot_w64(predicate); }

// Device-scope atomics; each returns the old value.
template <typename T> DEVICE T atomicAdd(T *p, T v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
/// Also publishes what this work-item has written, and sees what earlier callers published.
template <typename T> DEVICE T atomicAddAcquireRelease(T *p, T v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicSub(T *p, T v) {
  return __hip_atomic_fetch_sub(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicMin(T *p, T v) {
  return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicMax(T *p, T v) {
  return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicAnd(T *p, T v) {
  return __hip_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicOr(T *p, T v) {
  return __hip_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicXor(T *p, T v) {
  return __hip_atomic_fetch_xor(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicExchange(T *p, T v) {
  return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T atomicCas(T *p, T expected, T desired) {
  __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
template <typename T> DEVICE T loadRelaxed(const T *p) {
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE T loadAcquire(const T *p) {
  return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE void storeRelaxed(T *p, T v) {
  __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> DEVICE void storeRelease(T *p, T v) {
  __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
/// Between two looks of a polling loop.
DEVICE void spinPause() { __builtin_amdgcn_s_sleep(1); }

template <typename T> DEVICE T fusedMultiplyAdd(T a, T b, T c) {
  return __builtin_elementwise_fma(a, b, c);
}
template <typename T> DEVICE T reverseBits(T v) { return __builtin_elementwise_bitreverse(v); }

// Kernels that clang compiles for gfx950: what a compiler makes of ordinary code, run end to end.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define GLOBAL __global
#define KERNEL __kernel
typedef unsigned int uint;
typedef unsigned long ulong;

static uint itemId(void) { return __builtin_amdgcn_workitem_id_x(); }
static uint groupId(void) { return __builtin_amdgcn_workgroup_id_x(); }
static void workgroupBarrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL void vectorAdd(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *sum, uint n) {
  uint i = groupId() * 256 + itemId();
  if (i < n)
    sum[i] = a[i] * 2.0f + b[i];
}

// Each workgroup of 256 sums 256 values in LDS, the last one to arrive sums the partial sums.
KERNEL void treeSum(const GLOBAL uint *in, GLOBAL uint *partials, GLOBAL uint *arrived,
                    GLOBAL uint *total, uint groups) {
  __local uint partial[256];
  __local uint isLast;
  uint t = itemId();
  partial[t] = in[groupId() * 256 + t];
  for (uint width = 128; width > 0; width >>= 1) {
    workgroupBarrier();
    if (t < width)
      partial[t] += partial[t + width];
  }
  if (t == 0) {
    __scoped_atomic_store_n(&partials[groupId()], partial[0], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    isLast = __scoped_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) == groups - 1;
  }
  workgroupBarrier();
  if (!isLast || t != 0)
    return;
  uint sum = 0;
  for (uint g = 0; g < groups; ++g)
    sum += __scoped_atomic_load_n(&partials[g], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  *total = sum;
}

// Division, remainder, 64-bit products, a data-dependent loop and a switch: divergent control flow.
KERNEL void integerMix(const GLOBAL uint *in, GLOBAL uint *out) {
  uint i = groupId() * 64 + itemId();
  uint x = in[i], steps = 0;
  while (x > 1 && steps < 200) {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    ++steps;
  }
  ulong wide = (ulong)in[i] * 2654435761u;
  switch (in[i] % 5) {
  case 0:
    steps += (uint)(wide >> 32);
    break;
  case 1:
    steps ^= (uint)wide;
    break;
  case 3:
    steps = in[i] / (steps + 7);
    break;
  }
  out[i] = steps;
}

// A private array indexed at run time lives in scratch.
KERNEL void usesScratch(const GLOBAL uint *in, GLOBAL uint *out) {
  uint i = groupId() * 64 + itemId();
  volatile uint table[16];
  for (uint n = 0; n < 16; ++n)
    table[n] = in[i] * (n + 1);
  out[i] = table[in[i] % 16];
}

// A table in constant memory, reached by a pc-relative address.
__constant uint squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
KERNEL void constantTable(GLOBAL uint *out, uint shift) {
  uint i = itemId();
  out[i] = squares[(i + shift) % 8];
}

// Ints, floats and halves converted and divided.
KERNEL void floatMix(const GLOBAL float *in, GLOBAL float *out) {
  uint i = itemId();
  float x = in[i];
  half h = (half)x;
  float y = (float)h / (x + 3.0f);
  out[i] = y + (float)(int)(x * 10.0f);
}

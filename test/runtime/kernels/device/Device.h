// What the kernels of these tests are written with: one set of names that means gfx950 in a device
// compilation and a thread of HostGrid in a host compilation, so that one source gives both
// results.
#pragma once

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long;
using u64 = unsigned long;
using f16 = _Float16;
using f32 = float;
using f64 = double;

/// Lets an array type stand before the name it declares.
template <typename T> using As = T;

#if defined(__AMDGCN__)
#include "test/runtime/kernels/device/DeviceGpu.h"
#else
#include "test/runtime/kernels/device/DeviceHost.h"
#endif

/// Index of this work-item in a grid of one dimension.
DEVICE u32 globalIndex() { return blockX() * blockSizeX() + threadX(); }

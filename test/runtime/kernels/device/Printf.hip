// A kernel that calls a function which no file defines, as printf() without a device library does.
#include "test/runtime/kernels/device/Device.h"

extern "C" __attribute__((device, visibility("default"))) i32 hostPrintf(const char *format,
                                                                         u32 value);

KERNEL void prints(u32 *out) { out[laneId()] = u32(hostPrintf("lane %u\n", laneId())); }

// Checked copy and fill operations from the arguments of the calls that make them.
#pragma once

#include "runtime/emulator/hip/Runtime.h"

namespace mono::hipemu {

/// A copy of `bytes`; hipErrorInvalidValue if an end runs out of its allocation, or if `kind` says
/// device where the address is not one that a device reaches.
hipError_t makeCopy(Runtime &runtime, void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                    CopyOp *op);

/// Rows of `width` bytes, `pitch` bytes apart.
hipError_t makeCopy2D(Runtime &runtime, void *to, size_t toPitch, const void *from,
                      size_t fromPitch, size_t width, size_t height, hipMemcpyKind kind,
                      CopyOp *op);

/// Pitched pointers only; arrays are not supported. Slices may not overlap.
hipError_t makeCopy3D(Runtime &runtime, const hipMemcpy3DParms *params, CopyOp *op);

/// Repeats an element of 1, 2 or 4 bytes over rows of `width` elements, `pitch` bytes apart.
hipError_t makeFill(Runtime &runtime, void *to, uint32_t value, unsigned elementSize, size_t width,
                    size_t height, size_t pitch, FillOp *op);

} // namespace mono::hipemu

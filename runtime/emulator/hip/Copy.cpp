// Copies and fills: checks and entry points.
#include "runtime/emulator/hip/Copy.h"

#include "runtime/emulator/hip/Graph.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace mono::hipemu {

static uint64_t addressOf(const void *ptr) { return reinterpret_cast<uint64_t>(ptr); }

// ---- checks ------------------------------------------------------------------------------------

static bool wantsDevice(hipMemcpyKind kind, bool isTarget) {
  return kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDeviceToDeviceNoCU ||
         kind == (isTarget ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost);
}

static hipError_t checkEnd(Runtime &runtime, const void *ptr, uint64_t bytes, hipMemcpyKind kind,
                           bool isTarget) {
  const char *end = isTarget ? "target" : "source";
  // Device globals are memory of their module, which only the machine knows.
  bool known = runtime.memory().find(ptr).has_value();
  bool wraps = addressOf(ptr) + bytes < bytes;
  if (!ptr || wraps || (known && !runtime.memory().findRange(ptr, bytes)))
    return fail(hipErrorInvalidValue, "copy of {} bytes: the {} {} is not inside one allocation",
                bytes, end, ptr);
  if (wantsDevice(kind, isTarget) && !known && !isDeviceWindow(ptr))
    return fail(hipErrorInvalidValue, "copy of {} bytes: the {} {} is no device memory", bytes, end,
                ptr);
  bool wantsHost = !wantsDevice(kind, isTarget) && kind != hipMemcpyDefault;
  if (wantsHost && isDeviceWindow(ptr))
    return fail(hipErrorInvalidValue,
                "copy of {} bytes: the {} {} is device memory, but the "
                "direction says host",
                bytes, end, ptr);
  return hipSuccess;
}

static bool isDirection(hipMemcpyKind kind) {
  return (kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault) ||
         kind == hipMemcpyDeviceToDeviceNoCU;
}

// Sizes and addresses that do not fit 64 bits become the largest number, which no check lets pass.

/// Bytes from the first to the last byte of a box.
static uint64_t span(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch,
                     uint64_t slice) {
  uint64_t rows = llvm::SaturatingMultiplyAdd(height - 1, pitch, width);
  return llvm::SaturatingMultiplyAdd(depth - 1, slice, rows);
}

/// The address `x` bytes into row `y`.
static uint64_t addressAt(const void *base, uint64_t x, uint64_t y, uint64_t pitch) {
  return llvm::SaturatingAdd(addressOf(base), llvm::SaturatingMultiplyAdd(y, pitch, x));
}

/// A box as a fill or one end of a copy touches it; none of its numbers is 0.
static hipError_t checkBox(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch,
                           uint64_t slice) {
  if (height > 1 || depth > 1) {
    if (width > pitch)
      return fail(hipErrorInvalidPitchValue,
                  "expected a pitch of at least {} bytes, those of a row, but got {}", width,
                  pitch);
    if (depth > 1 && span(width, height, 1, pitch, 0) > slice)
      return fail(hipErrorInvalidValue,
                  "expected slices of at least {} bytes for {} rows of {} bytes, {} bytes apart, "
                  "but got {}",
                  span(width, height, 1, pitch, 0), height, width, pitch, slice);
  }
  return hipSuccess;
}

static hipError_t checkCopy(Runtime &runtime, const CopyOp &op, hipMemcpyKind kind) {
  if (!isDirection(kind))
    return hipErrorInvalidMemcpyDirection;
  if (op.width == 0 || op.height == 0 || op.depth == 0)
    return hipSuccess;
  if (hipError_t status = checkBox(op.width, op.height, op.depth, op.toPitch, op.toSlice))
    return status;
  if (hipError_t status = checkBox(op.width, op.height, op.depth, op.fromPitch, op.fromSlice))
    return status;
  uint64_t toBytes = span(op.width, op.height, op.depth, op.toPitch, op.toSlice);
  uint64_t fromBytes = span(op.width, op.height, op.depth, op.fromPitch, op.fromSlice);
  hipError_t status = checkEnd(runtime, reinterpret_cast<const void *>(op.to), toBytes, kind, true);
  if (status == hipSuccess)
    status = checkEnd(runtime, reinterpret_cast<const void *>(op.from), fromBytes, kind, false);
  return status;
}

// ---- makers ------------------------------------------------------------------------------------

hipError_t makeCopy(Runtime &runtime, void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                    CopyOp *op) {
  *op = {addressOf(to), addressOf(from), bytes, 1, 1, bytes, bytes, bytes, bytes};
  return checkCopy(runtime, *op, kind);
}

hipError_t makeCopy2D(Runtime &runtime, void *to, size_t toPitch, const void *from,
                      size_t fromPitch, size_t width, size_t height, hipMemcpyKind kind,
                      CopyOp *op) {
  *op = {addressOf(to), addressOf(from), width, height, 1, toPitch, fromPitch, 0, 0};
  return checkCopy(runtime, *op, kind);
}

hipError_t makeCopy3D(Runtime &runtime, const hipMemcpy3DParms *params, CopyOp *op) {
  if (!params)
    return hipErrorInvalidValue;
  if (params->srcArray || params->dstArray)
    return fail(hipErrorNotSupported, "3D copy: arrays are not supported");
  auto slice = [](const hipPitchedPtr &p) { return llvm::SaturatingMultiply(p.pitch, p.ysize); };
  auto start = [&](const hipPitchedPtr &p, const hipPos &at) {
    return llvm::SaturatingMultiplyAdd(at.z, slice(p), addressAt(p.ptr, at.x, at.y, p.pitch));
  };
  const hipExtent &extent = params->extent;
  *op = {start(params->dstPtr, params->dstPos),
         start(params->srcPtr, params->srcPos),
         extent.width,
         extent.height,
         extent.depth,
         params->dstPtr.pitch,
         params->srcPtr.pitch,
         slice(params->dstPtr),
         slice(params->srcPtr)};
  return checkCopy(runtime, *op, params->kind);
}

static hipError_t checkFill(Runtime &runtime, const FillOp &op) {
  if (op.width == 0 || op.height == 0 || op.depth == 0)
    return hipSuccess;
  if (hipError_t status = checkBox(op.width, op.height, op.depth, op.pitch, op.slice))
    return status;
  return checkEnd(runtime, reinterpret_cast<const void *>(op.to),
                  span(op.width, op.height, op.depth, op.pitch, op.slice), hipMemcpyHostToDevice,
                  true);
}

hipError_t makeFill(Runtime &runtime, void *to, uint32_t value, unsigned elementSize, size_t width,
                    size_t height, size_t pitch, FillOp *op) {
  bool goodSize = elementSize == 1 || elementSize == 2 || elementSize == 4;
  if (!goodSize || addressOf(to) % elementSize != 0)
    return fail(hipErrorInvalidValue, "fill of elements of {} bytes at {}", elementSize, to);
  uint64_t bytes = llvm::SaturatingMultiply<uint64_t>(width, elementSize);
  *op = {addressOf(to), value, elementSize, bytes, height, 1, height > 1 ? pitch : bytes, 0};
  return checkFill(runtime, *op);
}

// ---- sending -----------------------------------------------------------------------------------

enum class Sync { Host, Stream };

/// Host memory that HIP knows nothing of, which the program may reuse or free after the call.
static bool isPageable(Runtime &runtime, uint64_t address) {
  const void *ptr = reinterpret_cast<const void *>(address);
  return !isDeviceWindow(ptr) && !runtime.memory().find(ptr);
}

/// "Asynchronous" copies that touch pageable memory are not: hip_runtime_api.h has them performed
/// synchronously. A capturing stream only records.
static bool mustWait(Runtime &runtime, const Operation &op, hipStream_t handle) {
  const auto *copy = std::get_if<CopyOp>(&op);
  const Stream *stream = runtime.resolve(handle);
  return copy && stream && !stream->capture &&
         (isPageable(runtime, copy->from) || isPageable(runtime, copy->to));
}

/// Sends a copy or fill that was made; the caller waits for it with Sync::Host, or if it must.
static hipError_t submitMade(Runtime &runtime, hipError_t made, Operation op, hipStream_t stream,
                             Sync sync) {
  if (made != hipSuccess)
    return made;
  if (sync == Sync::Stream && !mustWait(runtime, op, stream))
    return send(runtime, stream, std::move(op));
  CommandPtr command;
  if (hipError_t status = send(runtime, stream, std::move(op), &command))
    return status;
  return runtime.queue().wait(command);
}

static hipError_t copy(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                       hipStream_t stream, Sync sync) {
  return api([&](Runtime &runtime) -> hipError_t {
    CopyOp op;
    hipError_t made = makeCopy(runtime, to, from, bytes, kind, &op);
    return submitMade(runtime, made, op, stream, sync);
  });
}

static hipError_t copy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                         size_t height, hipMemcpyKind kind, hipStream_t stream, Sync sync) {
  return api([&](Runtime &runtime) {
    CopyOp op;
    hipError_t made = makeCopy2D(runtime, to, toPitch, from, fromPitch, width, height, kind, &op);
    return submitMade(runtime, made, op, stream, sync);
  });
}

static hipError_t copy3D(const hipMemcpy3DParms *params, hipStream_t stream, Sync sync) {
  return api([&](Runtime &runtime) {
    CopyOp op;
    hipError_t made = makeCopy3D(runtime, params, &op);
    return submitMade(runtime, made, op, stream, sync);
  });
}

/// One end of a driver 2D copy.
static const void *driverEnd(int memoryType, const void *host, void *device) {
  // The host is 1 in HIP 6 and 0 in HIP 5, where the device is 1: decide by what is set.
  bool isHost = host && (!device || memoryType == (Runtime::get().isHip5() ? 0 : 1));
  return isHost ? host : device;
}

static hipError_t copyDriver2D(const hip_Memcpy2D *p, hipStream_t stream, Sync sync) {
  if (!p)
    return remember(hipErrorInvalidValue);
  if (p->srcArray || p->dstArray)
    return remember(hipErrorNotSupported);
  const void *to = driverEnd(p->dstMemoryType, p->dstHost, p->dstDevice);
  const void *from = driverEnd(p->srcMemoryType, p->srcHost, p->srcDevice);
  if (!to || !from)
    return remember(hipErrorInvalidValue);
  size_t toPitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
  size_t fromPitch = p->srcPitch ? p->srcPitch : p->WidthInBytes;
  auto *target = reinterpret_cast<void *>(addressAt(to, p->dstXInBytes, p->dstY, toPitch));
  auto *source = reinterpret_cast<void *>(addressAt(from, p->srcXInBytes, p->srcY, fromPitch));
  return copy2D(target, toPitch, source, fromPitch, p->WidthInBytes, p->Height, hipMemcpyDefault,
                stream, sync);
}

/// Copies between host memory and `bytes` at `offset` of the device variable behind `symbol`.
static hipError_t copySymbol(const void *symbol, void *host, size_t bytes, size_t offset,
                             bool toSymbol, hipMemcpyKind kind, hipStream_t handle, Sync sync) {
  return api([&](Runtime &runtime) -> hipError_t {
    Stream *stream = runtime.resolve(handle);
    if (!stream)
      return hipErrorInvalidHandle;
    uint64_t address = 0, size = 0;
    if (hipError_t status =
            runtime.modules().globalOfSymbol(symbol, stream->device, &address, &size))
      return status;
    if (offset > size || bytes > size - offset)
      return fail(hipErrorInvalidValue, "copy of {} bytes at {} of a device variable of {} bytes",
                  bytes, offset, size);
    void *place = reinterpret_cast<void *>(address + offset);
    CopyOp op;
    hipError_t made = toSymbol ? makeCopy(runtime, place, host, bytes, kind, &op)
                               : makeCopy(runtime, host, place, bytes, kind, &op);
    return submitMade(runtime, made, op, handle, sync);
  });
}

static hipError_t fill(void *to, uint32_t value, unsigned elementSize, size_t width, size_t height,
                       size_t pitch, hipStream_t stream, Sync sync) {
  return api([&](Runtime &runtime) {
    FillOp op;
    hipError_t made = makeFill(runtime, to, value, elementSize, width, height, pitch, &op);
    return submitMade(runtime, made, op, stream, sync);
  });
}

static hipError_t fill3D(const hipPitchedPtr &to, int value, const hipExtent &extent,
                         hipStream_t stream, Sync sync) {
  return api([&](Runtime &runtime) {
    FillOp op{
        addressOf(to.ptr), uint8_t(value), 1,        extent.width,
        extent.height,     extent.depth,   to.pitch, llvm::SaturatingMultiply(to.pitch, to.ysize)};
    return submitMade(runtime, checkFill(runtime, op), op, stream, sync);
  });
}

} // namespace mono::hipemu

using namespace mono::hipemu;

// ---- copies ------------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
  return copy(to, from, bytes, kind, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpy_spt(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
  return copy(to, from, bytes, kind, perThread(nullptr), Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t stream) {
  return copy(to, from, bytes, kind, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpyAsync_spt(void *to, const void *from, size_t bytes,
                                         hipMemcpyKind kind, hipStream_t stream) {
  return copy(to, from, bytes, kind, perThread(stream), Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes,
                                          hipMemcpyKind kind, hipStream_t stream) {
  return copy(to, from, bytes, kind, stream, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void *from, size_t bytes) {
  return copy(to, from, bytes, hipMemcpyHostToDevice, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes) {
  return copy(to, from, bytes, hipMemcpyDeviceToHost, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void *from, size_t bytes,
                                         hipStream_t stream) {
  return copy(to, from, bytes, hipMemcpyHostToDevice, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return copy(to, from, bytes, hipMemcpyDeviceToHost, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream, Sync::Stream);
}

/// The devices are known from the addresses; the numbers are only checked.
static hipError_t checkPeers(int to, int from) {
  int count = int(Runtime::get().deviceCount());
  return to < 0 || from < 0 || to >= count || from >= count ? hipErrorInvalidDevice : hipSuccess;
}
HIP_EXPORT hipError_t hipMemcpyPeer(void *to, int toDevice, const void *from, int fromDevice,
                                    size_t bytes) {
  if (hipError_t status = checkPeers(toDevice, fromDevice))
    return remember(status);
  return copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyPeerAsync(void *to, int toDevice, const void *from, int fromDevice,
                                         size_t bytes, hipStream_t stream) {
  if (hipError_t status = checkPeers(toDevice, fromDevice))
    return remember(status);
  return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream, Sync::Stream);
}

HIP_EXPORT hipError_t hipMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch,
                                  size_t width, size_t height, hipMemcpyKind kind) {
  return copy2D(to, toPitch, from, fromPitch, width, height, kind, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpy2D_spt(void *to, size_t toPitch, const void *from, size_t fromPitch,
                                      size_t width, size_t height, hipMemcpyKind kind) {
  return copy2D(to, toPitch, from, fromPitch, width, height, kind, perThread(nullptr), Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch,
                                       size_t width, size_t height, hipMemcpyKind kind,
                                       hipStream_t stream) {
  return copy2D(to, toPitch, from, fromPitch, width, height, kind, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpyParam2D(const hip_Memcpy2D *params) {
  return copyDriver2D(params, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *params) {
  return copyDriver2D(params, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *params, hipStream_t stream) {
  return copyDriver2D(params, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpy3D(const hipMemcpy3DParms *params) {
  return copy3D(params, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms *params) {
  return copy3D(params, perThread(nullptr), Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *params, hipStream_t stream) {
  return copy3D(params, stream, Sync::Stream);
}

HIP_EXPORT hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
                                        size_t offset, hipMemcpyKind kind) {
  return copySymbol(symbol, const_cast<void *>(from), bytes, offset, true, kind, nullptr,
                    Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                             size_t offset, hipMemcpyKind kind,
                                             hipStream_t stream) {
  return copySymbol(symbol, const_cast<void *>(from), bytes, offset, true, kind, stream,
                    Sync::Stream);
}
HIP_EXPORT hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                          hipMemcpyKind kind) {
  return copySymbol(symbol, to, bytes, offset, false, kind, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes,
                                               size_t offset, hipMemcpyKind kind,
                                               hipStream_t stream) {
  return copySymbol(symbol, to, bytes, offset, false, kind, stream, Sync::Stream);
}

// ---- fills -------------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipMemset(void *to, int value, size_t bytes) {
  return fill(to, uint8_t(value), 1, bytes, 1, 0, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemset_spt(void *to, int value, size_t bytes) {
  return fill(to, uint8_t(value), 1, bytes, 1, 0, perThread(nullptr), Sync::Host);
}
HIP_EXPORT hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream) {
  return fill(to, uint8_t(value), 1, bytes, 1, 0, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemsetAsync_spt(void *to, int value, size_t bytes, hipStream_t stream) {
  return fill(to, uint8_t(value), 1, bytes, 1, 0, perThread(stream), Sync::Stream);
}
HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return fill(to, value, 1, count, 1, 0, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                       hipStream_t stream) {
  return fill(to, value, 1, count, 1, 0, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return fill(to, value, 2, count, 1, 0, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                        hipStream_t stream) {
  return fill(to, value, 2, count, 1, 0, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return fill(to, uint32_t(value), 4, count, 1, 0, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count,
                                        hipStream_t stream) {
  return fill(to, uint32_t(value), 4, count, 1, 0, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return fill(to, uint8_t(value), 1, width, height, pitch, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width,
                                       size_t height, hipStream_t stream) {
  return fill(to, uint8_t(value), 1, width, height, pitch, stream, Sync::Stream);
}
HIP_EXPORT hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent) {
  return fill3D(to, value, extent, nullptr, Sync::Host);
}
HIP_EXPORT hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent,
                                       hipStream_t stream) {
  return fill3D(to, value, extent, stream, Sync::Stream);
}

// The part of HIP's binary interface the runtime uses: our own declarations of its types and
// values, the same in HIP 5, 6 and 7. Compiling needs no ROCm.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mono::hip::api {

/// hipError_t; the values the runtime tells apart.
enum Status : int {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorNoDevice = 100,
  ErrorPeerAccessAlreadyEnabled = 704,
};

/// Opaque handles. A hipStream_t is the StreamHandle of the device interface.
using Stream = void *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphNode = struct GraphNodeHandle *;
using GraphExec = struct GraphExecHandle *;

/// hipMemcpyKind; the runtime lets HIP find out where memory is.
inline constexpr int copyDefault = 4;

/// Flags of hipExtMallocWithFlags: memory that is kept out of the caches, so that a poll sees what
/// a peer stores.
inline constexpr unsigned mallocUncached = 3;

/// hipStreamNonBlocking: no order with the legacy default stream.
inline constexpr unsigned streamNonBlocking = 1;
/// hipStreamCaptureModeThreadLocal: other threads may go on using HIP while this one captures.
inline constexpr int captureThreadLocal = 1;
/// hipIpcMemLazyEnablePeerAccess.
inline constexpr unsigned ipcLazyEnablePeerAccess = 1;

/// hipFunction_attribute.
enum FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  LocalSizeBytes = 3,
  NumRegs = 4,
};

/// Markers of the `extra` list of hipModuleLaunchKernel.
inline void *const launchBufferPointer = reinterpret_cast<void *>(1);
inline void *const launchBufferSize = reinterpret_cast<void *>(2);
inline void *const launchEnd = reinterpret_cast<void *>(3);

/// hipIpcMemHandle_t.
struct IpcHandle {
  uint8_t bytes[64];
};

/// hipPointerAttribute_t.
struct PointerAttributes {
  int memoryType;
  int device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

/// hipDeviceProp_t of HIP 6 and 7 (hipGetDevicePropertiesR0600): the fields the runtime reads. The
/// library writes 1472 bytes; the rest is room for what it may append.
struct PropertiesR0600 {
  char name[256];
  uint8_t unread0[132];
  int multiProcessorCount;
  uint8_t unread1[768];
  char gcnArchName[256];
  size_t maxSharedMemoryPerMultiProcessor;
  uint8_t unread2[4096 - 1424];
};
static_assert(offsetof(PropertiesR0600, multiProcessorCount) == 388 &&
              offsetof(PropertiesR0600, gcnArchName) == 1160 &&
              offsetof(PropertiesR0600, maxSharedMemoryPerMultiProcessor) == 1416);

/// hipDeviceProp_t of HIP 5 (the symbol hipGetDeviceProperties), 792 bytes.
struct PropertiesR0000 {
  char name[256];
  uint8_t unread0[80];
  int multiProcessorCount;
  uint8_t unread1[36];
  size_t maxSharedMemoryPerMultiProcessor;
  uint8_t unread2[12];
  char gcnArchName[256];
  uint8_t unread3[4096 - 652];
};
static_assert(offsetof(PropertiesR0000, multiProcessorCount) == 336 &&
              offsetof(PropertiesR0000, maxSharedMemoryPerMultiProcessor) == 376 &&
              offsetof(PropertiesR0000, gcnArchName) == 396);

} // namespace mono::hip::api

// The stub's functions. Their types are those of the table that loads them.
#include "test/runtime/hip-device/StubHip.h"
#include "runtime/hip/HipTypes.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace mono::hip::api;
using mono::test::StubControl;

#define STUB extern "C" __attribute__((visibility("default")))

namespace {

StubControl control;
thread_local int current = 0;

struct Block {
  size_t bytes;
  unsigned flags;
};
std::mutex lock;
std::map<const char *, Block> blocks;

/// The failure this call is to have.
Status enter(const char *name) {
  ++control.calls;
  const char *failing = control.failing;
  bool fails = failing && std::strcmp(failing, name) == 0 &&
               control.failing.compare_exchange_strong(failing, nullptr);
  long left = control.failAtCall;
  while (left && !control.failAtCall.compare_exchange_weak(left, left - 1)) {
  }
  return fails || left == 1 ? static_cast<Status>(control.failure) : Success;
}

/// Runs the call's work unless the call is to fail.
template <typename Work> Status call(const char *name, Work work) {
  if (Status status = enter(name))
    return status;
  work();
  return Success;
}

Status allocate(void **ptr, size_t bytes, unsigned flags) {
  *ptr = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::lock_guard guard(lock);
  blocks[static_cast<char *>(*ptr)] = {bytes, flags};
  ++control.allocations;
  return Success;
}

/// The block around an address, or end().
auto find(const void *ptr) {
  auto next = blocks.upper_bound(static_cast<const char *>(ptr));
  if (next == blocks.begin())
    return blocks.end();
  auto found = std::prev(next);
  return static_cast<const char *>(ptr) < found->first + found->second.bytes ? found : blocks.end();
}

} // namespace

STUB StubControl *monoStubControl() { return &control; }

// ---- devices -----------------------------------------------------------------------------------

STUB Status hipRuntimeGetVersion(int *version) {
  return call("hipRuntimeGetVersion", [&] { *version = control.version; });
}
STUB Status hipGetDeviceCount(int *count) {
  if (Status status = enter("hipGetDeviceCount"))
    return status;
  *count = control.devices;
  return control.devices ? Success : ErrorNoDevice;
}
STUB Status hipGetDevice(int *device) {
  return call("hipGetDevice", [&] { *device = current; });
}
STUB Status hipSetDevice(int device) {
  return call("hipSetDevice", [&] { current = device; });
}
STUB Status hipGetDevicePropertiesR0600(PropertiesR0600 *properties, int device) {
  return call("hipGetDevicePropertiesR0600", [&] {
    // What a real library writes, and not more.
    std::memset(static_cast<void *>(properties), 0, 1472);
    std::strcpy(properties->name, "stub");
    std::strcpy(properties->gcnArchName, control.arch);
    properties->multiProcessorCount =
        device < control.firstSmallDevice ? control.computeUnits : control.computeUnits / 4;
    properties->maxSharedMemoryPerMultiProcessor = control.ldsBytes;
  });
}
STUB Status hipDeviceCanAccessPeer(int *can, int, int) {
  return call("hipDeviceCanAccessPeer", [&] { *can = control.canAccessPeer; });
}
STUB Status hipDeviceEnablePeerAccess(int, unsigned) {
  return call("hipDeviceEnablePeerAccess", [] {});
}

// ---- memory ------------------------------------------------------------------------------------

STUB Status hipMalloc(void **ptr, size_t bytes) {
  Status status = enter("hipMalloc");
  return status ? status : allocate(ptr, bytes, 0);
}
STUB Status hipExtMallocWithFlags(void **ptr, size_t bytes, unsigned flags) {
  if (Status status = enter("hipExtMallocWithFlags"))
    return status;
  if (flags == mallocUncached && !control.knowsUncached)
    return ErrorInvalidValue;
  return allocate(ptr, bytes, control.givesCoarse ? 0 : flags);
}
STUB Status hipFree(void *ptr) {
  if (Status status = enter("hipFree"))
    return status;
  std::lock_guard guard(lock);
  if (!blocks.erase(static_cast<char *>(ptr)))
    return ErrorInvalidValue;
  std::free(ptr);
  --control.allocations;
  return Success;
}
STUB Status hipMemcpyAsync(void *to, const void *from, size_t bytes, int, Stream) {
  return call("hipMemcpyAsync", [&] { std::memcpy(to, from, bytes); });
}
STUB Status hipMemsetAsync(void *to, int value, size_t bytes, Stream) {
  return call("hipMemsetAsync", [&] { std::memset(to, value, bytes); });
}
STUB Status hipMemGetAddressRange(void **base, size_t *bytes, void *ptr) {
  if (Status status = enter("hipMemGetAddressRange"))
    return status;
  std::lock_guard guard(lock);
  auto found = find(ptr);
  if (found == blocks.end())
    return ErrorInvalidValue;
  *base = const_cast<char *>(found->first);
  *bytes = found->second.bytes;
  return Success;
}
STUB Status hipPointerGetAttributes(PointerAttributes *attributes, const void *ptr) {
  if (Status status = enter("hipPointerGetAttributes"))
    return status;
  std::lock_guard guard(lock);
  auto found = find(ptr);
  if (found == blocks.end())
    return ErrorInvalidValue;
  *attributes = {2, 0, const_cast<void *>(ptr), nullptr, 0, found->second.flags};
  return Success;
}
STUB Status hipIpcGetMemHandle(IpcHandle *handle, void *ptr) {
  return call("hipIpcGetMemHandle", [&] {
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle->bytes, &ptr, sizeof ptr);
  });
}
STUB Status hipIpcOpenMemHandle(void **ptr, IpcHandle handle, unsigned) {
  return call("hipIpcOpenMemHandle", [&] {
    std::memcpy(ptr, handle.bytes, sizeof *ptr);
    ++control.imports;
  });
}
STUB Status hipIpcCloseMemHandle(void *) {
  return call("hipIpcCloseMemHandle", [] { --control.imports; });
}

// ---- code objects and launches -----------------------------------------------------------------

STUB Status hipModuleLoadData(Module *module, const void *) {
  return call("hipModuleLoadData", [&] {
    *module = reinterpret_cast<Module>(&control);
    ++control.modules;
  });
}
STUB Status hipModuleUnload(Module) {
  return call("hipModuleUnload", [] { --control.modules; });
}
STUB Status hipModuleGetFunction(Function *function, Module, const char *) {
  return call("hipModuleGetFunction", [&] { *function = reinterpret_cast<Function>(&control); });
}
STUB Status hipFuncGetAttribute(int *value, int attribute, Function) {
  return call("hipFuncGetAttribute", [&] {
    *value = attribute == MaxThreadsPerBlock ? control.threadsOfKernel
             : attribute == SharedSizeBytes  ? control.ldsOfKernel
             : attribute == LocalSizeBytes   ? control.scratchOfKernel
                                             : control.registersOfKernel;
  });
}
STUB Status hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function, int, size_t) {
  return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
              [&] { *blocks = control.workgroupsPerComputeUnit; });
}
STUB Status hipModuleLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, unsigned, Stream stream, void **, void **) {
  return call("hipModuleLaunchKernel", [&] {
    ++control.launches;
    control.lastStream = stream;
    control.lastDevice = current;
  });
}

// ---- streams and graphs ------------------------------------------------------------------------

STUB Status hipStreamCreateWithFlags(Stream *stream, unsigned) {
  return call("hipStreamCreateWithFlags", [&] {
    *stream = std::malloc(1);
    ++control.streams;
  });
}
STUB Status hipStreamDestroy(Stream stream) {
  return call("hipStreamDestroy", [&] {
    std::free(stream);
    --control.streams;
  });
}
STUB Status hipStreamSynchronize(Stream) {
  return call("hipStreamSynchronize", [] {});
}
STUB Status hipStreamBeginCapture(Stream, int) {
  return call("hipStreamBeginCapture", [] {});
}
STUB Status hipStreamEndCapture(Stream, Graph *graph) {
  return call("hipStreamEndCapture", [&] {
    *graph = reinterpret_cast<Graph>(&control);
    ++control.graphs;
  });
}
STUB Status hipGraphInstantiate(GraphExec *exec, Graph, GraphNode *, char *, size_t) {
  return call("hipGraphInstantiate", [&] {
    *exec = reinterpret_cast<GraphExec>(&control);
    ++control.graphs;
  });
}
STUB Status hipGraphLaunch(GraphExec, Stream) {
  return call("hipGraphLaunch", [] {});
}
STUB Status hipGraphExecDestroy(GraphExec) {
  return call("hipGraphExecDestroy", [] { --control.graphs; });
}
STUB Status hipGraphDestroy(Graph) {
  return call("hipGraphDestroy", [] { --control.graphs; });
}

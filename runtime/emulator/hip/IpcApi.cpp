// Device memory of one process in another. The owner moves the allocation to a memory file; the
// other process opens that file through /proc and maps it, so nothing stays behind if either dies.
#include "runtime/emulator/hip/Runtime.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mono::hipemu;

namespace {
/// What a handle holds; the rest of its 64 bytes is zero.
struct IpcHandle {
  static constexpr uint64_t validMagic = 0x636970696e6f6d31; ///< "1monipic"
  uint64_t magic = validMagic;
  int32_t process = 0, file = 0;
  uint64_t bytes = 0;
  uint64_t inode = 0; ///< tells a reused descriptor from the one that was meant
};
static_assert(sizeof(IpcHandle) <= sizeof(hipIpcMemHandle_t));
} // namespace

HIP_EXPORT hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *ptr) {
  return api([&](Runtime &runtime) -> hipError_t {
    auto block = runtime.memory().find(ptr);
    if (!handle || !block || block->kind != BlockKind::Device ||
        block->base != reinterpret_cast<uint64_t>(ptr))
      return hipErrorInvalidValue;
    auto file = runtime.machine().share(block->device, block->base);
    if (!file)
      return fail(hipErrorOutOfMemory, file.takeError());
    struct stat facts;
    if (fstat(*file, &facts) != 0)
      return hipErrorUnknown;
    IpcHandle content;
    content.process = getpid();
    content.file = *file;
    content.bytes = block->bytes;
    content.inode = facts.st_ino;
    *handle = {};
    std::memcpy(handle->reserved, &content, sizeof(content));
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipIpcOpenMemHandle(void **ptr, hipIpcMemHandle_t handle, unsigned) {
  return api([&](Runtime &runtime) -> hipError_t {
    IpcHandle content;
    std::memcpy(&content, handle.reserved, sizeof(content));
    if (!ptr || content.magic != IpcHandle::validMagic)
      return hipErrorInvalidValue;
    if (content.process == getpid())
      return fail(hipErrorInvalidContext, "IPC handle: opened in the process that made it");
    std::string path = fmt::format("/proc/{}/fd/{}", content.process, content.file);
    int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat facts;
    if (file < 0 || fstat(file, &facts) != 0 || facts.st_ino != content.inode ||
        uint64_t(facts.st_size) < content.bytes) {
      if (file >= 0)
        close(file);
      return fail(hipErrorInvalidHandle, "IPC handle: process {} no longer has the memory",
                  content.process);
    }
    void *view = mmap(nullptr, content.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (view == MAP_FAILED)
      return fail(hipErrorMapFailed, "IPC handle: the host cannot map {} bytes", content.bytes);
    hipError_t status = runtime.memory().import(view, content.bytes, Runtime::currentDevice());
    if (status != hipSuccess)
      munmap(view, content.bytes);
    else
      *ptr = view;
    return status;
  });
}

HIP_EXPORT hipError_t hipIpcCloseMemHandle(void *ptr) {
  return api([&](Runtime &runtime) {
    runtime.queue().waitAll();
    return runtime.memory().release(ptr, {BlockKind::Imported});
  });
}

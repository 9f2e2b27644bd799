// The one instance behind all entry points: the emulated machine and the tables of the API.
#pragma once

#include "runtime/emulator/hip/MemoryTable.h"
#include "runtime/emulator/hip/ModuleTable.h"
#include "runtime/emulator/hip/Queue.h"
#include "runtime/emulator/hip/Status.h"

#include <memory>
#include <set>

namespace mono::hipemu {

/// Built at the first call, from the environment (docs/hip-emulator.md), and never destroyed:
/// programs call HIP from static destructors.
class Runtime {
public:
  static Runtime &get();

  /// Why no call can work: a bad environment variable or host CPU; hipSuccess if all is well.
  hipError_t startupStatus() const { return startup; }
  unsigned deviceCount() const { return count; }
  /// HIP 5 programs load libamdhip64.so.5 and expect other memory type numbers.
  bool isHip5() const { return hip5; }

  emu::Machine &machine() { return *emulated; }
  MemoryTable &memory() { return *memoryTable; }
  ModuleTable &modules() { return *moduleTable; }
  Queue &queue() { return *commands; }

  /// The calling thread's device.
  static unsigned &currentDevice();

  /// The stream behind a handle: null and 1 are the current device's legacy stream, 2 the calling
  /// thread's own one. Null if the handle is not alive.
  Stream *resolve(hipStream_t handle);

  Event *createEvent(unsigned flags);
  bool destroyEvent(Event *event);
  bool isLive(Event *event);

private:
  Runtime();
  bool configure(emu::Options &options);

  hipError_t startup = hipSuccess;
  unsigned count = 8;
  unsigned gatherMs = 100;
  bool hip5 = false;
  std::unique_ptr<emu::Machine> emulated;
  std::unique_ptr<MemoryTable> memoryTable;
  std::unique_ptr<ModuleTable> moduleTable;
  std::unique_ptr<Queue> commands;
  std::mutex lock;
  std::set<Event *> events;
};

/// The frame of every entry point: refuses calls that cannot work, tells the queue that the program
/// is active, remembers the status.
template <typename Fn> hipError_t api(Fn fn) {
  Runtime &runtime = Runtime::get();
  if (hipError_t status = runtime.startupStatus())
    return remember(status);
  runtime.queue().enterCall();
  hipError_t status = fn(runtime);
  runtime.queue().leaveCall();
  return remember(status);
}

/// The same for calls that only ask: a program that polls does not keep work from starting.
template <typename Fn> hipError_t apiQuery(Fn fn) {
  Runtime &runtime = Runtime::get();
  hipError_t status = runtime.startupStatus();
  return remember(status ? status : fn(runtime));
}

/// Sends an operation down a stream: queued, or recorded if the stream is capturing. `command` gets
/// the queued command, null when recorded.
hipError_t send(Runtime &runtime, hipStream_t handle, Operation op, CommandPtr *command = nullptr);

} // namespace mono::hipemu

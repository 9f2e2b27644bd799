// The one instance behind all entry points.
#include "runtime/emulator/hip/Runtime.h"

#include "runtime/emulator/hip/Graph.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <dlfcn.h>

namespace mono::hipemu {

Runtime &Runtime::get() {
  static Runtime *instance = [] {
    auto *runtime = new Runtime;
    if (runtime->commands)
      std::atexit([] { Runtime::get().queue().stop(); });
    return runtime;
  }();
  return *instance;
}

unsigned &Runtime::currentDevice() {
  static thread_local unsigned device = 0;
  return device;
}

/// Reads an unsigned number from the environment; false with a message if it is none.
static bool readNumber(const char *name, unsigned low, unsigned high, unsigned &value) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return true;
  unsigned long long number = 0;
  if (llvm::StringRef(text).getAsInteger(10, number) || number < low || number > high) {
    print(fmt::format("{}: expected a number from {} to {}, but got '{}'", name, low, high, text));
    return false;
  }
  value = unsigned(number);
  return true;
}

bool Runtime::configure(emu::Options &options) {
  unsigned patience = options.deadlockPatienceMs,
           budget = unsigned(options.instructionBudget >> 20);
  bool good = readNumber("MONO_HIP_DEVICES", 1, emu::maxRanks, count) &&
              readNumber("MONO_HIP_THREADS", 0, 1024, options.threads) &&
              readNumber("MONO_HIP_PATIENCE_MS", 0, 86400000, patience) &&
              readNumber("MONO_HIP_GATHER_MS", 0, 60000, gatherMs) &&
              readNumber("MONO_HIP_BUDGET_M", 1, ~0u, budget);
  options.deadlockPatienceMs = patience;
  options.instructionBudget = uint64_t(budget) << 20;
  if (const char *list = std::getenv("MONO_HIP_CHECKS"))
    if (llvm::Error error = options.checks.apply(list)) {
      print("MONO_HIP_CHECKS: " + llvm::toString(std::move(error)));
      good = false;
    }
  return good;
}

/// The name this library was loaded by.
static bool loadedAsVersion5() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&loadedAsVersion5), &info) || !info.dli_fname)
    return false;
  return llvm::StringRef(info.dli_fname).ends_with(".so.5");
}

Runtime::Runtime() : hip5(loadedAsVersion5()) {
  emu::Options options;
  if (!configure(options)) {
    startup = hipErrorNotInitialized;
    return;
  }
  if (llvm::Error error = emu::Machine::checkHost()) {
    print(llvm::toString(std::move(error)));
    startup = hipErrorNoDevice;
    return;
  }
  emulated = std::make_unique<emu::Machine>(count, options);
  memoryTable = std::make_unique<MemoryTable>(*emulated);
  moduleTable = std::make_unique<ModuleTable>(*emulated);
  commands = std::make_unique<Queue>(*emulated, std::chrono::milliseconds(gatherMs));
}

// ---- handles -----------------------------------------------------------------------------------

Stream *Runtime::resolve(hipStream_t handle) {
  auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 1)
    return &commands->nullStream(currentDevice());
  if (number == 2) {
    static thread_local std::vector<Stream *> own(count);
    Stream *&stream = own[currentDevice()];
    if (!stream)
      stream = commands->createStream(currentDevice(), 0, 0);
    return stream;
  }
  return commands->isLive(handle) ? handle : nullptr;
}

Event *Runtime::createEvent(unsigned flags) {
  auto *event = new Event;
  event->flags = flags;
  event->device = currentDevice();
  std::lock_guard guard(lock);
  events.insert(event);
  return event;
}

bool Runtime::destroyEvent(Event *event) {
  std::lock_guard guard(lock);
  if (events.erase(event) == 0)
    return false;
  delete event;
  return true;
}

bool Runtime::isLive(Event *event) {
  std::lock_guard guard(lock);
  return events.count(event) != 0;
}

hipError_t send(Runtime &runtime, hipStream_t handle, Operation op, CommandPtr *command) {
  Stream *stream = runtime.resolve(handle);
  if (!stream)
    return fail(hipErrorInvalidHandle, "{}: not a stream", static_cast<void *>(handle));
  if (stream->capture) {
    if (command)
      return hipErrorStreamCaptureUnsupported;
    return stream->capture->add(*stream, std::move(op));
  }
  if (hipError_t status = runtime.queue().failure())
    return status;
  CommandPtr queued = runtime.queue().submit(*stream, std::move(op), {}, command != nullptr);
  if (command)
    *command = queued;
  return hipSuccess;
}

} // namespace mono::hipemu

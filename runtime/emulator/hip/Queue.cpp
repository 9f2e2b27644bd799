// Streams, events and the queue of commands behind them.
#include "runtime/emulator/hip/Queue.h"

#include "runtime/emulator/hip/Status.h"

#include <algorithm>

namespace mono::hipemu {

using namespace std::chrono_literals;

/// Looking further ahead finds little more to run together and costs time a step.
static constexpr size_t window = 4096;
/// Work that nobody waits for starts after this pause of the program, or the shorter one if the
/// program asks whether it is done.
static constexpr auto idleStart = 50ms, polledStart = 5ms;

Queue::Queue(emu::Machine &machine, std::chrono::milliseconds gatherPause)
    : machine(machine), gatherPause(gatherPause), nullStreams(machine.ranks()),
      unreported(machine.ranks(), hipSuccess) {
  for (unsigned device = 0; device < nullStreams.size(); ++device) {
    nullStreams[device].device = device;
    nullStreams[device].isNull = true;
  }
}

void Queue::stop() {
  {
    Lock guard(lock);
    stopping = true;
  }
  changed.notify_all();
  if (worker.joinable())
    worker.join();
}

// ---- streams -----------------------------------------------------------------------------------

Stream *Queue::createStream(unsigned device, unsigned flags, int priority) {
  Lock guard(lock);
  auto *stream = new Stream;
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  streams.insert(stream);
  return stream;
}

hipError_t Queue::destroyStream(Stream *stream) {
  Lock guard(lock);
  if (streams.erase(stream) == 0)
    return hipErrorInvalidHandle;
  if (stream->last && !stream->last->done)
    lastOfDestroyed.push_back(stream->last);
  delete stream;
  return hipSuccess;
}

bool Queue::isLive(Stream *stream) {
  Lock guard(lock);
  return streams.count(stream) != 0;
}

// ---- submission --------------------------------------------------------------------------------

static void addUnfinished(std::vector<CommandPtr> &list, const CommandPtr &command) {
  if (command && !command->done)
    list.push_back(command);
}

/// The legacy default stream waits for all blocking streams of its device, and they for it.
std::vector<CommandPtr> Queue::orderLocked(Stream &stream) {
  std::vector<CommandPtr> order;
  addUnfinished(order, stream.last);
  if (stream.isNull) {
    for (Stream *other : streams)
      if (other->device == stream.device && other->isBlocking())
        addUnfinished(order, other->last);
  } else if (stream.isBlocking()) {
    addUnfinished(order, nullStreams[stream.device].last);
  }
  return order;
}

std::vector<CommandPtr> Queue::orderOf(Stream &stream) {
  Lock guard(lock);
  return orderLocked(stream);
}

/// Takes a thread off the list of submitters when it ends.
struct Queue::ThreadMark {
  explicit ThreadMark(Queue &queue) : queue(queue) {}
  ~ThreadMark() {
    Lock guard(queue.lock);
    queue.submitters.erase(std::this_thread::get_id());
  }
  Queue &queue;
};

CommandPtr Queue::enqueue(unsigned device, Operation op, std::vector<CommandPtr> after) {
  auto command = std::make_shared<Command>();
  command->device = device;
  command->op = std::move(op);
  std::erase_if(after, [](const CommandPtr &c) { return !c || c->done; });
  command->after = std::move(after);
  pending.push_back(command);
  static thread_local ThreadMark mark(*this);
  submitters.insert(std::this_thread::get_id());
  lastActivity = Clock::now();
  polled = false;
  if (!worker.joinable() && !stopping)
    worker = std::thread([this] { background(); });
  return command;
}

CommandPtr Queue::submit(Stream &stream, Operation op, std::vector<CommandPtr> after,
                         bool isAwaited) {
  Lock guard(lock);
  std::vector<CommandPtr> order = orderLocked(stream);
  order.insert(order.end(), after.begin(), after.end());
  stream.last = enqueue(stream.device, std::move(op), std::move(order));
  stream.last->isAwaited = isAwaited;
  return stream.last;
}

CommandPtr Queue::submitFree(unsigned device, Operation op, std::vector<CommandPtr> after) {
  Lock guard(lock);
  return enqueue(device, std::move(op), std::move(after));
}

// ---- execution ---------------------------------------------------------------------------------

static bool isReady(const Command &command) {
  return std::all_of(command.after.begin(), command.after.end(),
                     [](const CommandPtr &c) { return c->done; });
}

/// Ready, if the batch being collected has run: kernels of one device run in order.
static bool isReadyBehindBatch(const Command &command) {
  return std::all_of(command.after.begin(), command.after.end(), [&](const CommandPtr &c) {
    return c->done || (c->inBatch && c->device == command.device);
  });
}

static bool isKernel(const Command &command) {
  return std::holds_alternative<KernelOp>(command.op);
}
static bool isMarker(const Command &command) {
  return std::holds_alternative<MarkerOp>(command.op);
}

void Queue::finish(Command &command, hipError_t status, Clock::time_point when) {
  command.status = status;
  command.finished = when;
  command.done = true;
  command.inBatch = false;
  command.after.clear();
}

void Queue::dropFinished() {
  while (!pending.empty() && pending.front()->done)
    pending.pop_front();
}

/// The rows of a box, merged where they are contiguous: fn(offset in A, offset in B, bytes).
template <typename Fn>
static llvm::Error forEachRow(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitchA,
                              uint64_t sliceA, uint64_t pitchB, uint64_t sliceB, Fn fn) {
  if (width == 0)
    return llvm::Error::success();
  if (pitchA == width && pitchB == width) {
    width *= height;
    height = 1;
  }
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y)
      if (llvm::Error error = fn(z * sliceA + y * pitchA, z * sliceB + y * pitchB, width))
        return error;
  return llvm::Error::success();
}

static llvm::Error runCopy(emu::Machine &machine, const CopyOp &op) {
  return forEachRow(op.width, op.height, op.depth, op.toPitch, op.toSlice, op.fromPitch,
                    op.fromSlice, [&](uint64_t to, uint64_t from, uint64_t bytes) {
                      return machine.copy(op.to + to, op.from + from, bytes);
                    });
}

static llvm::Error runFill(emu::Machine &machine, const FillOp &op) {
  constexpr uint64_t chunk = 1 << 20;
  std::vector<uint8_t> pattern(std::min<uint64_t>(chunk, op.width * op.height));
  for (uint64_t n = 0; n < pattern.size(); ++n)
    pattern[n] = uint8_t(op.value >> (8 * (n % op.elementSize)));
  auto source = reinterpret_cast<uint64_t>(pattern.data());
  return forEachRow(op.width, op.height, op.depth, op.pitch, op.slice, op.pitch, op.slice,
                    [&](uint64_t to, uint64_t, uint64_t bytes) -> llvm::Error {
                      for (uint64_t at = 0; at < bytes; at += chunk)
                        if (llvm::Error error =
                                machine.copy(op.to + to + at, source, std::min(chunk, bytes - at)))
                          return error;
                      return llvm::Error::success();
                    });
}

hipError_t Queue::execute(const Operation &op) {
  if (const auto *copy = std::get_if<CopyOp>(&op))
    return toStatus(runCopy(machine, *copy), hipErrorInvalidValue);
  if (const auto *fill = std::get_if<FillOp>(&op))
    return toStatus(runFill(machine, *fill), hipErrorInvalidValue);
  if (const auto *host = std::get_if<HostOp>(&op))
    return host->run();
  return hipSuccess;
}

/// A failure that no status of a call shows: the next synchronisation of its device tells it.
void Queue::noteFailure(const Command &command, hipError_t status) {
  hipError_t &first = unreported[command.device];
  if (!command.isAwaited && first == hipSuccess)
    first = status;
}

hipError_t Queue::takeFailure(unsigned device) {
  return failed != hipSuccess ? failed : std::exchange(unreported[device], hipSuccess);
}

/// Runs all that is ready and no kernel; true if there was any.
bool Queue::runReady(Lock &guard) {
  bool any = false;
  // Others append while the lock is open, so no iterator is kept.
  for (size_t n = 0; n < std::min(pending.size(), window); ++n) {
    CommandPtr command = pending[n];
    if (command->done || isKernel(*command) || !isReady(*command))
      continue;
    any = true;
    hipError_t status = failed;
    if (status == hipSuccess && !isMarker(*command)) {
      guard.unlock();
      status = execute(command->op);
      guard.lock();
      noteFailure(*command, status);
    }
    finish(*command, status, Clock::now());
  }
  return any;
}

/// Runs all ready kernels of all devices together.
void Queue::runBatch(Lock &guard) {
  std::vector<CommandPtr> batch;
  std::vector<emu::Launch> launches;
  std::vector<unsigned> before, perDevice(nullStreams.size()); ///< kernels of its device up to it
  for (size_t n = 0; n < std::min(pending.size(), window); ++n) {
    Command &command = *pending[n];
    bool fits = isKernel(command) || isMarker(command);
    if (command.done || !fits || !isReadyBehindBatch(command))
      continue;
    command.inBatch = true;
    if (isKernel(command)) {
      launches.push_back(std::get<KernelOp>(command.op).launch);
      ++perDevice[command.device];
    }
    batch.push_back(pending[n]);
    before.push_back(perDevice[command.device]);
  }
  if (batch.empty())
    return;
  hipError_t status = failed;
  Clock::time_point start = Clock::now();
  if (status == hipSuccess && !launches.empty()) {
    guard.unlock();
    if (llvm::Error error = machine.run(launches)) {
      std::string text = llvm::toString(std::move(error));
      print("kernel failed: " + text);
      status = classifyRunError(text);
    }
    guard.lock();
    if (failed == hipSuccess)
      failed = status;
  }
  // When each kernel ended is not known: the time is dealt out evenly, so that events between
  // kernels stay in order.
  Clock::duration took = Clock::now() - start;
  for (size_t n = 0; n < batch.size(); ++n) {
    unsigned total = std::max(perDevice[batch[n]->device], 1u);
    finish(*batch[n], status, start + took * before[n] / total);
  }
}

void Queue::step(Lock &guard) {
  executing = true;
  if (!runReady(guard))
    runBatch(guard);
  dropFinished();
  executing = false;
  changed.notify_all();
}

/// A thread that waits may start the work at once if it is the only one that submits; otherwise
/// launches of the other threads may have to run beside its own.
bool Queue::mayStart(Clock::time_point waitingSince) {
  if (executing)
    return false;
  if (submitters.size() <= 1 || waiting >= submitters.size())
    return true;
  return Clock::now() - std::max(lastActivity, waitingSince) >= gatherPause;
}

void Queue::waitUntil(Lock &guard, const std::function<bool()> &done) {
  Clock::time_point since = Clock::now();
  ++waiting;
  changed.notify_all();
  while (!done()) {
    if (mayStart(since))
      step(guard);
    else
      changed.wait_for(guard, 2ms);
  }
  --waiting;
}

void Queue::waitForAll(Lock &guard, const std::vector<CommandPtr> &commands) {
  waitUntil(guard, [&] {
    return std::all_of(commands.begin(), commands.end(),
                       [](const CommandPtr &c) { return c->done; });
  });
}

hipError_t Queue::wait(const CommandPtr &command) {
  Lock guard(lock);
  if (!command)
    return failed;
  waitUntil(guard, [&] { return command->done; });
  return command->status != hipSuccess ? command->status : takeFailure(command->device);
}

/// What the stream has not finished; the null stream stands for all blocking streams of the device.
std::vector<CommandPtr> Queue::unfinishedOf(Stream &stream) {
  if (stream.isNull)
    return orderLocked(stream);
  std::vector<CommandPtr> own;
  addUnfinished(own, stream.last);
  return own;
}

hipError_t Queue::waitStream(Stream &stream) {
  Lock guard(lock);
  const unsigned device = stream.device; // the stream may be destroyed meanwhile
  waitForAll(guard, unfinishedOf(stream));
  return takeFailure(device);
}

hipError_t Queue::waitDevice(unsigned device) {
  Lock guard(lock);
  std::vector<CommandPtr> order;
  addUnfinished(order, nullStreams[device].last);
  for (Stream *stream : streams)
    if (stream->device == device)
      addUnfinished(order, stream->last);
  for (const CommandPtr &command : lastOfDestroyed)
    if (command->device == device)
      addUnfinished(order, command);
  waitForAll(guard, order);
  std::erase_if(lastOfDestroyed, [](const CommandPtr &c) { return c->done; });
  return takeFailure(device);
}

void Queue::waitAll() {
  Lock guard(lock);
  waitForAll(guard, {pending.begin(), pending.end()});
}

hipError_t Queue::notReady() {
  polled = true;
  changed.notify_all();
  return hipErrorNotReady;
}

hipError_t Queue::query(const CommandPtr &command) {
  Lock guard(lock);
  if (!command)
    return failed;
  if (!command->done)
    return notReady();
  return command->status != hipSuccess ? command->status : takeFailure(command->device);
}

hipError_t Queue::queryStream(Stream &stream) {
  Lock guard(lock);
  return unfinishedOf(stream).empty() ? takeFailure(stream.device) : notReady();
}

// ---- work nobody waits for ---------------------------------------------------------------------

void Queue::background() {
  Lock guard(lock);
  while (!stopping) {
    changed.wait_for(guard, polled ? polledStart : idleStart);
    auto pause = polled ? Clock::duration(polledStart) : Clock::duration(idleStart);
    bool quiet = callsInProgress == 0 && Clock::now() - lastActivity >= pause;
    while (!stopping && quiet && !executing && !pending.empty() && callsInProgress == 0)
      step(guard);
  }
}

void Queue::enterCall() {
  Lock guard(lock);
  ++callsInProgress;
}

void Queue::leaveCall() {
  Lock guard(lock);
  --callsInProgress;
}

hipError_t Queue::failure() {
  Lock guard(lock);
  return failed;
}

void Queue::clearFailure() {
  Lock guard(lock);
  failed = hipSuccess;
  std::fill(unreported.begin(), unreported.end(), hipSuccess);
}

hipError_t classifyRunError(const std::string &text) {
  auto has = [&](const char *words) { return text.find(words) != std::string::npos; };
  if (has("out-of-bounds") || has("outside the workgroup"))
    return hipErrorIllegalAddress;
  if (text.starts_with("deadlock") || text.starts_with("instruction budget"))
    return hipErrorLaunchTimeOut;
  return hipErrorLaunchFailure;
}

} // namespace mono::hipemu

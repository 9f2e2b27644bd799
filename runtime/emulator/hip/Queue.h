// Streams, events and the queue of commands behind them: when each command may run, and who runs
// it.
#pragma once

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/hip/HipAbi.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <variant>
#include <vector>

namespace mono::hipemu {

struct Capture;
using Clock = std::chrono::steady_clock;

// ---- what a command does -----------------------------------------------------------------------

/// Only order: joins, event records and waits that were resolved to dependencies.
struct MarkerOp {};
struct KernelOp {
  Function *function = nullptr;
  emu::Launch launch;
  std::shared_ptr<void> resources; ///< device memory that lives as long as the operation
};
/// Bytes of a box: `width` bytes by `height` rows by `depth` slices.
struct CopyOp {
  uint64_t to = 0, from = 0; ///< device addresses or host pointers
  uint64_t width = 0, height = 1, depth = 1;
  uint64_t toPitch = 0, fromPitch = 0; ///< bytes from row to row
  uint64_t toSlice = 0, fromSlice = 0; ///< bytes from slice to slice
};
struct FillOp {
  uint64_t to = 0;
  uint32_t value = 0;
  unsigned elementSize = 1;                  ///< 1, 2 or 4 bytes
  uint64_t width = 0, height = 1, depth = 1; ///< width in bytes
  uint64_t pitch = 0, slice = 0;
};
struct HostOp {
  std::function<hipError_t()> run;
  hipHostFn_t fn = nullptr; ///< of a graph's host node, for its parameters
  void *userData = nullptr;
};
struct RecordOp {
  Event *event;
};
struct WaitOp {
  Event *event;
};
struct ChildGraphOp {
  Graph *graph;
};
using Operation =
    std::variant<MarkerOp, KernelOp, CopyOp, FillOp, HostOp, RecordOp, WaitOp, ChildGraphOp>;

// ---- commands, streams, events -----------------------------------------------------------------

struct Command;
using CommandPtr = std::shared_ptr<Command>;

/// One piece of queued work. Fields are guarded by the queue's lock.
struct Command {
  unsigned device = 0;
  Operation op;
  std::vector<CommandPtr> after; ///< must have ended before; emptied at the end
  bool done = false;
  bool inBatch = false;   ///< part of the run being collected
  bool isAwaited = false; ///< who sent it waits for it and gets its status
  hipError_t status = hipSuccess;
  Clock::time_point finished;
};

struct Stream {
  unsigned device = 0;
  unsigned flags = 0;
  int priority = 0;
  CommandPtr last;
  std::shared_ptr<Capture> capture; ///< set while the stream is capturing

  bool isNull = false; ///< the legacy default stream of its device
  bool isBlocking() const { return !(flags & hipStreamNonBlocking); }
};

struct Event {
  unsigned flags = 0;
  unsigned device = 0;
  CommandPtr command; ///< of the last record, null if none
  /// Recorded in a capturing stream: the capture and the nodes it stands for.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode *> capturedNodes;
};

/// The commands of all streams of all devices.
///
/// Nothing runs at submission. Work runs at a synchronisation point, on the thread that waits, or,
/// when the program makes no call for a while, on a background thread. Then everything pending on
/// all devices is looked at: copies, fills and host functions that are ready run first, and all
/// kernels that are ready go into one Machine::run, so that kernels of different devices may wait
/// for each other. A kernel behind another kernel of its own device is ready too, because a run
/// keeps their order.
class Queue {
public:
  /// With several submitting threads, a waiting one gives the others `gatherPause` without a
  /// submission before it starts the work.
  Queue(emu::Machine &machine, std::chrono::milliseconds gatherPause);
  /// Ends the background thread after the run it is in; for the end of the process.
  void stop();

  /// Appends a command to a stream, behind what stream order and the legacy default stream demand
  /// and behind `after`. `isAwaited`: the caller will wait() for it.
  CommandPtr submit(Stream &stream, Operation op, std::vector<CommandPtr> after = {},
                    bool isAwaited = false);
  /// Appends a command whose only order is `after`; graphs build on it.
  CommandPtr submitFree(unsigned device, Operation op, std::vector<CommandPtr> after);
  /// What a command submitted to the stream now would have to wait for.
  std::vector<CommandPtr> orderOf(Stream &stream);

  // Each of these returns the status of a command that was sent to be waited for, else the failure
  // of a kernel, else the first failure of another command of the device that none of them has
  // returned yet.

  hipError_t wait(const CommandPtr &command);
  hipError_t waitStream(Stream &stream);
  hipError_t waitDevice(unsigned device);
  /// hipErrorNotReady if not ended.
  hipError_t query(const CommandPtr &command);
  hipError_t queryStream(Stream &stream);
  /// Waits for everything on all devices and leaves the failures to the others.
  void waitAll();

  Stream &nullStream(unsigned device) { return nullStreams[device]; }
  Stream *createStream(unsigned device, unsigned flags, int priority);
  hipError_t destroyStream(Stream *stream);
  bool isLive(Stream *stream);

  /// The error of a failed kernel stays until the device is reset.
  hipError_t failure();
  /// Forgets all failures.
  void clearFailure();

  void enterCall();
  void leaveCall();

private:
  using Lock = std::unique_lock<std::mutex>;
  struct ThreadMark;
  bool mayStart(Clock::time_point waitingSince);
  void waitUntil(Lock &lock, const std::function<bool()> &done);
  void waitForAll(Lock &lock, const std::vector<CommandPtr> &commands);
  void noteFailure(const Command &command, hipError_t status);
  hipError_t takeFailure(unsigned device);
  void step(Lock &lock);
  bool runReady(Lock &lock);
  void runBatch(Lock &lock);
  void finish(Command &command, hipError_t status, Clock::time_point when);
  hipError_t execute(const Operation &op);
  void dropFinished();
  std::vector<CommandPtr> orderLocked(Stream &stream);
  std::vector<CommandPtr> unfinishedOf(Stream &stream);
  hipError_t notReady();
  CommandPtr enqueue(unsigned device, Operation op, std::vector<CommandPtr> after);
  void background();

  emu::Machine &machine;
  const std::chrono::milliseconds gatherPause;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<CommandPtr> pending; ///< in the order of submission, which is a topological order
  std::vector<Stream> nullStreams;
  std::set<Stream *> streams;
  std::vector<CommandPtr> lastOfDestroyed; ///< what waitDevice still has to wait for
  bool executing = false;
  bool stopping = false;
  bool polled = false;                ///< a query came after the last submission
  hipError_t failed = hipSuccess;     ///< of a kernel
  std::vector<hipError_t> unreported; ///< by device: of another command, for the next who waits
  unsigned callsInProgress = 0, waiting = 0;
  std::set<std::thread::id> submitters;
  Clock::time_point lastActivity = Clock::now();
  std::thread worker;
};

/// The status a failed run gets: out-of-bounds 700, deadlock or budget 702, else 719.
hipError_t classifyRunError(const std::string &text);

} // namespace mono::hipemu

// Streams, events and captured graphs for applications that have no HIP of their own: examples,
// benchmarks, tests. A server passes its own hipStream_t and does its own capture.
#pragma once

#include "runtime/hip/HipDevice.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mono::hip {

/// A stream with an owner. The device must outlive it.
class HipStream {
public:
  static llvm::Expected<HipStream> create(const HipDevice &device);
  HipStream(HipStream &&other) noexcept
      : context(std::move(other.context)), stream(std::exchange(other.stream, nullptr)) {}
  HipStream &operator=(HipStream &&) = delete;
  ~HipStream();

  StreamHandle handle() const { return stream; }
  const HipContext &device() const { return context; }
  /// Waits until all that was started on it has ended.
  llvm::Error synchronize() const;

private:
  HipStream(HipContext context, api::Stream stream) : context(std::move(context)), stream(stream) {}
  HipContext context;
  api::Stream stream;
};

/// A moment in a stream, with an owner. The device must outlive it.
class HipEvent {
public:
  /// Error when the library has no events.
  static llvm::Expected<HipEvent> create(const HipDevice &device);
  HipEvent(HipEvent &&other) noexcept
      : context(std::move(other.context)), event(std::exchange(other.event, nullptr)) {}
  HipEvent &operator=(HipEvent &&) = delete;
  ~HipEvent();

  /// The event is when the work that was started on `stream` so far has ended.
  llvm::Error record(const HipStream &stream) const;
  /// Seconds from `start` to this one; both must have happened.
  llvm::Expected<double> secondsSince(const HipEvent &start) const;

private:
  HipEvent(HipContext context, api::Event event) : context(std::move(context)), event(event) {}
  HipContext context;
  api::Event event;
};

/// Work captured from a stream, to be started any number of times as one.
class HipGraph {
public:
  /// Captures what `record` starts on `stream`. When it fails, the capture is ended and thrown
  /// away. Error when the library has no graphs.
  static llvm::Expected<HipGraph> capture(const HipStream &stream,
                                          llvm::function_ref<llvm::Error(StreamHandle)> record);
  HipGraph(HipGraph &&other) noexcept
      : context(std::move(other.context)), exec(std::exchange(other.exec, nullptr)) {}
  HipGraph &operator=(HipGraph &&) = delete;
  ~HipGraph();

  /// Starts it on `stream` and returns at once.
  llvm::Error launch(const HipStream &stream) const;

private:
  HipGraph(HipContext context, api::GraphExec exec) : context(std::move(context)), exec(exec) {}
  HipContext context;
  api::GraphExec exec;
};

} // namespace mono::hip

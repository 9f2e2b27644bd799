// Stream capture.
#include "runtime/hip/HipGraph.h"
#include "runtime/Error.h"

using namespace llvm;

namespace mono::hip {

Expected<HipStream> HipStream::create(const HipDevice &device) {
  const HipContext &context = device.context();
  api::Stream stream = nullptr;
  if (Error error = context.run([&] {
        return context.check(
            context.hip().hipStreamCreateWithFlags(&stream, api::streamNonBlocking),
            "hipStreamCreateWithFlags");
      }))
    return error;
  return HipStream(context, stream);
}

HipStream::~HipStream() {
  // A destructor has nobody to tell.
  if (stream)
    consumeError(context.check(context.hip().hipStreamDestroy(stream), "hipStreamDestroy"));
}

Error HipStream::synchronize() const {
  return context.check(context.hip().hipStreamSynchronize(stream), "hipStreamSynchronize");
}

// ---- events ------------------------------------------------------------------------------------

Expected<HipEvent> HipEvent::create(const HipDevice &device) {
  const HipContext &context = device.context();
  const api::Functions &hip = context.hip();
  if (!hip.hipEventCreateWithFlags || !hip.hipEventDestroy || !hip.hipEventRecord ||
      !hip.hipEventElapsedTime)
    return makeError("HIP {} has no events", context.library->version());
  api::Event event = nullptr;
  if (Error error = context.run([&] {
        return context.check(hip.hipEventCreateWithFlags(&event, 0), "hipEventCreateWithFlags");
      }))
    return error;
  return HipEvent(context, event);
}

HipEvent::~HipEvent() {
  // A destructor has nobody to tell.
  if (event)
    consumeError(context.check(context.hip().hipEventDestroy(event), "hipEventDestroy"));
}

Error HipEvent::record(const HipStream &stream) const {
  return context.run([&] {
    return context.check(context.hip().hipEventRecord(event, stream.handle()), "hipEventRecord");
  });
}

Expected<double> HipEvent::secondsSince(const HipEvent &start) const {
  float milliseconds = 0;
  if (Error error =
          context.check(context.hip().hipEventElapsedTime(&milliseconds, start.event, event),
                        "hipEventElapsedTime"))
    return error;
  return milliseconds / 1000.0;
}

// ---- graphs ------------------------------------------------------------------------------------

static bool hasGraphs(const api::Functions &hip) {
  return hip.hipStreamBeginCapture && hip.hipStreamEndCapture && hip.hipGraphInstantiate &&
         hip.hipGraphLaunch && hip.hipGraphExecDestroy && hip.hipGraphDestroy;
}

/// What `record` started, as a graph that the caller destroys; null after an error.
static Error captureInto(const HipContext &context, StreamHandle stream,
                         function_ref<Error(StreamHandle)> record, api::Graph &graph) {
  const api::Functions &hip = context.hip();
  if (Error error = context.check(hip.hipStreamBeginCapture(stream, api::captureThreadLocal),
                                  "hipStreamBeginCapture"))
    return error;
  Error result = record(stream);
  // Also after a failure: a stream left capturing would be of no use to anybody.
  Error ended = context.check(hip.hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
  return joinErrors(std::move(result), std::move(ended));
}

Expected<HipGraph> HipGraph::capture(const HipStream &stream,
                                     function_ref<Error(StreamHandle)> record) {
  const HipContext &context = stream.device();
  const api::Functions &hip = context.hip();
  if (!hasGraphs(hip))
    return makeError("HIP {} has no graphs", context.library->version());
  api::Graph graph = nullptr;
  api::GraphExec exec = nullptr;
  Error error = context.run([&]() -> Error {
    Error result = captureInto(context, stream.handle(), record, graph);
    if (!result)
      result = context.check(hip.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0),
                             "hipGraphInstantiate");
    if (graph)
      result = joinErrors(std::move(result),
                          context.check(hip.hipGraphDestroy(graph), "hipGraphDestroy"));
    return result;
  });
  HipGraph captured(context, exec);
  if (error)
    return error;
  return captured;
}

HipGraph::~HipGraph() {
  // A destructor has nobody to tell.
  if (exec)
    consumeError(context.check(context.hip().hipGraphExecDestroy(exec), "hipGraphExecDestroy"));
}

Error HipGraph::launch(const HipStream &stream) const {
  return context.run([&] {
    return context.check(context.hip().hipGraphLaunch(exec, stream.handle()), "hipGraphLaunch");
  });
}

} // namespace mono::hip

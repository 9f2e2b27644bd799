// Entry points that record the work of streams as a graph.
#include "runtime/emulator/hip/Graph.h"

#include <algorithm>

namespace mono::hipemu {

static uint64_t nextCaptureId() {
  static std::atomic<uint64_t> id = 0;
  return ++id;
}

static hipError_t beginCapture(Runtime &runtime, hipStream_t handle, hipStreamCaptureMode mode) {
  Stream *stream = runtime.resolve(handle);
  if (!stream)
    return hipErrorInvalidHandle;
  if (stream->isNull)
    return hipErrorStreamCaptureImplicit;
  if (stream->capture)
    return hipErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->graph = keep(std::make_unique<Graph>());
  capture->origin = stream;
  capture->mode = mode;
  capture->id = nextCaptureId();
  capture->streams.insert(stream);
  stream->capture = capture;
  return hipSuccess;
}

/// Every node must lie before the end of the stream that began the capture.
static bool isJoined(const Capture &capture) {
  std::set<const GraphNode *> inner;
  for (const auto &node : capture.graph->nodes)
    inner.insert(node->after.begin(), node->after.end());
  const std::vector<GraphNode *> &end = capture.frontier.at(capture.origin);
  return std::all_of(capture.graph->nodes.begin(), capture.graph->nodes.end(),
                     [&](const auto &node) {
                       return inner.count(node.get()) ||
                              std::find(end.begin(), end.end(), node.get()) != end.end();
                     });
}

static hipError_t endCapture(Runtime &runtime, hipStream_t handle, hipGraph_t *graph) {
  Stream *stream = runtime.resolve(handle);
  if (!stream || !graph)
    return stream ? hipErrorInvalidValue : hipErrorInvalidHandle;
  *graph = nullptr;
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return hipErrorIllegalState;
  if (capture->origin != stream)
    return hipErrorStreamCaptureUnmatched;
  capture->frontier[stream];
  bool joined = isJoined(*capture);
  for (Stream *member : capture->streams)
    if (member == stream || runtime.queue().isLive(member))
      member->capture.reset();
  Graph *result = std::exchange(capture->graph, nullptr);
  if (capture->valid && joined) {
    *graph = result;
    return hipSuccess;
  }
  destroy(result);
  return capture->valid ? hipErrorStreamCaptureUnjoined : hipErrorStreamCaptureInvalidated;
}

} // namespace mono::hipemu

using namespace mono::hipemu;

HIP_EXPORT hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return api([&](Runtime &runtime) { return beginCapture(runtime, stream, mode); });
}

HIP_EXPORT hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph) {
  return api([&](Runtime &runtime) { return endCapture(runtime, stream, graph); });
}

static hipError_t captureInfo(Runtime &runtime, hipStream_t handle, hipStreamCaptureStatus *status,
                              unsigned long long *id) {
  Stream *stream = runtime.resolve(handle);
  if (!stream || !status)
    return hipErrorInvalidValue;
  const auto &capture = stream->capture;
  *status = !capture         ? hipStreamCaptureStatusNone
            : capture->valid ? hipStreamCaptureStatusActive
                             : hipStreamCaptureStatusInvalidated;
  if (id)
    *id = capture ? capture->id : 0;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
  return api([&](Runtime &runtime) { return captureInfo(runtime, stream, status, nullptr); });
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status,
                                              unsigned long long *id) {
  return api([&](Runtime &runtime) { return captureInfo(runtime, stream, status, id); });
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus *status,
                                                 unsigned long long *id, hipGraph_t *graph,
                                                 const hipGraphNode_t **dependencies,
                                                 size_t *count) {
  return api([&](Runtime &runtime) -> hipError_t {
    if (hipError_t bad = captureInfo(runtime, handle, status, id))
      return bad;
    Stream *stream = runtime.resolve(handle);
    if (!stream->capture)
      return hipSuccess;
    const std::vector<GraphNode *> &frontier = stream->capture->frontier[stream];
    if (graph)
      *graph = stream->capture->graph;
    if (dependencies)
      *dependencies = frontier.data();
    if (count)
      *count = frontier.size();
    return hipSuccess;
  });
}

/// Every thread may make any call during a capture, so the mode changes nothing.
HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  static thread_local hipStreamCaptureMode current = hipStreamCaptureModeGlobal;
  if (!mode)
    return remember(hipErrorInvalidValue);
  std::swap(*mode, current);
  return hipSuccess;
}

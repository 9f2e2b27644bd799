// Graphs: structure, capture, launch.
#include "runtime/emulator/hip/Graph.h"

#include <algorithm>
#include <map>

namespace mono::hipemu {

// ---- structure ---------------------------------------------------------------------------------

bool Graph::owns(const GraphNode *node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto &n) { return n.get() == node; });
}

hipError_t Graph::add(Operation op, std::vector<GraphNode *> after, GraphNode **node) {
  for (const GraphNode *before : after)
    if (!owns(before))
      return fail(hipErrorInvalidValue, "graph: a dependency is not a node of the graph");
  auto fresh = std::make_unique<GraphNode>();
  fresh->graph = this;
  fresh->op = std::move(op);
  fresh->after = std::move(after);
  *node = fresh.get();
  nodes.push_back(std::move(fresh));
  return hipSuccess;
}

std::vector<GraphNode *> Graph::inOrder() const {
  std::vector<GraphNode *> order;
  std::set<const GraphNode *> placed;
  // Nodes are mostly added behind their dependencies, so one sweep usually does.
  for (bool progress = true; progress && order.size() < nodes.size();) {
    progress = false;
    for (const auto &node : nodes) {
      bool ready = !placed.count(node.get()) &&
                   std::all_of(node->after.begin(), node->after.end(),
                               [&](const GraphNode *n) { return placed.count(n) != 0; });
      if (!ready)
        continue;
      order.push_back(node.get());
      placed.insert(node.get());
      progress = true;
    }
  }
  if (order.size() < nodes.size())
    order.clear();
  return order;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  std::map<const GraphNode *, GraphNode *> twin;
  for (const auto &node : nodes) {
    auto fresh = std::make_unique<GraphNode>(*node);
    fresh->graph = copy.get();
    fresh->origin = node.get();
    if (auto *child = std::get_if<ChildGraphOp>(&fresh->op)) {
      copy->children.push_back(child->graph->clone());
      child->graph = copy->children.back().get();
    }
    twin[node.get()] = fresh.get();
    copy->nodes.push_back(std::move(fresh));
  }
  for (const auto &node : copy->nodes)
    for (GraphNode *&before : node->after)
      before = twin.at(before);
  return copy;
}

GraphNode *Graph::cloneOf(const GraphNode *origin) const {
  for (const auto &node : nodes)
    if (node->origin == origin)
      return node.get();
  for (const auto &child : children)
    if (GraphNode *node = child->cloneOf(origin))
      return node;
  return nullptr;
}

hipGraphNodeType typeOf(const Operation &op) {
  struct Namer {
    hipGraphNodeType operator()(const MarkerOp &) { return hipGraphNodeTypeEmpty; }
    hipGraphNodeType operator()(const KernelOp &) { return hipGraphNodeTypeKernel; }
    hipGraphNodeType operator()(const CopyOp &) { return hipGraphNodeTypeMemcpy; }
    hipGraphNodeType operator()(const FillOp &) { return hipGraphNodeTypeMemset; }
    hipGraphNodeType operator()(const HostOp &) { return hipGraphNodeTypeHost; }
    hipGraphNodeType operator()(const RecordOp &) { return hipGraphNodeTypeEventRecord; }
    hipGraphNodeType operator()(const WaitOp &) { return hipGraphNodeTypeWaitEvent; }
    hipGraphNodeType operator()(const ChildGraphOp &) { return hipGraphNodeTypeGraph; }
  };
  return std::visit(Namer(), op);
}

// ---- capture -----------------------------------------------------------------------------------

hipError_t Capture::add(Stream &stream, Operation op) {
  if (!valid)
    return hipErrorStreamCaptureInvalidated;
  GraphNode *node = nullptr;
  if (hipError_t status = graph->add(std::move(op), frontier[&stream], &node))
    return status;
  frontier[&stream] = {node};
  return hipSuccess;
}

hipError_t recordEvent(Runtime &runtime, hipEvent_t event, hipStream_t handle) {
  Stream *stream = runtime.resolve(handle);
  if (!event || !runtime.isLive(event) || !stream)
    return hipErrorInvalidHandle;
  if (stream->capture) {
    event->capture = stream->capture;
    event->capturedNodes = stream->capture->frontier[stream];
    return hipSuccess;
  }
  event->capture.reset();
  event->capturedNodes.clear();
  event->device = stream->device;
  return send(runtime, handle, MarkerOp(), &event->command);
}

/// An event recorded in a capture pulls the waiting stream into that capture.
static hipError_t joinCapture(Stream &stream, const Event &event) {
  if (stream.capture && stream.capture != event.capture)
    return hipErrorStreamCaptureMerge;
  if (!event.capture->graph)
    return hipErrorCapturedEvent;
  stream.capture = event.capture;
  event.capture->streams.insert(&stream);
  std::vector<GraphNode *> &frontier = event.capture->frontier[&stream];
  for (GraphNode *node : event.capturedNodes)
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end())
      frontier.push_back(node);
  return hipSuccess;
}

hipError_t waitForEvent(Runtime &runtime, hipStream_t handle, hipEvent_t event) {
  Stream *stream = runtime.resolve(handle);
  if (!event || !runtime.isLive(event) || !stream)
    return hipErrorInvalidHandle;
  if (event->capture)
    return joinCapture(*stream, *event);
  if (stream->capture)
    return event->command ? hipErrorStreamCaptureIsolation : hipSuccess;
  if (event->command)
    runtime.queue().submit(*stream, MarkerOp(), {event->command});
  return hipSuccess;
}

// ---- launch ------------------------------------------------------------------------------------

/// Queues the nodes of a graph behind `after`; returns what the end of the graph stands for.
static std::vector<CommandPtr> queueNodes(Runtime &runtime, const Graph &graph, unsigned device,
                                          const std::vector<CommandPtr> &after) {
  Queue &queue = runtime.queue();
  std::map<const GraphNode *, CommandPtr> queued;
  std::set<const GraphNode *> leaves;
  for (GraphNode *node : graph.inOrder()) {
    std::vector<CommandPtr> before = node->after.empty() ? after : std::vector<CommandPtr>();
    for (const GraphNode *dependency : node->after) {
      before.push_back(queued.at(dependency));
      leaves.erase(dependency);
    }
    leaves.insert(node);
    CommandPtr &command = queued[node];
    if (auto *child = std::get_if<ChildGraphOp>(&node->op)) {
      command =
          queue.submitFree(device, MarkerOp(), queueNodes(runtime, *child->graph, device, before));
    } else if (auto *record = std::get_if<RecordOp>(&node->op)) {
      command = queue.submitFree(device, MarkerOp(), before);
      if (runtime.isLive(record->event))
        record->event->command = command;
    } else if (auto *wait = std::get_if<WaitOp>(&node->op)) {
      if (runtime.isLive(wait->event) && wait->event->command)
        before.push_back(wait->event->command);
      command = queue.submitFree(device, MarkerOp(), before);
    } else {
      const auto *kernel = std::get_if<KernelOp>(&node->op);
      command = queue.submitFree(kernel ? kernel->launch.rank : device, node->op, before);
    }
  }
  std::vector<CommandPtr> end = after;
  for (const GraphNode *leaf : leaves)
    end.push_back(queued.at(leaf));
  return end;
}

hipError_t launchGraph(Runtime &runtime, GraphExec &exec, hipStream_t handle) {
  Stream *stream = runtime.resolve(handle);
  if (!stream)
    return hipErrorInvalidHandle;
  if (stream->capture) {
    std::vector<std::unique_ptr<Graph>> &children = stream->capture->graph->children;
    children.push_back(exec.graph->clone());
    return stream->capture->add(*stream, ChildGraphOp{children.back().get()});
  }
  if (hipError_t status = runtime.queue().failure())
    return status;
  std::vector<CommandPtr> end =
      queueNodes(runtime, *exec.graph, stream->device, runtime.queue().orderOf(*stream));
  runtime.queue().submit(*stream, MarkerOp(), std::move(end));
  return hipSuccess;
}

} // namespace mono::hipemu

// Graphs: nodes with dependencies, capture of streams into them, and what instantiation makes.
#pragma once

#include "runtime/emulator/hip/Runtime.h"

#include <memory>
#include <set>
#include <vector>

namespace mono::hipemu {

struct GraphNode {
  Graph *graph = nullptr;
  Operation op;
  std::vector<GraphNode *> after;    ///< dependencies
  const GraphNode *origin = nullptr; ///< the node this one was cloned from
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::unique_ptr<Graph>> children; ///< graphs of child nodes, owned

  /// `after` must be nodes of this graph.
  hipError_t add(Operation op, std::vector<GraphNode *> after, GraphNode **node);
  bool owns(const GraphNode *node) const;
  /// The nodes so that each comes behind its dependencies; empty if they form a cycle.
  std::vector<GraphNode *> inOrder() const;
  /// A copy whose nodes know their origin.
  std::unique_ptr<Graph> clone() const;
  /// The node cloned from `origin` here or in a child graph, or null.
  GraphNode *cloneOf(const GraphNode *origin) const;
};

struct GraphExec {
  std::unique_ptr<Graph> graph;
  unsigned device;
};

/// A capture in progress; shared by the streams that take part.
struct Capture {
  Graph *graph = nullptr; ///< null when the capture has ended
  Stream *origin = nullptr;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  bool valid = true;
  uint64_t id = 0;
  std::set<Stream *> streams;
  std::map<Stream *, std::vector<GraphNode *>> frontier; ///< what the next node of a stream follows

  /// Records an operation of a capturing stream.
  hipError_t add(Stream &stream, Operation op);
};

/// hipEventRecord and hipStreamWaitEvent, queued or captured.
hipError_t recordEvent(Runtime &runtime, hipEvent_t event, hipStream_t stream);
hipError_t waitForEvent(Runtime &runtime, hipStream_t stream, hipEvent_t event);

/// Queues all nodes behind the stream's work, and the stream's later work behind them.
hipError_t launchGraph(Runtime &runtime, GraphExec &exec, hipStream_t stream);

/// The operation kind of a node as the API names it.
hipGraphNodeType typeOf(const Operation &op);

/// Makes a graph or an instance one that the program has a handle of.
Graph *keep(std::unique_ptr<Graph> graph);
GraphExec *keep(std::unique_ptr<GraphExec> exec);
/// False if there is no such graph or instance.
bool destroy(const Graph *graph);
bool destroy(const GraphExec *exec);
/// Whether a handle is alive; graphs of child nodes are.
bool isLive(const Graph *graph);
bool isLive(const GraphExec *exec);
bool isLive(const GraphNode *node);

/// The stream that a call of the per-thread flavour (_spt) means by `stream`.
inline hipStream_t perThread(hipStream_t stream) {
  return stream ? stream : reinterpret_cast<hipStream_t>(2);
}

} // namespace mono::hipemu

// Entry points for graphs: building, questions, instantiation, launch, update.
#include "runtime/emulator/hip/Copy.h"
#include "runtime/emulator/hip/Graph.h"
#include "runtime/emulator/hip/GraphParams.h"

#include <algorithm>

namespace mono::hipemu {

static hipError_t addNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after,
                          size_t count, Operation op) {
  if (!node || !isLive(graph) || (count && !after))
    return hipErrorInvalidValue;
  return graph->add(std::move(op), std::vector<GraphNode *>(after, after + count), node);
}

/// The part of a list that fits; a null list only asks for the count.
static hipError_t giveList(const std::vector<GraphNode *> &list, hipGraphNode_t *out,
                           size_t *count) {
  if (!count)
    return hipErrorInvalidValue;
  if (out) {
    size_t n = std::min(*count, list.size());
    std::copy_n(list.begin(), n, out);
    std::fill(out + n, out + *count, nullptr);
    *count = n;
    return hipSuccess;
  }
  *count = list.size();
  return hipSuccess;
}

static hipError_t instantiate(hipGraphExec_t *exec, hipGraph_t graph) {
  if (!exec || !isLive(graph))
    return hipErrorInvalidValue;
  if (!graph->nodes.empty() && graph->inOrder().empty())
    return fail(hipErrorInvalidValue, "graph: its {} nodes form a cycle", graph->nodes.size());
  auto fresh = std::make_unique<GraphExec>();
  fresh->graph = graph->clone();
  fresh->device = Runtime::currentDevice();
  *exec = keep(std::move(fresh));
  return hipSuccess;
}

/// Copies the parameters of a graph of the same shape into an instance. What of the two does not
/// match is told in `result`.
static hipError_t update(GraphExec &exec, const Graph &graph, hipGraphNode_t *culprit,
                         hipGraphExecUpdateResult *result) {
  auto refuse = [&](const GraphNode *node, hipGraphExecUpdateResult why) {
    *culprit = const_cast<GraphNode *>(node);
    *result = why;
    return hipErrorGraphExecUpdateFailure;
  };
  const auto &mine = exec.graph->nodes, &theirs = graph.nodes;
  if (mine.size() != theirs.size())
    return refuse(nullptr, hipGraphExecUpdateErrorTopologyChanged);
  std::map<const GraphNode *, size_t> place;
  for (size_t n = 0; n < theirs.size(); ++n) {
    place[mine[n].get()] = place[theirs[n].get()] = n;
    if (typeOf(mine[n]->op) != typeOf(theirs[n]->op))
      return refuse(theirs[n].get(), hipGraphExecUpdateErrorNodeTypeChanged);
  }
  for (size_t n = 0; n < theirs.size(); ++n)
    if (!std::equal(mine[n]->after.begin(), mine[n]->after.end(), theirs[n]->after.begin(),
                    theirs[n]->after.end(), [&](const GraphNode *a, const GraphNode *b) {
                      return place.at(a) == place.at(b);
                    }))
      return refuse(theirs[n].get(), hipGraphExecUpdateErrorTopologyChanged);
  std::unique_ptr<Graph> fresh = graph.clone();
  for (size_t n = 0; n < mine.size(); ++n)
    mine[n]->op = std::move(fresh->nodes[n]->op);
  exec.graph->children = std::move(fresh->children);
  *result = hipGraphExecUpdateSuccess;
  return hipSuccess;
}

} // namespace mono::hipemu

using namespace mono::hipemu;

// ---- building ----------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags) {
  return api([&](Runtime &) {
    if (!graph || flags)
      return hipErrorInvalidValue;
    *graph = keep(std::make_unique<Graph>());
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph) {
  return api([&](Runtime &) { return destroy(graph) ? hipSuccess : hipErrorInvalidValue; });
}

HIP_EXPORT hipError_t hipGraphClone(hipGraph_t *copy, hipGraph_t graph) {
  return api([&](Runtime &) {
    if (!copy || !isLive(graph))
      return hipErrorInvalidValue;
    *copy = keep(graph->clone());
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphNodeFindInClone(hipGraphNode_t *node, hipGraphNode_t original,
                                              hipGraph_t clone) {
  return api([&](Runtime &) {
    if (!node || !isLive(clone))
      return hipErrorInvalidValue;
    *node = clone->cloneOf(original);
    return *node ? hipSuccess : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph,
                                           const hipGraphNode_t *after, size_t count) {
  return api([&](Runtime &) { return addNode(node, graph, after, count, MarkerOp()); });
}

HIP_EXPORT hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph,
                                            const hipGraphNode_t *after, size_t count,
                                            const hipKernelNodeParams *params) {
  return api([&](Runtime &runtime) -> hipError_t {
    KernelOp op;
    if (hipError_t status = kernelOf(runtime, params, Runtime::currentDevice(), &op))
      return status;
    return addNode(node, graph, after, count, std::move(op));
  });
}

HIP_EXPORT hipError_t hipGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph,
                                            const hipGraphNode_t *after, size_t count,
                                            const hipMemcpy3DParms *params) {
  return api([&](Runtime &runtime) -> hipError_t {
    CopyOp op;
    if (hipError_t status = makeCopy3D(runtime, params, &op))
      return status;
    return addNode(node, graph, after, count, op);
  });
}

HIP_EXPORT hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph,
                                              const hipGraphNode_t *after, size_t count, void *to,
                                              const void *from, size_t bytes, hipMemcpyKind kind) {
  return api([&](Runtime &runtime) -> hipError_t {
    CopyOp op;
    if (hipError_t status = makeCopy(runtime, to, from, bytes, kind, &op))
      return status;
    return addNode(node, graph, after, count, op);
  });
}

HIP_EXPORT hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph,
                                            const hipGraphNode_t *after, size_t count,
                                            const hipMemsetParams *params) {
  return api([&](Runtime &runtime) -> hipError_t {
    FillOp op;
    if (hipError_t status = fillOf(runtime, params, &op))
      return status;
    return addNode(node, graph, after, count, op);
  });
}

HIP_EXPORT hipError_t hipGraphAddHostNode(hipGraphNode_t *node, hipGraph_t graph,
                                          const hipGraphNode_t *after, size_t count,
                                          const hipHostNodeParams *params) {
  return api([&](Runtime &) {
    if (!params || !params->fn)
      return hipErrorInvalidValue;
    return addNode(node, graph, after, count, hostOf(*params));
  });
}

HIP_EXPORT hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph,
                                                const hipGraphNode_t *after, size_t count,
                                                hipGraph_t child) {
  return api([&](Runtime &) {
    if (!isLive(graph) || !isLive(child))
      return hipErrorInvalidValue;
    std::unique_ptr<Graph> copy = child->clone();
    hipError_t status = addNode(node, graph, after, count, ChildGraphOp{copy.get()});
    if (status == hipSuccess)
      graph->children.push_back(std::move(copy));
    return status;
  });
}

HIP_EXPORT hipError_t hipGraphAddEventRecordNode(hipGraphNode_t *node, hipGraph_t graph,
                                                 const hipGraphNode_t *after, size_t count,
                                                 hipEvent_t event) {
  return api([&](Runtime &runtime) {
    if (!runtime.isLive(event))
      return hipErrorInvalidValue;
    return addNode(node, graph, after, count, RecordOp{event});
  });
}

HIP_EXPORT hipError_t hipGraphAddEventWaitNode(hipGraphNode_t *node, hipGraph_t graph,
                                               const hipGraphNode_t *after, size_t count,
                                               hipEvent_t event) {
  return api([&](Runtime &runtime) {
    if (!runtime.isLive(event))
      return hipErrorInvalidValue;
    return addNode(node, graph, after, count, WaitOp{event});
  });
}

HIP_EXPORT hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from,
                                              const hipGraphNode_t *to, size_t count) {
  return api([&](Runtime &) {
    if (!isLive(graph) || (count && (!from || !to)))
      return hipErrorInvalidValue;
    for (size_t n = 0; n < count; ++n)
      if (!graph->owns(from[n]) || !graph->owns(to[n]) || from[n] == to[n])
        return hipErrorInvalidValue;
    for (size_t n = 0; n < count; ++n)
      to[n]->after.push_back(from[n]);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t *from,
                                                 const hipGraphNode_t *to, size_t count) {
  return api([&](Runtime &) {
    if (!isLive(graph) || (count && (!from || !to)))
      return hipErrorInvalidValue;
    for (size_t n = 0; n < count; ++n)
      if (!graph->owns(to[n]) || std::erase(to[n]->after, from[n]) == 0)
        return hipErrorInvalidValue;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  return api([&](Runtime &) {
    if (!isLive(node))
      return hipErrorInvalidValue;
    Graph &graph = *node->graph;
    for (const auto &other : graph.nodes)
      std::erase(other->after, node);
    std::erase_if(graph.nodes, [&](const auto &n) { return n.get() == node; });
    return hipSuccess;
  });
}

// ---- questions ---------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  return api([&](Runtime &) {
    if (!isLive(graph))
      return hipErrorInvalidValue;
    std::vector<GraphNode *> list;
    for (const auto &node : graph->nodes)
      list.push_back(node.get());
    return giveList(list, nodes, count);
  });
}

HIP_EXPORT hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  return api([&](Runtime &) {
    if (!isLive(graph))
      return hipErrorInvalidValue;
    std::vector<GraphNode *> list;
    for (const auto &node : graph->nodes)
      if (node->after.empty())
        list.push_back(node.get());
    return giveList(list, nodes, count);
  });
}

HIP_EXPORT hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to,
                                       size_t *count) {
  return api([&](Runtime &) -> hipError_t {
    if (!isLive(graph) || !count || !from != !to)
      return hipErrorInvalidValue;
    std::vector<GraphNode *> sources, targets;
    for (const auto &node : graph->nodes)
      for (GraphNode *before : node->after) {
        sources.push_back(before);
        targets.push_back(node.get());
      }
    size_t room = *count;
    if (hipError_t status = giveList(sources, from, count))
      return status;
    return giveList(targets, to, from ? &room : count);
  });
}

HIP_EXPORT hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t *list,
                                                  size_t *count) {
  return api([&](Runtime &) {
    return isLive(node) ? giveList(node->after, list, count) : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t *out,
                                                    size_t *count) {
  return api([&](Runtime &) {
    if (!isLive(node))
      return hipErrorInvalidValue;
    std::vector<GraphNode *> list;
    for (const auto &other : node->graph->nodes)
      if (std::find(other->after.begin(), other->after.end(), node) != other->after.end())
        list.push_back(other.get());
    return giveList(list, out, count);
  });
}

HIP_EXPORT hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type) {
  return api([&](Runtime &) {
    if (!isLive(node) || !type)
      return hipErrorInvalidValue;
    *type = typeOf(node->op);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t *graph) {
  return api([&](Runtime &) {
    const auto *child = isLive(node) ? std::get_if<ChildGraphOp>(&node->op) : nullptr;
    if (!child || !graph)
      return hipErrorInvalidValue;
    *graph = child->graph;
    return hipSuccess;
  });
}

// ---- instances ---------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *,
                                          char *, size_t) {
  return api([&](Runtime &) { return instantiate(exec, graph); });
}

HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph,
                                                   unsigned long long) {
  return api([&](Runtime &) { return instantiate(exec, graph); });
}

HIP_EXPORT hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t) {
  return api([&](Runtime &) { return isLive(exec) ? hipSuccess : hipErrorInvalidValue; });
}

HIP_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return api([&](Runtime &runtime) {
    return isLive(exec) ? launchGraph(runtime, *exec, stream) : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return api([&](Runtime &) { return destroy(exec) ? hipSuccess : hipErrorInvalidValue; });
}

HIP_EXPORT hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph,
                                         hipGraphNode_t *culprit,
                                         hipGraphExecUpdateResult *result) {
  return api([&](Runtime &) {
    if (!isLive(exec) || !isLive(graph) || !culprit || !result)
      return hipErrorInvalidValue;
    return update(*exec, *graph, culprit, result);
  });
}

// Parameters of graph nodes: to operations, and the entry points that ask for them and set them.
#include "runtime/emulator/hip/Copy.h"
#include "runtime/emulator/hip/GraphParams.h"
#include "runtime/emulator/hip/Launch.h"

#include <algorithm>

namespace mono::hipemu {

hipError_t kernelOf(Runtime &runtime, const hipKernelNodeParams *params, unsigned device,
                    KernelOp *op) {
  if (!params || !params->func)
    return hipErrorInvalidValue;
  auto *function = static_cast<Function *>(params->func);
  if (!runtime.modules().isLive(function))
    if (hipError_t status = runtime.modules().functionOfStub(params->func, &function))
      return status;
  LaunchShape shape{params->gridDim, params->blockDim, params->sharedMemBytes};
  return makeKernelOp(runtime, function, device, shape, params->kernelParams, params->extra, op);
}

hipError_t fillOf(Runtime &runtime, const hipMemsetParams *params, FillOp *op) {
  if (!params)
    return hipErrorInvalidValue;
  return makeFill(runtime, params->dst, params->value, params->elementSize, params->width,
                  params->height, params->pitch, op);
}

HostOp hostOf(const hipHostNodeParams &params) {
  HostOp op;
  op.fn = params.fn;
  op.userData = params.userData;
  op.run = [fn = params.fn, data = params.userData] {
    fn(data);
    return hipSuccess;
  };
  return op;
}

/// Replaces the operation of a node by one of the same type.
static hipError_t replace(GraphNode *node, Operation op) {
  if (!node || node->op.index() != op.index())
    return hipErrorInvalidValue;
  node->op = std::move(op);
  return hipSuccess;
}

static GraphNode *execNode(hipGraphExec_t exec, hipGraphNode_t node) {
  return isLive(exec) ? exec->graph->cloneOf(node) : nullptr;
}

} // namespace mono::hipemu

using namespace mono::hipemu;

// ---- questions ---------------------------------------------------------------------------------

/// Arguments were copied when the node was made, so their pointers cannot be given back.
HIP_EXPORT hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node,
                                                  hipKernelNodeParams *params) {
  return api([&](Runtime &) {
    const auto *kernel = isLive(node) ? std::get_if<KernelOp>(&node->op) : nullptr;
    if (!kernel || !params)
      return hipErrorInvalidValue;
    const mono::emu::Launch &launch = kernel->launch;
    *params = {
        {launch.block[0], launch.block[1], launch.block[2]}, nullptr, kernel->function,
        {launch.grid[0], launch.grid[1], launch.grid[2]},    nullptr, launch.dynamicLdsBytes};
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *params) {
  return api([&](Runtime &) {
    const auto *fill = isLive(node) ? std::get_if<FillOp>(&node->op) : nullptr;
    if (!fill || !params)
      return hipErrorInvalidValue;
    *params = {reinterpret_cast<void *>(fill->to),
               fill->elementSize,
               fill->height,
               fill->pitch,
               fill->value,
               fill->width / fill->elementSize};
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams *params) {
  return api([&](Runtime &) {
    const auto *host = isLive(node) ? std::get_if<HostOp>(&node->op) : nullptr;
    if (!host || !params)
      return hipErrorInvalidValue;
    *params = {host->fn, host->userData};
    return hipSuccess;
  });
}

// ---- new parameters, in the graph or in an instance --------------------------------------------

static hipError_t setKernel(GraphNode *node, const hipKernelNodeParams *params) {
  return api([&](Runtime &runtime) -> hipError_t {
    const auto *old = node ? std::get_if<KernelOp>(&node->op) : nullptr;
    if (!old)
      return hipErrorInvalidValue;
    KernelOp op;
    if (hipError_t status = kernelOf(runtime, params, old->launch.rank, &op))
      return status;
    return replace(node, std::move(op));
  });
}

static hipError_t setFill(GraphNode *node, const hipMemsetParams *params) {
  return api([&](Runtime &runtime) -> hipError_t {
    FillOp op;
    if (hipError_t status = fillOf(runtime, params, &op))
      return status;
    return replace(node, op);
  });
}

static hipError_t setCopy1D(GraphNode *node, void *to, const void *from, size_t bytes,
                            hipMemcpyKind kind) {
  return api([&](Runtime &runtime) -> hipError_t {
    CopyOp op;
    if (hipError_t status = makeCopy(runtime, to, from, bytes, kind, &op))
      return status;
    return replace(node, op);
  });
}

static hipError_t setCopy3D(GraphNode *node, const hipMemcpy3DParms *params) {
  return api([&](Runtime &runtime) -> hipError_t {
    CopyOp op;
    if (hipError_t status = makeCopy3D(runtime, params, &op))
      return status;
    return replace(node, op);
  });
}

static hipError_t setHost(GraphNode *node, const hipHostNodeParams *params) {
  return api([&](Runtime &) {
    return params && params->fn ? replace(node, hostOf(*params)) : hipErrorInvalidValue;
  });
}

static GraphNode *liveNode(hipGraphNode_t node) { return isLive(node) ? node : nullptr; }

HIP_EXPORT hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node,
                                                  const hipKernelNodeParams *params) {
  return setKernel(liveNode(node), params);
}
HIP_EXPORT hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node,
                                                  const hipMemsetParams *params) {
  return setFill(liveNode(node), params);
}
HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                                  const hipMemcpy3DParms *params) {
  return setCopy3D(liveNode(node), params);
}
HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void *to, const void *from,
                                                    size_t bytes, hipMemcpyKind kind) {
  return setCopy1D(liveNode(node), to, from, bytes, kind);
}
HIP_EXPORT hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node,
                                                const hipHostNodeParams *params) {
  return setHost(liveNode(node), params);
}
HIP_EXPORT hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                      const hipKernelNodeParams *params) {
  return setKernel(execNode(exec, node), params);
}
HIP_EXPORT hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                      const hipMemsetParams *params) {
  return setFill(execNode(exec, node), params);
}
HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                      hipMemcpy3DParms *params) {
  return setCopy3D(execNode(exec, node), params);
}
HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node,
                                                        void *to, const void *from, size_t bytes,
                                                        hipMemcpyKind kind) {
  return setCopy1D(execNode(exec, node), to, from, bytes, kind);
}
HIP_EXPORT hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                    const hipHostNodeParams *params) {
  return setHost(execNode(exec, node), params);
}

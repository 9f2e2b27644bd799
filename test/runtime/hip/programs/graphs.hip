// Capture and replay, forked capture, graphs by explicit nodes, update of instances.
#include "Check.h"

#include <vector>

__global__ void addValue(int *x, int value) { x[threadIdx.x] += value; }
__global__ void multiply(int *x, int factor) { x[threadIdx.x] *= factor; }

static int *device;
static constexpr int n = 64, bytes = n * sizeof(int);

static void expectAll(int want, int line) {
  std::vector<int> host(n);
  HIP(hipMemcpy(host.data(), device, bytes, hipMemcpyDeviceToHost));
  for (int value : host)
    expectEqual(value, want, "element", line);
}

/// Nothing runs while recording; a hundred replays run it a hundred times.
static void captureAndReplay() {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamCreate(&stream));
  HIP(hipMemset(device, 0, bytes));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  hipStreamCaptureStatus status;
  HIP(hipStreamIsCapturing(stream, &status));
  EXPECT_EQ(int(status), int(hipStreamCaptureStatusActive));
  addValue<<<1, n, 0, stream>>>(device, 2);
  addValue<<<1, n, 0, stream>>>(device, 1);
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipStreamSynchronize(stream));
  expectAll(0, __LINE__);
  size_t nodes = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, size_t(2));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphDestroy(graph));
  for (int replay = 0; replay < 100; ++replay)
    HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  expectAll(300, __LINE__);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipStreamDestroy(stream));
}

/// A second stream joins by an event and must come back by another.
static void forkedCapture() {
  hipStream_t main, side;
  hipEvent_t fork, join;
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamCreate(&main));
  HIP(hipStreamCreate(&side));
  HIP(hipEventCreate(&fork));
  HIP(hipEventCreate(&join));
  HIP(hipStreamBeginCapture(main, hipStreamCaptureModeGlobal));
  HIP(hipMemsetAsync(device, 0, bytes, main));
  HIP(hipEventRecord(fork, main));
  HIP(hipStreamWaitEvent(side, fork, 0));
  addValue<<<1, n, 0, side>>>(device, 7);
  HIP(hipEventRecord(join, side));
  HIP(hipStreamWaitEvent(main, join, 0));
  multiply<<<1, n, 0, main>>>(device, 3);
  HIP(hipStreamEndCapture(main, &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, main));
  HIP(hipGraphLaunch(exec, main));
  HIP(hipStreamSynchronize(main));
  expectAll(21, __LINE__);

  HIP(hipStreamBeginCapture(main, hipStreamCaptureModeGlobal));
  HIP(hipEventRecord(fork, main));
  HIP(hipStreamWaitEvent(side, fork, 0));
  addValue<<<1, n, 0, side>>>(device, 7);
  EXPECT_STATUS(hipStreamEndCapture(main, &graph), hipErrorStreamCaptureUnjoined);
  HIP(hipStreamSynchronize(side));
}

static hipKernelNodeParams kernelParams(void (*kernel)(int *, int), void **args) {
  hipKernelNodeParams params = {};
  params.func = reinterpret_cast<void *>(kernel);
  params.gridDim = dim3(1);
  params.blockDim = dim3(n);
  params.kernelParams = args;
  return params;
}

/// memset -> add -> copy to the host -> host function, then other arguments for the kernel.
static void explicitNodes() {
  static int seen = 0;
  static std::vector<int> host(n);
  hipGraph_t graph;
  hipGraphNode_t fill, kernel, copy, notify;
  hipGraphExec_t exec;
  HIP(hipGraphCreate(&graph, 0));
  hipMemsetParams memset = {};
  memset.dst = device;
  memset.elementSize = 4;
  memset.value = 1000;
  memset.width = n;
  memset.height = 1;
  HIP(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset));
  int value = 11;
  void *args[] = {&device, &value};
  hipKernelNodeParams params = kernelParams(addValue, args);
  HIP(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &params));
  HIP(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), device, bytes,
                              hipMemcpyDeviceToHost));
  hipHostNodeParams notification = {};
  notification.fn = [](void *) { seen = host[5]; };
  HIP(hipGraphAddHostNode(&notify, graph, &copy, 1, &notification));
  value = 99; // the arguments were taken when the node was made
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, nullptr));
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(seen, 1011);

  HIP(hipGraphExecKernelNodeSetParams(exec, kernel, &params));
  HIP(hipGraphLaunch(exec, nullptr));
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(seen, 1099);

  value = 5;
  HIP(hipGraphKernelNodeSetParams(kernel, &params));
  hipGraphNode_t culprit;
  hipGraphExecUpdateResult result;
  HIP(hipGraphExecUpdate(exec, graph, &culprit, &result));
  HIP(hipGraphLaunch(exec, nullptr));
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(seen, 1005);

  hipGraphNode_t extra;
  HIP(hipGraphAddEmptyNode(&extra, graph, &notify, 1));
  EXPECT_STATUS(hipGraphExecUpdate(exec, graph, &culprit, &result), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(int(result), int(hipGraphExecUpdateErrorTopologyChanged));
  HIP(hipGraphAddDependencies(graph, &extra, &fill, 1));
  hipGraphExec_t cyclic;
  EXPECT_STATUS(hipGraphInstantiate(&cyclic, graph, nullptr, nullptr, 0), hipErrorInvalidValue);
}

/// A child graph runs inside its parent.
static void childGraph() {
  hipGraph_t parent, child;
  hipGraphNode_t node, inner;
  hipGraphExec_t exec;
  HIP(hipGraphCreate(&parent, 0));
  HIP(hipGraphCreate(&child, 0));
  int value = 4;
  void *args[] = {&device, &value};
  hipKernelNodeParams params = kernelParams(addValue, args);
  HIP(hipGraphAddKernelNode(&inner, child, nullptr, 0, &params));
  HIP(hipGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
  params = kernelParams(multiply, args);
  HIP(hipGraphAddKernelNode(&inner, parent, &node, 1, &params));
  HIP(hipGraphInstantiate(&exec, parent, nullptr, nullptr, 0));
  HIP(hipMemset(device, 0, bytes));
  HIP(hipGraphLaunch(exec, nullptr));
  HIP(hipGraphLaunch(exec, nullptr));
  expectAll((4 * 4 + 4) * 4, __LINE__);
}

int main() {
  HIP(hipMalloc(&device, bytes));
  captureAndReplay();
  forkedCapture();
  explicitNodes();
  childGraph();
}

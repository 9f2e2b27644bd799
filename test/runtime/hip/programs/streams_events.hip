// Order within and across streams, the legacy default stream, events, callbacks and queries.
#include "Check.h"

#include <thread>
#include <vector>

__global__ void append(int *list, int *count, int value) { list[(*count)++] = value; }

static int *list, *counter;

static std::vector<int> takeList() {
  int n = 0;
  HIP(hipMemcpy(&n, counter, sizeof(n), hipMemcpyDeviceToHost));
  std::vector<int> values(n);
  if (n)
    HIP(hipMemcpy(values.data(), list, n * sizeof(int), hipMemcpyDeviceToHost));
  HIP(hipMemset(counter, 0, sizeof(int)));
  return values;
}

static void expectList(std::vector<int> want, int line) {
  std::vector<int> got = takeList();
  expectEqual(got.size(), want.size(), "list length", line);
  for (size_t n = 0; n < want.size(); ++n)
    expectEqual(got[n], want[n], "list entry", line);
}

/// An event orders work of two streams that are otherwise independent.
static void eventOrdersStreams() {
  hipStream_t first, second;
  hipEvent_t event;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreateWithPriority(&second, hipStreamNonBlocking, -1));
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  append<<<1, 1, 0, first>>>(list, counter, 1);
  HIP(hipEventRecord(event, first));
  HIP(hipStreamWaitEvent(second, event, 0));
  append<<<1, 1, 0, second>>>(list, counter, 2);
  HIP(hipStreamSynchronize(second));
  HIP(hipEventQuery(event));
  expectList({1, 2}, __LINE__);
  int priority = 0;
  HIP(hipStreamGetPriority(second, &priority));
  EXPECT_EQ(priority, -1);
  HIP(hipStreamDestroy(first));
  HIP(hipStreamDestroy(second));
  HIP(hipEventDestroy(event));
}

/// The default stream waits for blocking streams, and they for it.
static void defaultStreamIsABarrier() {
  hipStream_t blocking;
  HIP(hipStreamCreate(&blocking));
  append<<<1, 1, 0, blocking>>>(list, counter, 1);
  append<<<1, 1>>>(list, counter, 2);
  append<<<1, 1, 0, blocking>>>(list, counter, 3);
  HIP(hipStreamSynchronize(blocking));
  expectList({1, 2, 3}, __LINE__);
  HIP(hipStreamDestroy(blocking));
}

static void timesAreInOrder() {
  hipEvent_t start, middle, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&middle));
  HIP(hipEventCreate(&stop));
  HIP(hipEventRecord(start, nullptr));
  append<<<1, 1>>>(list, counter, 1);
  HIP(hipEventRecord(middle, nullptr));
  append<<<1, 1>>>(list, counter, 2);
  HIP(hipEventRecord(stop, nullptr));
  float early = -1, whole = -1;
  EXPECT_STATUS(hipEventElapsedTime(&whole, start, stop), hipErrorNotReady);
  HIP(hipEventSynchronize(stop));
  HIP(hipEventElapsedTime(&early, start, middle));
  HIP(hipEventElapsedTime(&whole, start, stop));
  EXPECT_TRUE(early > 0 && early < whole);
  expectList({1, 2}, __LINE__);
}

static void hostFunctionsRunInOrder() {
  static std::vector<int> *seen = new std::vector<int>;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  auto note = [](void *value) { seen->push_back(int(reinterpret_cast<intptr_t>(value))); };
  HIP(hipLaunchHostFunc(stream, note, reinterpret_cast<void *>(1)));
  append<<<1, 1, 0, stream>>>(list, counter, 5);
  HIP(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t status, void *data) {
        seen->push_back(status == hipSuccess ? int(reinterpret_cast<intptr_t>(data)) : -1);
      },
      reinterpret_cast<void *>(2), 0));
  HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(seen->size(), size_t(2));
  EXPECT_EQ(seen->at(0), 1);
  EXPECT_EQ(seen->at(1), 2);
  expectList({5}, __LINE__);
  HIP(hipStreamDestroy(stream));
}

/// Work starts although nobody waits for it.
static void pollingEnds() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  append<<<1, 1, 0, stream>>>(list, counter, 9);
  int polls = 0;
  while (hipStreamQuery(stream) == hipErrorNotReady && ++polls < 20000)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  HIP(hipStreamQuery(stream));
  expectList({9}, __LINE__);
  HIP(hipStreamDestroy(stream));
}

/// A host flag in pinned memory tells that the kernel has run, without any call.
__global__ void raiseFlag(volatile int *flag) { *flag = 1; }
static void pinnedFlagIsRaised() {
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int), hipHostMallocDefault));
  *flag = 0;
  raiseFlag<<<1, 1>>>(flag);
  for (int n = 0; n < 20000 && *static_cast<volatile int *>(flag) == 0; ++n)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  EXPECT_EQ(*static_cast<volatile int *>(flag), 1);
  HIP(hipHostFree(flag));
}

int main() {
  HIP(hipMalloc(&list, 64 * sizeof(int)));
  HIP(hipMalloc(&counter, sizeof(int)));
  HIP(hipMemset(counter, 0, sizeof(int)));
  eventOrdersStreams();
  defaultStreamIsABarrier();
  timesAreInOrder();
  hostFunctionsRunInOrder();
  pollingEnds();
  pinnedFlagIsRaised();
}

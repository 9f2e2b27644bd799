// Atomics of compiled kernels, and what is built of them: locks, channels, a hash table.
#include "test/runtime/kernels/device/Atomics.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

#include <map>
#include <numeric>

using namespace mono::emu::test;

namespace {

class Atomics : public KernelSuite {};
INSTANTIATE_KERNELS(Atomics, "O0", "O3");

template <typename T>
void runEvery(Differential &run, const char *name, void (*kernel)(const T *, T *)) {
  auto in = run.input(randomIntegers<T>(8 * 128, 21));
  auto cells = run.input(std::vector<T>{5, 7, T(1000), T(3), T(~T(0)), 0, T(0x55)});
  run.both(name, kernel, {.grid = {8, 1, 1}, .block = {128, 1, 1}}, in, cells);
  run.expectSame(cells, name);
}

TEST_P(Atomics, GlobalIntegers) {
  Differential run("Atomics", GetParam());
  runEvery(run, TWIN(atomics_i32));
  runEvery(run, TWIN(atomics_u32));
  runEvery(run, TWIN(atomics_i64));
  runEvery(run, TWIN(atomics_u64));
}

template <typename T>
void runLds(Differential &run, const char *name, void (*kernel)(const T *, const T *, T *)) {
  auto in = run.input(randomIntegers<T>(4 * 256, 22));
  auto start = run.input(std::vector<T>{1, 2, T(100), T(-3), T(~T(0)), 0, 9});
  auto cells = run.output<T>(7 * 4);
  run.both(name, kernel, {.grid = {4, 1, 1}, .block = {256, 1, 1}}, in, start, cells);
  run.expectSame(cells, name);
}

TEST_P(Atomics, LdsIntegers) {
  Differential run("Atomics", GetParam());
  runLds(run, TWIN(ldsAtomics_i32));
  runLds(run, TWIN(ldsAtomics_u64));
}

TEST_P(Atomics, Reals) {
  Differential run("Atomics", GetParam());
  auto in = run.input(randomIntegers<i32>(8 * 128, 23));
  auto cells = run.input(std::vector<f32>{2});
  auto wide = run.input(std::vector<f64>{1, 1e9, -1e9});
  auto lds = run.output<f32>(8);
  run.both(TWIN(realAtomics), {.grid = {8, 1, 1}, .block = {128, 1, 1}}, in, cells, wide, lds);
  run.expectSame(cells, "f32");
  run.expectSame(wide, "f64");
  run.expectSame(lds, "lds");
}

TEST_P(Atomics, Tickets) {
  Differential run("Atomics", GetParam());
  const u32 n = 8 * 64;
  auto next = run.input(std::vector<u32>{0}), taken = run.input(std::vector<u32>(n));
  auto token = run.input(std::vector<u32>{0}), sum = run.input(std::vector<u32>{0});
  run.both(TWIN(tickets), {.grid = {8, 1, 1}}, next, taken, token, sum);
  EXPECT_EQ(run.read(next)[0], n);
  run.expectSame(taken, "tickets");
  // Every token but the one that is left was handed out.
  EXPECT_EQ(run.read(sum)[0] + run.read(token)[0], n * (n + 1) / 2);
}

TEST_P(Atomics, CasMaximum) {
  Differential run("Atomics", GetParam());
  auto in = run.input(randomReals<f32>(16 * 64, 24, -9, 9));
  auto cell = run.input(std::vector<u32>{0});
  run.both(TWIN(casMaximum), {.grid = {16, 1, 1}}, in, cell);
  run.expectSame(cell);
}

TEST_P(Atomics, SpinLock) {
  Differential run("Atomics", GetParam());
  auto lock = run.input(std::vector<u32>{0});
  auto counters = run.input(std::vector<u64>{0, 0});
  run.both(TWIN(spinLock), {.grid = {32, 1, 1}}, lock, counters);
  run.expectSame(counters);
  EXPECT_EQ(run.read(counters)[0], 4u * (31 * 32 / 2) + 32 * (0 + 1 + 2 + 3));
  EXPECT_EQ(run.read(counters)[1], 4u * 32);
}

TEST_P(Atomics, TicketLock) {
  Differential run("Atomics", GetParam());
  auto next = run.input(std::vector<u32>{0}), serving = run.input(std::vector<u32>{0});
  auto order = run.input(std::vector<u32>(32));
  run.both(TWIN(ticketLock), {.grid = {32, 1, 1}}, next, serving, order);
  auto entered = run.read(order);
  std::sort(entered.begin(), entered.end());
  std::vector<u32> everyone(32);
  std::iota(everyone.begin(), everyone.end(), 1);
  EXPECT_EQ(entered, everyone);
}

TEST_P(Atomics, ProducerConsumer) {
  Differential run("Atomics", GetParam());
  const u32 pairs = 16, size = 128;
  auto in = run.input(randomIntegers<u32>(pairs * size, 25));
  auto channel = run.output<u32>(pairs * size);
  auto flags = run.input(std::vector<u32>(pairs));
  auto out = run.output<u32>(pairs * size);
  run.both(TWIN(producerConsumer), {.grid = {2 * pairs, 1, 1}, .block = {size, 1, 1}}, in, channel,
           flags, out);
  run.expectSame(out);
}

TEST_P(Atomics, HashTable) {
  Differential run("Atomics", GetParam());
  const u32 n = 2000, capacity = 1024;
  std::vector<u32> values = randomIntegers<u32>(n, 26);
  std::map<u32, u32> counted;
  for (u32 &key : values)
    ++counted[key = key % 700 + 1];
  auto keys = run.input(values);
  auto slots = run.input(std::vector<u32>(capacity)),
       counts = run.input(std::vector<u32>(capacity));
  auto found = run.output<u32>(n);
  const Shape shape = {.grid = {8, 1, 1}, .block = {256, 1, 1}};
  run.both(TWIN(hashInsert), shape, keys, slots, counts, capacity, n);
  run.both(TWIN(hashLookup), shape, keys, slots, counts, found, capacity, n);
  run.expectSame(found); // which slot a key got depends on the order, its count does not
  for (u32 i = 0; i < n; ++i)
    EXPECT_EQ(found.host[i], counted[values[i]]);
}

TEST_P(Atomics, Histogram) {
  Differential run("Atomics", GetParam());
  const u32 n = 5000;
  auto in = run.input(randomIntegers<u8>(n, 27));
  auto bins = run.input(std::vector<u32>(256));
  run.both(TWIN(histogram), {.grid = {4, 1, 1}, .block = {192, 1, 1}}, in, bins, n);
  run.expectSame(bins);
}

} // namespace

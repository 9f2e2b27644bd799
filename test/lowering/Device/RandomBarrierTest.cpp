// Random schedules over small regions against plain loops over their tasks, under the emulator's
// LDS race check: where barriers must stand is in no text of a schedule, so this is the oracle.
// --seeds=N runs N of them, --first=SEED from that one on; ctest runs a sample.
#include "test/lowering/Device/OneGpu.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

using namespace mono;
using namespace mono::test;

namespace {

using Shape = std::vector<int>;
/// Small integers, so that sums in any order and bf16 are exact.
using Numbers = std::vector<float>;

constexpr float kMost = 8;

int count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
}

float bounded(float value) { return std::clamp(value, -kMost, kMost); }

std::string tensorOf(const Shape &shape, llvm::StringRef element = "f32") {
  return llvm::formatv("tensor<{0:$[x]}x{1}>", llvm::make_range(shape.begin(), shape.end()),
                       element);
}

/// An access to a region, by its number.
struct Access {
  int region;
  bool write;
};

/// What is pending since the last barrier, as sets of regions.
struct Pending {
  unsigned reads = 0, writes = 0;

  bool meets(Access access) const {
    return ((access.write ? reads | writes : writes) >> access.region) & 1;
  }
  void record(Access access) { (access.write ? writes : reads) |= 1U << access.region; }
};

/// What is pending behind accesses with barriers where they are needed, and where that is.
Pending behind(Pending pending, const std::vector<Access> &accesses, std::vector<bool> &barriers) {
  barriers.clear();
  for (Access access : accesses) {
    barriers.push_back(pending.meets(access));
    if (barriers.back())
      pending = {};
    pending.record(access);
  }
  return pending;
}

/// True of a loop whose barriers are not in the right places if they are found from what comes
/// before it and from what its first task leaves: what the second leaves is something else. One in
/// some thousands is.
bool dependsOnLaterTasks(const std::vector<Access> &before, const std::vector<Access> &task) {
  std::vector<bool> barriers;
  Pending start = behind({}, before, barriers), first = behind(start, task, barriers);
  behind({start.reads | first.reads, start.writes | first.writes}, task, barriers);
  Pending pending = start;
  for (int number = 0; number < 3; ++number)
    for (auto [access, barrier] : llvm::zip_equal(task, barriers)) {
      if (barrier)
        pending = {};
      if (pending.meets(access))
        return true;
      pending.record(access);
    }
  return false;
}

/// A few stages whose ops load, store, gather, multiply, select, reduce and move elements of
/// regions. The second half has regions of its own, so those and scratch areas take bytes over from
/// the first; stages have no task, one or several on a workgroup.
class RandomSchedule {
public:
  explicit RandomSchedule(uint32_t seed)
      : random(seed), plain(below(2)), ctas(1 + below(3)), threads(128 << below(2)), ids(16),
        x(kMaxTasks * 4 * 64), w(32 * 32) {
    for (int32_t &id : ids)
      id = below(72) - 4; // a few name no row
    for (Numbers *numbers : {&x, &w})
      for (float &value : *numbers)
        value = float(below(2 * int(kMost) + 1)) - kMost;
    for (std::string half : {"0", "1"}) {
      lost.clear();
      if (plain)
        regions = {{"A" + half, {4, 64}},
                   {"T" + half, {4, 64}},
                   {"U" + half, {4, 64}},
                   {"V" + half, {4, 64}},
                   {"W" + half, {4, 64}}};
      else
        regions = {{"A" + half, {4, 64}},  {"B" + half, {64, 4}},  {"C" + half, {4}},
                   {"D" + half, {16, 4}},  {"P" + half, {16, 32}}, {"F" + half, {2, 128}},
                   {"a" + half, {16, 32}}, {"b" + half, {32, 32}}};
      for (const Region &region : regions)
        declarations += llvm::formatv(
            "  %{0} = mono.region \"{0}\" [{1:$[, ]}] : {2}\n", region.name,
            llvm::make_range(region.shape.begin(), region.shape.end()), region.element());
      if (plain && below(2)) {
        addLoop();
        continue;
      }
      addStage(/*initial=*/true);
      for (int more = 1 + below(3); more > 0; --more)
        addStage(/*initial=*/false);
    }
  }

  std::string text() const {
    std::string result = llvm::formatv(R"(mono.schedule @random target("gfx950") grid({0} x {1}) {{
  %ids = mono.operand "ids" read [16] : i32
  %x = mono.operand "x" read [{2}, 64] : f32
  %w = mono.operand "w" read [32, 32] : bf16
)",
                                       ctas, threads, kMaxTasks * 4);
    result += declarations;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      result += llvm::formatv("  mono.stage \"s{0}\" (%t) tasks [{1}] base [{2}] {{\n", number,
                              stage.tasks, stage.base);
      for (const Op &op : stage.ops)
        result += op.text;
      result += "  }\n";
    }
    return result + "}\n";
  }

  void writeInputs(OneGpu &gpu) const {
    gpu.write("ids", ids);
    gpu.write("x", x);
    std::vector<uint16_t> bf16;
    for (float value : w)
      bf16.push_back(uint16_t(llvm::bit_cast<uint32_t>(value) >> 16));
    gpu.write("w", bf16);
  }

  /// What each result "y0", "y1", ... holds after a launch.
  std::vector<Numbers> results() const {
    Task task;
    for (int size : outputSizes)
      task.results.emplace_back(size);
    for (int cta = 0; cta < ctas; ++cta)
      for (const Stage &stage : stages)
        for (task.number = (cta - stage.base + ctas) % ctas; task.number < stage.tasks;
             task.number += ctas)
          for (const Op &op : stage.ops)
            op.run(task);
    return task.results;
  }

private:
  static constexpr int kMaxTasks = 9;

  struct Region {
    std::string name;
    Shape shape;
    llvm::StringRef element() const { return llvm::isLower(name[0]) ? "bf16" : "f32"; }
  };
  struct Value {
    int number = -1; ///< %v<number>
    Shape shape;
  };
  /// The state of a task: values by number, regions of its workgroup by name.
  struct Task {
    int number = 0;
    std::map<int, Numbers> values;
    std::map<std::string, Numbers> regions;
    std::vector<Numbers> results;
  };
  struct Op {
    std::string text;
    std::function<void(Task &)> run;
  };
  struct Stage {
    int tasks, base;
    std::vector<Op> ops;
  };

  int below(int bound) { return int(random() % uint32_t(bound)); }

  template <typename... Args>
  void add(std::function<void(Task &)> run, const char *format, Args &&...args) {
    stages.back().ops.push_back(
        {"    " + llvm::formatv(format, args...).str() + "\n", std::move(run)});
  }

  const Region &region(char kind) const {
    return *llvm::find_if(regions, [&](const Region &r) { return r.name[0] == kind; });
  }

  Value made(Shape shape) {
    values.push_back({next++, std::move(shape)});
    return values.back();
  }

  /// A value that ops can use from some later op on, where `text` makes it: what an op has left in
  /// LDS is mostly not read at once.
  void makeLater(const Value &value, std::string text) {
    later.push_back({value, "    " + text + "\n"});
  }

  void makeNow() {
    if (later.empty())
      return;
    auto chosen = later.begin() + below(later.size());
    values.push_back(chosen->first);
    stages.back().ops.push_back({chosen->second, [](Task &) {}});
    later.erase(chosen);
  }

  /// A value of the stage with this shape, mostly a late one; nothing if there is none.
  std::optional<Value> pick(llvm::function_ref<bool(const Shape &)> fits) {
    std::vector<Value> fitting;
    llvm::copy_if(values, std::back_inserter(fitting),
                  [&](const Value &v) { return fits(v.shape); });
    if (fitting.empty())
      return {};
    return fitting[fitting.size() - 1 - below(std::min<int>(fitting.size(), 3))];
  }
  std::optional<Value> pick(const Shape &shape) {
    return pick([&](const Shape &other) { return other == shape; });
  }

  void beginStage(int tasks) {
    stages.push_back({tasks, below(ctas), {}});
    values.clear();
    later.clear();
    idsOfStage = -1;
    stored.clear();
    for (const Region &r : regions)
      if (lost.count(r.name))
        fill(r, 1);
  }

  /// LLVM would drop what nobody needs, accesses to LDS included.
  void endStage() {
    for (const Value &value : values)
      output(value);
    if (stages.back().tasks > ctas)
      lost.insert(stored.begin(), stored.end());
  }

  void addStage(bool initial) {
    int tasks[] = {1, ctas, 2 * ctas, 3 * ctas, 1 + below(3 * ctas)};
    beginStage(initial ? ctas : tasks[below(5)]);
    if (initial)
      for (const Region &r : regions)
        fill(r, float(below(5)));
    for (int ops = initial ? below(4) : 6 + below(12); ops > 0; --ops)
      addOp();
    endStage();
  }

  std::vector<Access> accesses(int count) {
    std::vector<Access> result;
    for (; count > 0; --count)
      result.push_back({below(int(regions.size())), below(2) == 0});
    return result;
  }

  /// An initial stage and a loop with three tasks on a workgroup in which barriers depend on more
  /// than one task before.
  void addLoop() {
    std::vector<Access> before, task;
    do {
      before.clear();
      for (int number = 0; number < int(regions.size()); ++number)
        before.push_back({number, /*write=*/true});
      llvm::append_range(before, accesses(below(9)));
      task = accesses(8 + below(5));
    } while (!dependsOnLaterTasks(before, task));
    beginStage(ctas);
    for (Access access : before)
      access.write ? fill(regions[access.region], float(below(5))) : load(regions[access.region]);
    endStage();
    beginStage(3 * ctas);
    loadOperand();
    for (Access access : task)
      access.write ? store(regions[access.region]) : load(regions[access.region]);
    endStage();
  }

  void fill(const Region &r, float value) {
    add([=](Task &task) { task.regions[r.name] = Numbers(count(r.shape), value); },
        "%k{0} = arith.constant dense<{1:f1}> : {2}\n    mono.store %k{0}, %{3}[{4}] : {2}", next++,
        value, tensorOf(r.shape, r.element()), r.name, r.shape.size() == 1 ? "0" : "0, 0");
  }

  void addOp() {
    switch (plain ? below(7) : below(16)) {
    case 0:
      return loadOperand();
    case 1:
    case 2:
    case 3:
      return load(regions[below(regions.size())]);
    case 4:
    case 5:
    case 6:
      return store(regions[below(regions.size())]);
    case 7:
      return addUp();
    case 8:
      return gather();
    case 9:
      return product();
    case 10:
      return select();
    case 11:
      return reduce();
    case 12:
      return below(2) ? broadcast() : transpose();
    case 13:
    case 14:
      return makeNow();
    default:
      if (std::optional<Value> value = pick([](const Shape &) { return true; }))
        output(*value);
    }
  }

  void loadOperand() {
    if (!plain && below(3) == 0) {
      add([this, name = region('b').name](Task &task) { task.regions[name] = w; },
          "%v{0} = mono.load %w[0, 0] [32, 32] : {1}\n    mono.store %v{0}, %{2}[0, 0] : {1}",
          next++, tensorOf({32, 32}, "bf16"), region('b').name);
      stored.insert(region('b').name);
      return;
    }
    Value v = made({4, 64});
    add(
        [this, v](Task &task) {
          auto first = x.begin() + task.number * 256;
          task.values[v.number].assign(first, first + 256);
        },
        "%v{0} = mono.load %x[%t * 4, 0] [4, 64] : {1}", v.number, tensorOf(v.shape));
  }

  /// Half of a region: in other threads than when all of it is stored or loaded.
  void loadHalf(const Region &r) {
    int row = 2 * below(2);
    Value v = made({2, 64});
    add(
        [=](Task &task) {
          auto first = task.regions[r.name].begin() + row * 64;
          task.values[v.number].assign(first, first + 2 * 64);
        },
        "%v{0} = mono.load %{1}[{2}, 0] [2, 64] : {3}", v.number, r.name, row, tensorOf(v.shape));
  }

  void load(const Region &r) {
    if (plain && below(4))
      return loadHalf(r);
    bool narrow = r.element() == "bf16";
    Value v = made(r.shape);
    add([=](Task &task) { task.values[v.number] = task.regions[r.name]; },
        narrow ? "%n{0} = mono.load %{1}[0, 0] [{2:$[, ]}] : {4}\n"
                 "    %v{0} = arith.extf %n{0} : {4} to {5}"
               : "%v{0} = mono.load %{1}[{3}] [{2:$[, ]}] : {5}",
        v.number, r.name, llvm::make_range(v.shape.begin(), v.shape.end()),
        r.shape.size() == 1 ? "0" : "0, 0", tensorOf(r.shape, "bf16"), tensorOf(r.shape));
  }

  /// Stores a value that fits, all of the region or half its rows.
  void store(const Region &r) {
    bool narrow = r.element() == "bf16";
    std::optional<Value> v = pick([&](const Shape &shape) {
      return shape == r.shape || (r.shape.size() == 2 && shape[0] * 2 == r.shape[0] &&
                                  shape.size() == 2 && shape[1] == r.shape[1]);
    });
    if (!v)
      return;
    stored.insert(r.name);
    int row = v->shape[0] == r.shape[0] ? 0 : v->shape[0] * below(2);
    add(
        [=, number = v->number](Task &task) {
          const Numbers &from = task.values[number];
          std::copy(from.begin(), from.end(),
                    task.regions[r.name].begin() + row * (count(r.shape) / r.shape[0]));
        },
        narrow ? "%n{0} = arith.truncf %v{1} : {2} to {3}\n"
                 "    mono.store %n{0}, %{4}[{5}{6}] : {3}"
               : "mono.store %v{1}, %{4}[{5}{6}] : {2}",
        next++, v->number, tensorOf(v->shape), tensorOf(v->shape, "bf16"), r.name, row,
        r.shape.size() == 1 ? "" : ", 0");
  }

  /// The text that bounds %u<number> to %v<number>.
  static std::string boundedText(const Value &v) {
    return llvm::formatv("%h{0} = arith.constant dense<{1:f1}> : {2}\n"
                         "    %l{0} = arith.constant dense<-{1:f1}> : {2}\n"
                         "    %m{0} = arith.minimumf %u{0}, %h{0} : {2}\n"
                         "    %v{0} = arith.maximumf %m{0}, %l{0} : {2}",
                         v.number, kMost, tensorOf(v.shape));
  }

  void addUp() {
    std::optional<Value> p = pick([](const Shape &) { return true; });
    std::optional<Value> q = p ? pick(p->shape) : p;
    if (!q)
      return;
    Value v = made(p->shape);
    add(
        [=](Task &task) {
          Numbers sum = task.values[p->number];
          for (auto [s, other] : llvm::zip_equal(sum, task.values[q->number]))
            s = bounded(s + other);
          task.values[v.number] = sum;
        },
        "%u{0} = arith.addf %v{1}, %v{2} : {3}\n    {4}", v.number, p->number, q->number,
        tensorOf(v.shape), boundedText(v));
  }

  void gather() {
    if (idsOfStage < 0) {
      idsOfStage = next++;
      add([](Task &) {}, "%i{0} = mono.load %ids[0] [16] : tensor<16xi32>", idsOfStage);
    }
    auto rows = [this, source = region('B').name](Task &task) {
      Numbers result;
      for (int32_t id : ids)
        for (int column = 0; column < 4; ++column)
          result.push_back(id >= 0 && id < 64 ? task.regions[source][id * 4 + column] : 0);
      return result;
    };
    if (below(2)) {
      stored.insert(region('D').name);
      add([=, to = region('D').name](Task &task) { task.regions[to] = rows(task); },
          "mono.gather %{0} at %i{1} into %{2} : tensor<16xi32>", region('B').name, idsOfStage,
          region('D').name);
      return;
    }
    Value v = made({16, 4});
    add([=](Task &task) { task.values[v.number] = rows(task); },
        "%v{0} = mono.gather %{1} at %i{2} : tensor<16xi32> -> {3}", v.number, region('B').name,
        idsOfStage, tensorOf(v.shape));
  }

  void product() {
    bool byColumns = below(2);
    Value v{next++, {16, 32}};
    std::string a = region('a').name, b = region('b').name;
    add(
        [=](Task &task) {
          Numbers &left = task.regions[a], &right = task.regions[b], result;
          for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 32; ++column) {
              float sum = 0;
              for (int k = 0; k < 32; ++k)
                sum += left[row * 32 + k] * right[byColumns ? k * 32 + column : column * 32 + k];
              result.push_back(bounded(sum));
            }
          task.values[v.number] = result;
        },
        "%u{0} = mono.product %{1}[0, 0] [16, 32], %{2}[0, 0] [32, 32]{3} : {4}", v.number, a, b,
        byColumns ? " by_columns" : "", tensorOf(v.shape));
    makeLater(v, boundedText(v));
  }

  /// The indices of the largest of each row, in rising order; of equal ones the first are taken.
  static Numbers largest(const Numbers &keys, int columns, int k) {
    Numbers result;
    for (size_t row = 0; row < keys.size() / columns; ++row) {
      std::vector<int> order(columns);
      std::iota(order.begin(), order.end(), 0);
      llvm::sort(order, [&](int i, int j) {
        return std::pair(-keys[row * columns + i], i) < std::pair(-keys[row * columns + j], j);
      });
      order.resize(k);
      llvm::sort(order);
      for (int index : order)
        result.push_back(bounded(float(index)));
    }
    return result;
  }

  void select() {
    std::optional<Value> keys =
        pick([](const Shape &s) { return s == Shape{4, 64} || s == Shape{2, 128}; });
    if (!keys)
      return;
    int columns = keys->shape[1],
        k = columns == 64 ? 8 : 65; // more than 64: by the whole workgroup
    Value v{next++, {keys->shape[0], k}};
    add([=](Task &task) { task.values[v.number] = largest(task.values[keys->number], columns, k); },
        "%i{0} = mono.select top [{1}] of %v{2} : {3} -> {4}", v.number, k, keys->number,
        tensorOf(keys->shape), tensorOf(v.shape, "i32"));
    makeLater(v, llvm::formatv("%u{0} = arith.sitofp %i{0} : {1} to {2}\n    {3}", v.number,
                               tensorOf(v.shape, "i32"), tensorOf(v.shape), boundedText(v)));
  }

  void reduce() {
    std::optional<Value> from = pick([](const Shape &s) { return s.size() == 2; });
    if (!from)
      return;
    Value v{next++, {from->shape[0]}};
    add(
        [=](Task &task) {
          const Numbers &numbers = task.values[from->number];
          Numbers sums;
          for (auto row = numbers.begin(); row != numbers.end(); row += from->shape[1])
            sums.push_back(bounded(std::accumulate(row, row + from->shape[1], 0.0f)));
          task.values[v.number] = sums;
        },
        "%z{0} = arith.constant dense<0.0> : {2}\n"
        "    %u{0} = linalg.reduce {{ arith.addf } ins(%v{1} : {3}) outs(%z{0} : {2}) dimensions = "
        "[1]",
        v.number, from->number, tensorOf(v.shape), tensorOf(from->shape));
    makeLater(v, boundedText(v));
  }

  void broadcast() {
    std::optional<Value> from = pick(Shape{4});
    if (!from)
      return;
    Value v = made({4, 64});
    add(
        [=](Task &task) {
          Numbers result;
          for (float value : task.values[from->number])
            result.insert(result.end(), 64, value);
          task.values[v.number] = result;
        },
        "%e{0} = tensor.empty() : {2}\n"
        "    %v{0} = linalg.broadcast ins(%v{1} : {3}) outs(%e{0} : {2}) dimensions = [1]",
        v.number, from->number, tensorOf(v.shape), tensorOf(from->shape));
  }

  void transpose() {
    std::optional<Value> from = pick(Shape{4, 64});
    if (!from)
      return;
    Value v = made({64, 4});
    add(
        [=](Task &task) {
          Numbers result;
          for (int column = 0; column < 64; ++column)
            for (int row = 0; row < 4; ++row)
              result.push_back(task.values[from->number][row * 64 + column]);
          task.values[v.number] = result;
        },
        "%e{0} = tensor.empty() : {2}\n"
        "    %v{0} = linalg.transpose ins(%v{1} : {3}) outs(%e{0} : {2}) permutation = [1, 0]",
        v.number, from->number, tensorOf(v.shape), tensorOf(from->shape));
  }

  void output(const Value &v) {
    int number = int(outputSizes.size()), size = count(v.shape);
    Shape all = v.shape;
    all[0] *= stages.back().tasks;
    outputSizes.push_back(count(all));
    declarations += llvm::formatv("  %y{0} = mono.operand \"y{0}\" write [{1:$[, ]}] : f32\n",
                                  number, llvm::make_range(all.begin(), all.end()));
    add(
        [=, from = v.number](Task &task) {
          const Numbers &numbers = task.values[from];
          std::copy(numbers.begin(), numbers.end(),
                    task.results[number].begin() + task.number * size);
        },
        "mono.store %v{0}, %y{1}[%t * {2}{3}] : {4}", v.number, number, v.shape[0],
        v.shape.size() == 1 ? "" : ", 0", tensorOf(v.shape));
  }

  std::mt19937 random;
  bool plain; ///< loads and stores alone, of many regions: barriers are few, and far apart
  int ctas, threads;
  std::vector<int32_t> ids;
  Numbers x, w;
  std::string declarations;
  std::vector<Region> regions;  ///< of the half being made
  std::set<std::string> stored; ///< regions, in the stage being made
  /// Regions in which a task may have written over what nobody had read: what is in them is for no
  /// later stage (rule `regions`), which begins with something else there.
  std::set<std::string> lost;
  std::vector<Stage> stages;
  std::vector<int> outputSizes;
  std::vector<Value> values; ///< of the stage being made
  std::vector<std::pair<Value, std::string>> later;
  int idsOfStage = -1, next = 0;
};

/// Of the seeds that run always, 1 fails if the accesses pending at the start of a loop's task are
/// those after its first task, 339 if the accesses of one op are recorded one by one.
constexpr uint32_t kTelling = 339;

uint32_t firstSeed = 1, seeds = 16;

TEST(RandomBarriers, AreWhereTheyMustBe) {
  auto all = llvm::to_vector(llvm::seq(firstSeed, firstSeed + seeds));
  all.push_back(kTelling);
  for (uint32_t seed : all) {
    SCOPED_TRACE(testing::Message() << "--first=" << seed);
    RandomSchedule schedule(seed);
    emu::Options options;
    options.coherence = emu::Coherence::adversarial(seed);
    OneGpu gpu(schedule.text(), options);
    schedule.writeInputs(gpu);
    gpu.launch();
    for (auto [number, expected] : llvm::enumerate(schedule.results()))
      EXPECT_EQ(gpu.read<float>("y" + std::to_string(number), expected.size()), expected)
          << "result " << number;
    if (HasFailure()) {
      ADD_FAILURE() << schedule.text();
      return;
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (llvm::StringRef argument : llvm::drop_begin(llvm::ArrayRef(argv, argc)))
    if (bool known = argument.consume_front("--seeds=") ? !argument.getAsInteger(10, seeds)
                                                        : argument.consume_front("--first=") &&
                                                              !argument.getAsInteger(10, firstSeed);
        !known)
      return llvm::errs() << "expected --seeds=N or --first=SEED, but got " << argument << "\n", 1;
  return RUN_ALL_TESTS();
}

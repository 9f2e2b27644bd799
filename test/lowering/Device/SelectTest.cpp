// mono.select on the emulator against a sort.
#include "test/lowering/Device/OneGpu.h"

#include "fmt/format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

struct Shape {
  int candidates, k;
  int rows = 1;
  int threads = 512;
  bool taking = true;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.k << " of " << s.rows << "x" << s.candidates << " on " << s.threads;
}

using Row = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Keys of one kind.
struct Kind {
  const char *name;
  float (*key)(std::mt19937 &random);
};

float anyOf(std::mt19937 &random, std::initializer_list<float> values) {
  return values.begin()[random() % values.size()];
}

const Kind kKinds[] = {
    {"normal", [](std::mt19937 &random) { return std::normal_distribution<float>()(random); }},
    {"any bits", [](std::mt19937 &random) { return std::bit_cast<float>(uint32_t(random())); }},
    {"equal", [](std::mt19937 &) { return 0.5f; }},
    {"ties", [](std::mt19937 &random) { return anyOf(random, {-3, -2, 1, 1.5f, 7}); }},
    {"low bits",
     [](std::mt19937 &random) {
       return std::bit_cast<float>(uint32_t(0x3F800000 + random() % 300));
     }},
    {"masked",
     [](std::mt19937 &random) { return random() % 8 ? -kInfinity : float(random() % 9); }},
    {"all masked", [](std::mt19937 &) { return -kInfinity; }},
    {"special",
     [](std::mt19937 &random) {
       return anyOf(random,
                    {0.0f, -0.0f, 1e-40f, -1e-40f, 1e-45f, kInfinity, -kInfinity, kNan, -kNan,
                     std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()});
     }},
};

/// Whether a is a larger key than b: larger numbers, NaNs above all, +0 above -0. NaNs of one sign
/// compare by their bits.
bool isLarger(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) &&
           (!std::isnan(b) || std::bit_cast<uint32_t>(a) > std::bit_cast<uint32_t>(b));
  if (a == b)
    return std::signbit(b) && !std::signbit(a);
  return a > b;
}

std::vector<int32_t> topOf(const Row &keys, int k) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] != -kInfinity && !(std::isnan(keys[i]) && std::signbit(keys[i])))
      order.push_back(int32_t(i));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return isLarger(keys[a], keys[b]) || (!isLarger(keys[b], keys[a]) && a < b);
  });
  order.resize(std::min<size_t>(order.size(), k));
  std::sort(order.begin(), order.end());
  order.resize(k, -1);
  return order;
}

std::string schedule(const Shape &s) {
  std::string text = fmt::format(R"(mono.schedule @select target("gfx950") grid(1 x {4}) {{
  %key = mono.operand "key" read [{0}, {1}] : f32
  %payload = mono.operand "payload" read [{0}, {1}] : f32
  %ids = mono.operand "ids" write [{0}, {2}] : i32
  %values = mono.operand "values" write [{0}, {2}] : f32
  mono.stage "s" (%t) tasks [1] base [0] {{
    %k = mono.load %key[0, 0] [{0}, {1}] : tensor<{0}x{1}xf32>
    %p = mono.load %payload[0, 0] [{0}, {1}] : tensor<{0}x{1}xf32>
    %i, %v = mono.select top [{2}] of %k taking %p : tensor<{0}x{1}xf32> -> tensor<{0}x{2}xi32>, tensor<{0}x{2}xf32>
    mono.store %i, %ids[0, 0] : tensor<{0}x{2}xi32>
    mono.store %v, %values[0, 0] : tensor<{0}x{2}xf32>
  }}
}}
)",
                                 s.rows, s.candidates, s.k, 0, s.threads);
  if (s.taking)
    return text;
  // Without the payload: its lines go, and the result is one.
  auto drop = [&](const std::string &piece, const std::string &instead = "") {
    size_t at = text.find(piece);
    ASSERT_NE(at, std::string::npos) << piece;
    text.replace(at, piece.size(), instead);
  };
  auto dropLine = [&](const std::string &piece) {
    size_t at = text.find(piece), begin = text.rfind('\n', at), end = text.find('\n', at);
    text.erase(begin, end - begin);
  };
  dropLine("%payload =");
  dropLine("%values =");
  dropLine("%p =");
  dropLine("mono.store %v");
  drop("%i, %v", "%i");
  drop(" taking %p");
  drop(fmt::format(", tensor<{}x{}xf32>\n", s.rows, s.k), "\n");
  return text;
}

class Select : public testing::TestWithParam<Shape> {
protected:
  void expectNoSpills(const OneGpu &gpu) {
    for (const KernelResources &kernel : gpu.resources) {
      EXPECT_EQ(kernel.scratchBytes, 0);
      EXPECT_EQ(kernel.vgprSpills, 0);
      EXPECT_EQ(kernel.sgprSpills, 0);
    }
  }

  std::vector<float> keysOf(const Kind &kind) {
    Shape s = GetParam();
    std::mt19937 random(s.candidates * 31 + s.k);
    std::vector<float> keys(s.rows * s.candidates);
    for (float &key : keys)
      key = kind.key(random);
    return keys;
  }
};

TEST_P(Select, IsTheSort) {
  Shape s = GetParam();
  OneGpu gpu(schedule(s));
  expectNoSpills(gpu);
  // A payload that names its place.
  std::vector<float> payload(s.rows * s.candidates);
  std::iota(payload.begin(), payload.end(), 1.0f);
  if (s.taking)
    gpu.write("payload", payload);
  for (const Kind &kind : kKinds) {
    std::vector<float> keys = keysOf(kind);
    gpu.write("key", keys);
    gpu.launch();
    std::vector<int32_t> ids = gpu.read<int32_t>("ids", s.rows * s.k);
    std::vector<float> values;
    if (s.taking)
      values = gpu.read<float>("values", s.rows * s.k);
    for (int row = 0; row < s.rows; ++row) {
      auto begin = keys.begin() + row * s.candidates;
      std::vector<int32_t> expected = topOf(Row(begin, begin + s.candidates), s.k);
      std::vector<int32_t> got(ids.begin() + row * s.k, ids.begin() + (row + 1) * s.k);
      ASSERT_EQ(got, expected) << kind.name << ", row " << row;
      for (int i = 0; s.taking && i < s.k; ++i)
        ASSERT_EQ(values[row * s.k + i],
                  expected[i] < 0 ? 0.0f : payload[row * s.candidates + expected[i]])
            << kind.name << ", row " << row << ", place " << i;
    }
  }
}

/// Another order of wavefronts selects the same.
TEST_P(Select, IsTheSameOnAdversarialMemory) {
  Shape s = GetParam();
  for (uint64_t seed : {1, 2}) {
    emu::Options options;
    options.coherence = emu::Coherence::adversarial(seed);
    OneGpu gpu(schedule(s), options);
    std::vector<float> keys = keysOf(kKinds[3]);
    gpu.write("key", keys);
    if (s.taking)
      gpu.write("payload", keys);
    gpu.launch();
    std::vector<int32_t> ids = gpu.read<int32_t>("ids", s.rows * s.k);
    EXPECT_EQ(std::vector<int32_t>(ids.begin(), ids.begin() + s.k),
              topOf(Row(keys.begin(), keys.begin() + s.candidates), s.k));
  }
}

std::vector<Shape> oneRow() {
  std::vector<Shape> shapes;
  for (int candidates : {1, 63, 64, 65, 1000, 2048, 2049, 4096, 8192, 16384})
    for (int k : {1, 8, 64, 2048})
      shapes.push_back({candidates, k});
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(OneRow, Select, testing::ValuesIn(oneRow()));
INSTANTIATE_TEST_SUITE_P(Rows, Select,
                         testing::Values(Shape{256, 8, 5}, Shape{63, 7, 9, 64}, Shape{1000, 100, 3},
                                         Shape{2048, 8, 4}, Shape{1025, 65, 7, 1024},
                                         Shape{1100, 33, 2, 64}, Shape{4096, 4096, 2}));
INSTANTIATE_TEST_SUITE_P(IndicesAlone, Select,
                         testing::Values(Shape{256, 8, 4, 512, false},
                                         Shape{2048, 512, 2, 256, false},
                                         Shape{65536, 2048, 1, 512, false},
                                         Shape{32767, 4096, 1, 1024, false}));

} // namespace

// Layers for 4 and for 8 rows that take turns on one workspace, as a host application has them:
// what each gives is what it gives alone.
#include "mono/jit.h"
#include "test/mono/Schedules.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

using namespace mono::jit;
using namespace mono::test;
using testing::HasSubstr;

namespace {

using Bytes = std::vector<uint8_t>;

std::string failureOf(const Error &error) { return error.text(); }

Kernel layerKernel(int64_t rows) {
  CompileOptions options;
  options.parameters = {{"S", rows},        {"TP", 2},         {"CTX", 256},  {"PAGE", 16},
                        {"SPLITS", 2},      {"HIDDEN", 512},   {"HEADS", 16}, {"Q_LORA", 256},
                        {"KV_LORA", 128},   {"NOPE", 64},      {"ROPE", 32},  {"V_DIM", 64},
                        {"INDEX_HEADS", 8}, {"INDEX_DIM", 64}, {"TOPK", 64},  {"EXPERTS", 16},
                        {"MOE", 256},       {"CHOSEN", 4}};
  options.cacheDirectory = "";
  auto kernel = Kernel::compileFile(MONO_SOURCE_DIR "/models/glm5/layer.mlir", options);
  if (!kernel)
    ADD_FAILURE() << kernel.error().text();
  return std::move(*kernel);
}

/// Something finite for each element of an operand; row s is at position 7 s + 9, in pages of its
/// own.
Bytes contents(const mono_operand &operand) {
  std::mt19937 random(std::hash<std::string>()(operand.name));
  Bytes bytes(operand.bytes);
  auto setAll = [&](auto valueOf) {
    for (size_t i = 0; i < bytes.size() / sizeof(valueOf(i)); ++i) {
      auto value = valueOf(i);
      std::memcpy(&bytes[i * sizeof(value)], &value, sizeof(value));
    }
  };
  std::string name = operand.name;
  if (name == "positions")
    setAll([](size_t i) { return static_cast<int32_t>(7 * i + 9); });
  else if (name == "block_table")
    setAll([](size_t i) { return static_cast<int32_t>(i); });
  else if (operand.element == MONO_BF16) // in +-[2^-7, 2^-6)
    setAll([&](size_t) { return static_cast<uint16_t>(0x3C00 | (random() & 0x807F)); });
  else if (operand.element == MONO_F32)
    setAll([&](size_t) { return static_cast<float>(random() % 2048) / 1024 - 1; });
  else if (operand.element == MONO_FP4_E2M1)
    setAll([&](size_t) { return static_cast<uint8_t>(random()); });
  else if (operand.element == MONO_E8M0)
    setAll([](size_t) { return static_cast<uint8_t>(120); });
  return bytes;
}

/// A group with memory for its operands; what is written is kept apart.
class Layer {
public:
  Layer(const Kernel &kernel, Node &node, Group made) : node(node), group(std::move(made)) {
    for (uint32_t rank = 0; rank < kernel.info().ranks; ++rank)
      for (uint32_t i = 0; i < kernel.info().operand_count; ++i)
        provide(rank, kernel.operand(i));
  }
  ~Layer() {
    for (const Memory &memory : memories)
      EXPECT_EQ(failureOf(node.free(memory.rank, memory.address)), "");
  }

  /// What one launch writes, on all ranks.
  std::vector<Bytes> launch() {
    EXPECT_EQ(failureOf(group.launch()), "");
    EXPECT_EQ(failureOf(group.synchronize()), "");
    std::vector<Bytes> written;
    for (const Memory &memory : memories)
      if (memory.isWritten) {
        written.emplace_back(memory.bytes);
        EXPECT_EQ(failureOf(node.read(memory.rank, std::span(written.back()), memory.address)), "");
      }
    return written;
  }

private:
  struct Memory {
    uint32_t rank;
    void *address;
    uint64_t bytes;
    bool isWritten;
  };
  void provide(uint32_t rank, const mono_operand &operand) {
    Bytes bytes = contents(operand);
    // Operands of other formats have no elements, but an address.
    auto memory = node.allocate(rank, std::max<uint64_t>(operand.bytes, 16));
    ASSERT_TRUE(bool(memory)) << memory.error().text();
    memories.push_back({rank, *memory, operand.bytes, operand.access != MONO_READ});
    EXPECT_EQ(failureOf(node.write(rank, *memory, std::span<const uint8_t>(bytes))), "");
    EXPECT_EQ(failureOf(group.bind(rank, operand.name, *memory, operand.bytes)), "");
  }

  Node &node;
  Group group;
  std::vector<Memory> memories;
};

Node emulator() {
  auto node = Node::emulator(2);
  EXPECT_TRUE(bool(node)) << node.error().text();
  return std::move(*node);
}

TEST(SharedWorkspace, LayersOfFourAndEightRowsTakeTurns) {
  Kernel kernels[2] = {layerKernel(8), layerKernel(4)};
  std::vector<Bytes> alone[2];
  for (size_t i : {0, 1}) {
    Node node = emulator();
    alone[i] = Layer(kernels[i], node, std::move(*Group::create(kernels[i], node))).launch();
    // Not zeros everywhere.
    EXPECT_TRUE(std::ranges::any_of(alone[i].front(), [](uint8_t byte) { return byte != 0; }));
  }
  Node node = emulator();
  auto ofEight = Group::create(kernels[0], node);
  ASSERT_TRUE(bool(ofEight)) << ofEight.error().text();
  auto ofFour = Group::createSharing(kernels[1], *ofEight);
  ASSERT_TRUE(bool(ofFour)) << ofFour.error().text();
  Layer eight(kernels[0], node, std::move(*ofEight)), four(kernels[1], node, std::move(*ofFour));
  Layer *layers[2] = {&eight, &four};
  // Each in both slots, after itself and after the other.
  for (size_t i : {0, 1, 0, 0, 1, 1, 0, 1, 0})
    EXPECT_EQ(layers[i]->launch(), alone[i]) << i;
}

TEST(SharedWorkspace, MustBeLargeEnough) {
  Kernel four = layerKernel(4), eight = layerKernel(8);
  Node node = emulator();
  auto first = Group::create(four, node);
  ASSERT_TRUE(bool(first));
  auto second = Group::createSharing(eight, *first);
  ASSERT_FALSE(bool(second));
  EXPECT_EQ(second.error().status(), MONO_DEVICE_ERROR);
  EXPECT_THAT(second.error().text(),
              HasSubstr("make the group of the kernel that needs most first"));
}

TEST(SharedWorkspace, IsOfANodeWithARankADevice) {
  CompileOptions options;
  options.cacheDirectory = "";
  options.parameters = {{"ROWS", 4}};
  auto scale = Kernel::compileText(scaleSchedule(), options);
  ASSERT_TRUE(bool(scale)) << scale.error().text();
  Kernel four = layerKernel(4);
  Node node = emulator();
  auto first = Group::create(four, node);
  ASSERT_TRUE(bool(first));
  auto second = Group::createSharing(*scale, *first);
  ASSERT_FALSE(bool(second));
  EXPECT_EQ(second.error().text(),
            "kernel 'scale' was compiled for 1 ranks, but the node has 2 devices");
}

} // namespace

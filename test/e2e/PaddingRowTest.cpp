// Padding rows: decoder layers for fewer tokens than their kernel has rows. A row with a position
// that no token can have changes nothing for the other rows and nothing in the caches.
#include "lowering/Compile.h"
#include "test/e2e/TinyLayer.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mono;
using namespace mono::models;
using namespace mono::test;

namespace {

constexpr int32_t kRows = 4;

struct Layer {
  const char *name, *file; ///< below models/
  Params params;           ///< of kRows rows on one rank
};

void PrintTo(const Layer &layer, std::ostream *out) { *out << layer.name; }

/// A layer with grouped-query attention: contexts of 128 tokens in pages of 16.
Params tinyDecoder(const Params &own) {
  Params params = {{"S", kRows},    {"TP", 1},    {"CTX", 128},    {"PAGE", 16}, {"SPLITS", 2},
                   {"HIDDEN", 512}, {"HEADS", 8}, {"KV_HEADS", 2}, {"DIM", 64}};
  llvm::append_range(params, own);
  return params;
}

int64_t &param(Params &params, llvm::StringRef name) {
  return llvm::find_if(params, [&](const auto &known) { return known.first == name; })->second;
}

/// The same with one page a row.
Params contiguous(Params params) {
  param(params, "PAGE") = param(params, "CTX");
  return params;
}

/// Row `row` of a tensor of `rows` rows.
llvm::ArrayRef<uint8_t> rowOf(llvm::ArrayRef<uint8_t> tensor, size_t row, size_t rows = kRows) {
  size_t size = tensor.size() / rows;
  return tensor.slice(row * size, size);
}

class PaddingRow : public testing::TestWithParam<Layer> {
protected:
  void SetUp() override {
    CompileOptions options;
    options.params = GetParam().params;
    std::string file = std::string(MONO_SOURCE_DIR "/models/") + GetParam().file;
    auto compiled = compileFile(file, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    code = std::move(*compiled);
    auto read = readManifest(code);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    operands = read->operands;
    auto problem = findModelOfFile(file)->random(*read, /*seed=*/7);
    ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
    for (const Operand &operand : operands)
      if (operand.access != OperandAccess::Write)
        inputs[operand.name] = inputOf(**problem, operand);
  }

  /// Scales of experts that no row of the random case is near are NaN there; a padding row may be.
  static std::vector<uint8_t> inputOf(Problem &problem, const Operand &operand) {
    std::vector<uint8_t> bytes = problem.input(0, operand);
    if (llvm::StringRef(operand.name).ends_with("_scale"))
      std::replace(bytes.begin(), bytes.end(), uint8_t(0xFF), uint8_t(0x7F));
    return bytes;
  }

  RankOutputs launch() {
    auto node = EmulatorNode::create(1, {});
    EXPECT_TRUE(bool(node)) << llvm::toString(node.takeError());
    auto group = Group::create((*node)->devices(), code);
    EXPECT_TRUE(bool(group)) << llvm::toString(group.takeError());
    for (const Operand &operand : operands)
      if (operand.access != OperandAccess::Write)
        EXPECT_EQ(llvm::toString(writeRowMajor(*group, 0, operand, inputs[operand.name])), "");
    EXPECT_EQ(llvm::toString(group->launch()), "");
    auto outputs = readOutputs(*group);
    EXPECT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    return std::move(outputs->front());
  }

  int32_t &numberOf(const char *operand, size_t index) {
    return reinterpret_cast<int32_t *>(inputs[operand].data())[index];
  }

  /// The row of the caches where the token of a row with one goes.
  size_t placeOf(size_t row, size_t context, size_t page) {
    auto position = size_t(numberOf("positions", row));
    return size_t(numberOf("block_table", row * (context / page) + position / page)) * page +
           position % page;
  }

  std::vector<uint8_t> code;
  std::vector<Operand> operands;
  llvm::StringMap<std::vector<uint8_t>> inputs;
};

TEST_P(PaddingRow, ConcernsNobodyElse) {
  Params params = GetParam().params;
  auto context = int32_t(param(params, "CTX"));
  RankOutputs full = launch();
  // Rows 1 and 3 lose their tokens; their entries of the table name pages of rows 0 and 2.
  const size_t places[] = {placeOf(0, context, param(params, "PAGE")),
                           placeOf(2, context, param(params, "PAGE"))};
  for (size_t row : {1, 3}) {
    llvm::ArrayRef<uint8_t> others = rowOf(inputs["block_table"], row - 1);
    std::copy(others.begin(), others.end(), &inputs["block_table"][row * others.size()]);
  }
  for (auto [first, third] : {std::pair{-1, -1}, {context, 2 * context}, {INT32_MIN, INT32_MAX}}) {
    SCOPED_TRACE(testing::Message() << "positions " << first << " and " << third);
    numberOf("positions", 1) = first;
    numberOf("positions", 3) = third;
    RankOutputs padded = launch();
    for (const auto &entry : padded) {
      llvm::StringRef name = entry.first();
      SCOPED_TRACE(name.str());
      const HostTensor &output = entry.second;
      llvm::ArrayRef<uint8_t> before = full[name].bytes;
      if (name.starts_with("cache_")) {
        size_t rows = size_t(kRows * context);
        for (size_t row = 0; row < rows; ++row) {
          llvm::ArrayRef<uint8_t> expected = inputs[name];
          if (llvm::is_contained(places, row))
            expected = before;
          ASSERT_EQ(rowOf(output.bytes, row, rows), rowOf(expected, row, rows))
              << "cache row " << row;
        }
        continue;
      }
      for (size_t row : {0, 2})
        EXPECT_EQ(rowOf(output.bytes, row), rowOf(before, row)) << "row " << row;
      EXPECT_TRUE(llvm::all_of(output.values(), [](double value) { return std::isfinite(value); }));
    }
    // Attention to nothing adds nothing.
    for (size_t row : {1, 3})
      EXPECT_EQ(rowOf(padded["attn_residual"].bytes, row), rowOf(inputs["x"], row));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, PaddingRow,
    testing::Values(
        Layer{"Glm5Paged", "glm5/layer.mlir", tinyLayer(kRows, /*ranks=*/1)},
        Layer{"Glm5Contiguous", "glm5/layer.mlir", contiguous(tinyLayer(kRows, /*ranks=*/1))},
        Layer{"Llama3", "llama3/layer.mlir", tinyDecoder({{"MLP", 2048}})},
        Layer{"Llama3Contiguous", "llama3/layer.mlir", contiguous(tinyDecoder({{"MLP", 2048}}))},
        Layer{"Qwen3Moe", "qwen3_moe/layer.mlir",
              tinyDecoder({{"EXPERTS", 16}, {"MOE", 256}, {"CHOSEN", 4}})}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace

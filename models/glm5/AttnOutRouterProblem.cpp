// Operand checks, the reference and the judgement of attn_out_router.
#include "models/glm5/AttnOutRouterProblem.h"
#include "models/BFloat16.h"
#include "models/Compare.h"
#include "models/Matmul.h"
#include "models/Operands.h"
#include "models/glm5/AttnOutRouter.h"

#include <cstring>

using namespace llvm;

namespace mono::models::glm5 {

/// Stores the dimensions of an operand, of which there must be as many as `out` has places.
static Error readDimensions(const Manifest &manifest, StringRef name, ArrayRef<size_t *> out) {
  Expected<const Operand *> operand = manifest.findOperand(name);
  if (!operand)
    return operand.takeError();
  const Shape &shape = (*operand)->type.shape;
  if (shape.size() != out.size())
    return makeError("operand '{}': expected {} dimensions, but got {}", name, out.size(),
                     formatShape(shape));
  for (size_t i = 0; i < out.size(); ++i)
    *out[i] = static_cast<size_t>(shape[i]);
  return Error::success();
}

static Expected<AttnOutRouterSizes> readSizes(const Manifest &manifest) {
  AttnOutRouterSizes sizes = {};
  if (Error error = readDimensions(manifest, "h", {&sizes.rows, &sizes.inner}))
    return error;
  if (Error error = readDimensions(manifest, "x", {&sizes.rows, &sizes.hidden}))
    return error;
  if (Error error = readDimensions(manifest, "topk_ids", {&sizes.rows, &sizes.chosen}))
    return error;
  if (Error error = readDimensions(manifest, "bias", {&sizes.experts}))
    return error;
  sizes.ranks = manifest.ranks;
  sizes.inner *= sizes.ranks;
  return sizes;
}

Expected<AttnOutRouterSizes> checkAttnOutRouter(const Manifest &manifest) {
  Expected<AttnOutRouterSizes> sizes = readSizes(manifest);
  if (!sizes)
    return sizes;
  auto dim = [](size_t size) { return static_cast<int64_t>(size); };
  int64_t rows = dim(sizes->rows), hidden = dim(sizes->hidden), inner = dim(sizes->innerPerRank()),
          experts = dim(sizes->experts), chosen = dim(sizes->chosen);
  struct Row {
    StringRef name;
    OperandAccess access;
    Shape shape;
    ElementType element;
  };
  const Row expected[] = {
      {"h", OperandAccess::Read, {rows, inner}, ElementType::BF16},
      {"w_o", OperandAccess::Read, {hidden, inner}, ElementType::BF16},
      {"x", OperandAccess::Read, {rows, hidden}, ElementType::BF16},
      {"w_post", OperandAccess::Read, {hidden}, ElementType::BF16},
      {"w_gate", OperandAccess::Read, {experts, hidden}, ElementType::BF16},
      {"bias", OperandAccess::Read, {experts}, ElementType::F32},
      {"attn_residual", OperandAccess::Write, {rows, hidden}, ElementType::BF16},
      {"router_logits", OperandAccess::Write, {rows, experts}, ElementType::F32},
      {"topk_ids", OperandAccess::Write, {rows, chosen}, ElementType::I32},
      {"topk_weights", OperandAccess::Write, {rows, chosen}, ElementType::F32},
  };
  if (manifest.operands.size() != std::size(expected))
    return makeError("expected {} operands, but got {}", std::size(expected),
                     manifest.operands.size());
  for (const Row &row : expected)
    if (Error error = checkOperand(manifest, row.name, row.access, row.shape, row.element))
      return error;
  return sizes;
}

std::vector<double> attnResidual(ArrayRef<uint16_t> h, ArrayRef<uint16_t> outProj,
                                 ArrayRef<uint16_t> x, size_t rows) {
  std::vector<double> sum = multiplyTransposed(toDouble(h), rows, outProj);
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += toFloat(x[i]);
  return sum;
}

/// Columns [first, first + count) of a row-major matrix of `width` columns.
static void copyColumns(ArrayRef<uint16_t> matrix, size_t width, size_t first, size_t count,
                        MutableArrayRef<uint8_t> out) {
  size_t rows = matrix.size() / width, rowBytes = count * sizeof(uint16_t);
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(&out[row * rowBytes], &matrix[row * width + first], rowBytes);
}

AttnOutRouterResults attnOutRouterReference(const AttnOutRouterSizes &sizes,
                                            const AttnOutRouterInputs &inputs) {
  AttnOutRouterResults results;
  results.attnResidual = attnResidual(inputs.h, inputs.outProj, inputs.x, sizes.rows);
  results.routing = route(results.attnResidual, sizes.rows, inputs.normWeight, inputs.gate,
                          inputs.bias, sizes.chosen);
  return results;
}

namespace {

class AttnOutRouterProblem : public Problem {
public:
  AttnOutRouterProblem(const AttnOutRouterSizes &sizes, AttnOutRouterInputs inputs,
                       std::optional<AttnOutRouterResults> golden)
      : sizes(sizes), inputs(std::move(inputs)), expected(std::move(golden)) {}

  void fill(unsigned rank, const Operand &operand, size_t /*slice*/,
            MutableArrayRef<uint8_t> out) override {
    size_t share = sizes.innerPerRank();
    if (operand.name == "h")
      return copyColumns(inputs.h, sizes.inner, rank * share, share, out);
    if (operand.name == "w_o")
      return copyColumns(inputs.outProj, sizes.inner, rank * share, share, out);
    copy(replicated(operand.name), out.begin());
  }

  void check(ArrayRef<RankOutputs> outputs, Report &report) override {
    if (!expected)
      expected = attnOutRouterReference(sizes, inputs);
    const RankOutputs &first = outputs.front();
    report.atMost(
        "attn_residual",
        maxRelativeL2(first.lookup("attn_residual").values(), expected->attnResidual, sizes.rows),
        tolerance);
    checkRouting(first, expected->routing, inputs.bias, report);
    checkRanksEqual(outputs, report);
  }

private:
  /// What every rank gets whole.
  ArrayRef<uint8_t> replicated(StringRef operand) const {
    if (operand == "x")
      return bytesOf<uint16_t>(inputs.x);
    if (operand == "w_post")
      return bytesOf<uint16_t>(inputs.normWeight);
    if (operand == "w_gate")
      return bytesOf<uint16_t>(inputs.gate);
    return bytesOf<float>(inputs.bias);
  }

  AttnOutRouterSizes sizes;
  AttnOutRouterInputs inputs;
  std::optional<AttnOutRouterResults> expected;
};

} // namespace

std::unique_ptr<Problem> makeAttnOutRouterProblem(const AttnOutRouterSizes &sizes,
                                                  AttnOutRouterInputs inputs,
                                                  std::optional<AttnOutRouterResults> expected) {
  return std::make_unique<AttnOutRouterProblem>(sizes, std::move(inputs), std::move(expected));
}

} // namespace mono::models::glm5

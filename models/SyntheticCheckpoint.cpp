// Which generator makes which tensor.
#include "models/SyntheticCheckpoint.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"

#include <cassert>
#include <cmath>

using namespace llvm;

namespace mono::models {

namespace {
/// center + scale * u.
struct Spread {
  double scale, center;
};
} // namespace

/// u is uniform in [-1, 1) and has variance 1/3; weights of scale g sqrt(3 / n) over n inputs of
/// variance 1 give outputs of variance g^2.
static Spread spreadOf(const CheckpointTensor &tensor) {
  StringRef name = tensor.name;
  if (name.ends_with("norm.weight"))
    return {0.25, 1};
  if (name.ends_with("norm.bias"))
    return {0.1, 0};
  if (name.ends_with("e_score_correction_bias"))
    return {0.05, 10};
  double gain = 1;
  if (name.ends_with(".q_b_proj.weight") || name.ends_with(".kv_b_proj.weight"))
    gain = 2;
  else if (name.ends_with(".o_proj.weight"))
    gain = 4;
  else if (name.ends_with(".gate.weight"))
    gain = 1.5;
  return {gain * std::sqrt(3.0 / static_cast<double>(tensor.columns())), 0};
}

/// Mean square of a uniform E2M1 code is 8.5625; of a uniform scale 2^base .. 2^(base + 3), it is
/// 21.25 * 4^base. `inputs` products of both with inputs of variance 1 sum to variance 1.
static uint8_t expertBase(size_t inputs) {
  double meanSquare = 8.5625 * 21.25 * static_cast<double>(inputs);
  return static_cast<uint8_t>(std::lround(127 - std::log2(meanSquare) / 2));
}

SyntheticParams syntheticParams(size_t hidden, size_t units, uint64_t seed) {
  SyntheticParams params;
  params.seed = seed;
  params.inBase = expertBase(hidden);
  params.downBase = expertBase(units);
  return params;
}

void SyntheticCheckpoint::readBytes(const CheckpointTensor &tensor, uint64_t offset,
                                    MutableArrayRef<uint8_t> out) const {
  HashTensor words(tensor.name, params.seed);
  StringRef name = tensor.name;
  if (name.ends_with(".weight"))
    return words.mxfp4(out, offset);
  words.e8m0(name.ends_with(".down_proj.weight_scale") ? params.downBase : params.inBase, out,
             offset);
}

template <typename T> static MutableArrayRef<T> as(MutableArrayRef<uint8_t> bytes) {
  assert(bytes.size() % sizeof(T) == 0);
  return {reinterpret_cast<T *>(bytes.data()), bytes.size() / sizeof(T)};
}

void SyntheticCheckpoint::read(const CheckpointTensor &tensor, uint64_t offset,
                               MutableArrayRef<uint8_t> out) const {
  generate(tensor, offset, out);
  if (edit)
    edit(tensor, offset, out);
}

void SyntheticCheckpoint::generate(const CheckpointTensor &tensor, uint64_t offset,
                                   MutableArrayRef<uint8_t> out) const {
  if (tensor.dtype == DType::U8)
    return readBytes(tensor, offset, out);
  HashTensor words(tensor.name, params.seed);
  Spread spread = spreadOf(tensor);
  float scale = static_cast<float>(spread.scale), center = static_cast<float>(spread.center);
  uint64_t first = offset / dtypeBytes(tensor.dtype);
  if (tensor.dtype == DType::BF16)
    return words.real(scale, center, as<uint16_t>(out), first);
  MutableArrayRef<float> values = as<float>(out);
  words.f32(scale, center, values, first);
  // The index key's norm has bf16 values kept in f32; the routing bias is true f32.
  if (StringRef(tensor.name).contains("k_norm"))
    for (float &value : values)
      value = toFloat(toBf16(value));
}

} // namespace mono::models

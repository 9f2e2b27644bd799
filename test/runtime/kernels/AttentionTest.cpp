// Flash attention kernels against attention in double precision.
#include "test/runtime/kernels/device/Device.h"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/SmallFloats.h"
#include "test/runtime/kernels/Values.h"

using namespace mono::emu::test;

namespace {

class Attention : public KernelSuite {};
INSTANTIATE_KERNELS(Attention, "O0", "O3");

constexpr u32 headSize = 64, queries = 16, keys = 96;
constexpr f32 scale = 0.125f;

/// Softmax(scale Q K^T) V, row-major.
std::vector<f64> attentionOf(const std::vector<f64> &q, const std::vector<f64> &k,
                             const std::vector<f64> &v) {
  std::vector<f64> out(queries * headSize);
  for (u32 i = 0; i < queries; ++i) {
    f64 total = 0;
    for (u32 j = 0; j < keys; ++j) {
      f64 score = 0;
      for (u32 d = 0; d < headSize; ++d)
        score += q[i * headSize + d] * k[j * headSize + d];
      f64 weight = std::exp(score * scale);
      total += weight;
      for (u32 d = 0; d < headSize; ++d)
        out[i * headSize + d] += weight * v[j * headSize + d];
    }
    for (u32 d = 0; d < headSize; ++d)
      out[i * headSize + d] /= total;
  }
  return out;
}

/// Values of magnitude up to `limit` as elements, and what the elements are worth.
template <typename T, typename Encode, typename Decode>
std::vector<T> elements(size_t count, uint32_t seed, f64 limit, std::vector<f64> &worth,
                        Encode encode, Decode decode) {
  std::vector<T> coded;
  for (f64 value : randomReals<f64>(count, seed, -limit, limit)) {
    coded.push_back(encode(value));
    worth.push_back(decode(coded.back()));
  }
  return coded;
}

/// `weightError` is the relative rounding of a probability; values are at most 1 in magnitude, so
/// the weighted mean is off by no more than about that.
template <typename T, typename Encode, typename Decode>
void runAttention(const char *optimization, const char *kernel, f64 weightError, Encode encode,
                  Decode decode) {
  Differential run("Attention", optimization);
  std::vector<f64> q, k, v;
  auto dq = run.input(elements<T>(queries * headSize, 81, 2, q, encode, decode));
  auto dk = run.input(elements<T>(keys * headSize, 82, 2, k, encode, decode));
  auto dv = run.input(elements<T>(keys * headSize, 83, 1, v, encode, decode));
  auto out = run.output<f32>(queries * headSize);
  ASSERT_EQ(run.device(kernel, {}, dq, dk, dv, out, keys, scale), "");
  std::vector<f64> expected = attentionOf(q, k, v);
  std::vector<f32> got = run.read(out);
  for (size_t n = 0; n < got.size(); ++n)
    EXPECT_NEAR(got[n], expected[n], weightError) << n;
}

TEST_P(Attention, Bf16) {
  runAttention<bf16>(
      GetParam(), "attentionBf16", 0x1p-8, [](f64 v) { return bf16(f32(v)); },
      [](bf16 v) { return f64(f32(v)); });
}

// Probabilities below 2^-9 / 2 of the greatest vanish: at most 96 of them, 2^-10 each.
TEST_P(Attention, Fp8) {
  runAttention<u8>(
      GetParam(), "attentionFp8", 0x1p-4, [](f64 v) { return u8(fp8.nearest(v)); },
      [](u8 code) { return fp8.decode(code); });
}

} // namespace

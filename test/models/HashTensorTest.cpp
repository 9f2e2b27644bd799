// The generator against published splitmix64 outputs and the checks stored in the golden files.
#include "models/HashTensor.h"
#include "models/BFloat16.h"
#include "runtime/Json.h"
#include "runtime/Safetensors.h"

#include <gtest/gtest.h>

#include <limits>

using namespace mono;
using namespace mono::models;

namespace {

/// With the key at zero the words are splitmix64 seeded with zero, whose outputs are published.
/// FNV-1a of no bytes is its offset basis, and the multiplier of the seed is odd and so has an
/// inverse.
TEST(HashTensor, WordsAreSplitmix64) {
  constexpr uint64_t gamma = 0x9E3779B97F4A7C15, basis = 0xCBF29CE484222325;
  uint64_t inverse = gamma;
  for (int i = 0; i < 6; ++i)
    inverse *= 2 - gamma * inverse;
  HashTensor words("", basis * inverse);
  EXPECT_EQ(words.word(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(words.word(1), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(words.word(2), 0x06C45D188009454Fu);
}

class GoldenChecks : public testing::TestWithParam<const char *> {};

TEST_P(GoldenChecks, FirstElementsAgree) {
  auto file = SafetensorsFile::open(std::string(MONO_TEST_DATA) + "/" + GetParam());
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  uint64_t seed = 0;
  ASSERT_FALSE(file->metadata("seed")->getAsInteger(10, seed));
  // The keys leave out what all names of a layer begin with.
  std::string prefix = "model.layers." + file->metadata("layer")->str() + ".";
  auto checks = parseJsonObject(*file->metadata("checks"), "checks");
  ASSERT_TRUE(bool(checks));
  ASSERT_FALSE(checks->empty());
  for (const auto &[name, values] : *checks) {
    std::vector<uint16_t> made(values.getAsArray()->size());
    ASSERT_EQ(made.size(), 4u);
    HashTensor(prefix + name.str(), seed).real(1, 0, made);
    for (size_t i = 0; i < made.size(); ++i)
      EXPECT_EQ(toFloat(made[i]), *(*values.getAsArray())[i].getAsNumber()) << name.str() << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenChecks,
                         testing::Values("glm5_full_s4.safetensors", "glm5_full_s8.safetensors",
                                         "glm5_tiny_s4.safetensors", "glm5_tiny_s8.safetensors"));

TEST(HashTensor, KindsFollowTheirFormulas) {
  HashTensor tensor("some.weight", 3);
  constexpr size_t count = 70000; // more than one piece of the parallel loop
  std::vector<uint16_t> real(count);
  std::vector<float> f32(count);
  std::vector<uint8_t> nibbles(count), scales(count);
  tensor.real(0.5f, 1.0f, real);
  tensor.f32(0.05f, 10.0f, f32);
  tensor.mxfp4(nibbles);
  tensor.e8m0(117, scales);
  for (size_t i = 0; i < count; ++i) {
    uint64_t word = tensor.word(i);
    double unit = static_cast<double>(word >> 40) / (1 << 23) - 1;
    ASSERT_EQ(real[i], toBf16(static_cast<float>(1 + 0.5 * unit))) << i;
    // Product and sum each round once in f32.
    volatile float product = 0.05f * static_cast<float>(unit);
    ASSERT_EQ(f32[i], 10.0f + product) << i;
    ASSERT_EQ(nibbles[i], word >> 56) << i;
    ASSERT_EQ(scales[i], 117 + (word >> 62)) << i;
  }
}

TEST(HashTensor, StartsAnywhere) {
  HashTensor tensor("w", 1);
  std::vector<uint16_t> whole(100), part(40);
  tensor.real(1, 0, whole);
  tensor.real(1, 0, part, 60);
  EXPECT_EQ(part, std::vector<uint16_t>(whole.begin() + 60, whole.end()));
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3F80);
  EXPECT_EQ(toBf16(1.0f + 0x1p-8f), 0x3F80);            // tie, even below
  EXPECT_EQ(toBf16(1.0f + 3 * 0x1p-8f), 0x3F82);        // tie, even above
  EXPECT_EQ(toBf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3F81); // past the tie
  EXPECT_EQ(toBf16(-1.0f - 3 * 0x1p-8f), 0xBF82);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::infinity()), 0x7F80);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7FC0);
  for (unsigned code = 0; code < 0x7F80; ++code)
    ASSERT_EQ(toBf16(toFloat(static_cast<uint16_t>(code))), code);
}

} // namespace

// Packing against the element formula of docs/manifest.md.
#include "runtime/Layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace mono;

namespace {

/// A [rows, columns] matrix whose element i is i, so that every element is told apart.
std::vector<uint16_t> numbered(size_t count) {
  std::vector<uint16_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

llvm::ArrayRef<uint8_t> bytesOf(const std::vector<uint16_t> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * 2};
}

TEST(Layout, MfmaRowsFollowsTheFormula) {
  constexpr size_t rows = 48, columns = 96;
  TensorType type{{rows, columns}, ElementType::BF16, Layout::MfmaRows16};
  std::vector<uint16_t> matrix = numbered(rows * columns), packed(rows * columns);
  llvm::MutableArrayRef<uint8_t> out(reinterpret_cast<uint8_t *>(packed.data()), packed.size() * 2);
  ASSERT_FALSE(bool(pack(type, bytesOf(matrix), out)));
  for (size_t n = 0; n < rows; ++n)
    for (size_t k = 0; k < columns; ++k) {
      size_t at = ((n / 16 * (columns / 32) + k / 32) * 4 + k / 8 % 4) * 128 + n % 16 * 8 + k % 8;
      EXPECT_EQ(packed[at], matrix[n * columns + k]) << n << ", " << k;
    }
}

/// One tile is one A operand of v_mfma_f32_16x16x32_bf16: lane i + 16 (k / 8) holds A[i, k] as its
/// half k % 8 (CDNA4 ISA 7.1.4), and lane l loads the 16 bytes at 16 l.
TEST(Layout, ATileIsAnMfmaOperand) {
  TensorType type{{16, 32}, ElementType::BF16, Layout::MfmaRows16};
  std::vector<uint16_t> matrix = numbered(512), packed(512);
  ASSERT_FALSE(bool(pack(type, bytesOf(matrix),
                         {reinterpret_cast<uint8_t *>(packed.data()), packed.size() * 2})));
  for (size_t lane = 0; lane < 64; ++lane)
    for (size_t half = 0; half < 8; ++half) {
      size_t i = lane % 16, k = lane / 16 * 8 + half;
      EXPECT_EQ(packed[lane * 8 + half], matrix[i * 32 + k]);
    }
}

/// Two tiles of codes are the A operand of v_mfma_f32_16x16x128_f8f6f4: lane i + 16 ((k / 16) % 4)
/// holds A[i, k] as its byte 16 (k / 64) + k % 16 (CDNA4 ISA 7.1.5), so 16 bytes of each tile.
TEST(Layout, TwoTilesOfCodesAreAnMfmaOperand) {
  TensorType type{{16, 128}, ElementType::FP8E4M3, Layout::MfmaRows16};
  std::vector<uint8_t> matrix(2048), packed(2048);
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = static_cast<uint8_t>(i * 37 + i / 256);
  ASSERT_FALSE(bool(pack(type, matrix, packed)));
  for (size_t i = 0; i < 16; ++i)
    for (size_t k = 0; k < 128; ++k) {
      size_t lane = i + 16 * (k / 16 % 4), byte = 16 * (k / 64) + k % 16;
      EXPECT_EQ(packed[byte / 16 * 1024 + lane * 16 + byte % 16], matrix[i * 128 + k]);
    }
}

TEST(Layout, UnpackUndoesPack) {
  for (Layout layout : {Layout::RowMajor, Layout::MfmaRows16}) {
    TensorType type{{32, 160}, ElementType::BF16, layout};
    std::vector<uint16_t> matrix = numbered(32 * 160);
    std::vector<uint8_t> packed(type.bytes()), back(type.bytes());
    ASSERT_FALSE(bool(pack(type, bytesOf(matrix), packed)));
    ASSERT_FALSE(bool(unpack(type, packed, back)));
    EXPECT_EQ(llvm::ArrayRef<uint8_t>(back), bytesOf(matrix));
    EXPECT_EQ(packed == back, layout == Layout::RowMajor);
  }
}

TEST(Layout, Fp4IsPackedTwoAByte) {
  TensorType type{{3, 64}, ElementType::FP4E2M1, Layout::RowMajor};
  EXPECT_EQ(type.bytes(), 96u);
  EXPECT_EQ(type.describe(), "f4E2M1FN [3, 64], row_major");
  EXPECT_EQ((TensorType{{3, 2}, ElementType::E8M0, Layout::RowMajor}.bytes()), 6u);
  type.shape = {4, 3};
  EXPECT_EQ(llvm::toString(type.check()), "element type f4E2M1FN is packed two a byte: expected an "
                                          "even last dimension, but got [4, 3]");
}

TEST(Layout, ElementNamesRoundTrip) {
  for (ElementType element : {ElementType::BF16, ElementType::F32, ElementType::I32,
                              ElementType::FP4E2M1, ElementType::E8M0, ElementType::FP8E4M3})
    EXPECT_EQ(parseElementType(elementName(element)).get(), element);
  EXPECT_EQ(llvm::toString(parseElementType("f64").takeError()),
            "expected element type bf16, f32, i32, f4E2M1FN, f8E8M0FNU or f8E4M3FN, but got 'f64'");
}

TEST(Layout, NamesRoundTrip) {
  for (Layout layout : {Layout::RowMajor, Layout::MfmaRows16})
    EXPECT_EQ(parseLayout(layoutName(layout)).get(), layout);
  EXPECT_EQ(llvm::toString(parseLayout("mfma_rows<32>").takeError()),
            "expected layout row_major or mfma_rows<16>, but got 'mfma_rows<32>'");
}

TEST(Layout, SizesAreChecked) {
  TensorType type{{16, 32}, ElementType::BF16, Layout::MfmaRows16};
  std::vector<uint8_t> right(1024), wrong(1000);
  EXPECT_EQ(llvm::toString(pack(type, wrong, right)),
            "expected 1024 bytes (bf16 [16, 32], mfma_rows<16>), but got 1000");
  EXPECT_EQ(llvm::toString(unpack(type, right, wrong)),
            "expected 1024 bytes (bf16 [16, 32], mfma_rows<16>), but got 1000");
}

TEST(Layout, ShapesAreChecked) {
  auto fault = [](Shape shape, ElementType element, Layout layout) {
    return llvm::toString(TensorType{shape, element, layout}.check());
  };
  EXPECT_EQ(fault({16, 32}, ElementType::BF16, Layout::MfmaRows16), "");
  EXPECT_EQ(fault({8, 32}, ElementType::BF16, Layout::MfmaRows16),
            "layout mfma_rows<16>: expected a bf16 shape [..., N, K] with N a multiple of 16 and K "
            "a multiple of 32, but got [8, 32]");
  EXPECT_NE(fault({16, 48}, ElementType::BF16, Layout::MfmaRows16), "");
  EXPECT_NE(fault({16}, ElementType::BF16, Layout::MfmaRows16), "");
  EXPECT_NE(fault({16, 32}, ElementType::F32, Layout::MfmaRows16), "");
  EXPECT_EQ(fault({16, 64}, ElementType::FP8E4M3, Layout::MfmaRows16), "");
  EXPECT_NE(fault({16, 32}, ElementType::FP8E4M3, Layout::MfmaRows16), "");
  EXPECT_EQ(fault({16, 6}, ElementType::E8M0, Layout::MfmaRows16), "");
  EXPECT_NE(fault({16, 5}, ElementType::E8M0, Layout::MfmaRows16), "");
  EXPECT_EQ(fault({0}, ElementType::F32, Layout::RowMajor),
            "expected positive dimensions, but got shape [0]");
  EXPECT_EQ(fault({3, 5, 7}, ElementType::F32, Layout::RowMajor), "");
}

} // namespace

// The blocked product against the plain triple loop.
#include "models/Matmul.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mono::models;

namespace {

struct Sizes {
  size_t rows, inner, columns;
};

class Matmul : public testing::TestWithParam<Sizes> {};

TEST_P(Matmul, IsTheTripleLoop) {
  auto [rows, inner, columns] = GetParam();
  std::vector<uint16_t> a(rows * inner), w(columns * inner);
  HashTensor("a", 1).real(1, 0, a);
  HashTensor("w", 1).real(1, 0, w);
  std::vector<double> out = multiplyTransposed(toDouble(a), rows, w);
  ASSERT_EQ(out.size(), rows * columns);
  EXPECT_EQ(multiplyTransposed(toDouble(a), rows, llvm::ArrayRef<double>(toDouble(w))), out);
  for (size_t s = 0; s < rows; ++s)
    for (size_t n = 0; n < columns; ++n) {
      long double sum = 0;
      for (size_t k = 0; k < inner; ++k)
        sum += static_cast<long double>(toFloat(a[s * inner + k])) * toFloat(w[n * inner + k]);
      EXPECT_NEAR(out[s * columns + n], static_cast<double>(sum), 1e-12 * inner);
    }
}

// Below, at and above the lanes, tiles and blocks of the implementation.
INSTANTIATE_TEST_SUITE_P(Shapes, Matmul,
                         testing::Values(Sizes{3, 1, 5}, Sizes{3, 7, 5}, Sizes{3, 8, 5},
                                         Sizes{3, 9, 5}, Sizes{3, 512, 5}, Sizes{3, 513, 5},
                                         Sizes{3, 1200, 5}, Sizes{4, 24, 4}, Sizes{9, 24, 130},
                                         Sizes{67, 17, 66}));

} // namespace

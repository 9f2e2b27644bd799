// The blocked product against the plain triple loop.
#include "models/Matmul.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mono::models;

namespace {

class Matmul : public testing::TestWithParam<size_t> {};

TEST_P(Matmul, IsTheTripleLoop) {
  size_t rows = 3, inner = GetParam(), columns = 5;
  std::vector<uint16_t> a(rows * inner), w(columns * inner);
  HashTensor("a", 1).real(1, 0, a);
  HashTensor("w", 1).real(1, 0, w);
  std::vector<double> out = multiplyTransposed(toDouble(a), rows, w);
  ASSERT_EQ(out.size(), rows * columns);
  for (size_t s = 0; s < rows; ++s)
    for (size_t n = 0; n < columns; ++n) {
      long double sum = 0;
      for (size_t k = 0; k < inner; ++k)
        sum += static_cast<long double>(toFloat(a[s * inner + k])) * toFloat(w[n * inner + k]);
      EXPECT_NEAR(out[s * columns + n], static_cast<double>(sum), 1e-12 * inner);
    }
}

// Below, at and above the lanes and the block of the implementation.
INSTANTIATE_TEST_SUITE_P(Inner, Matmul, testing::Values(1, 15, 16, 17, 512, 513, 1200));

} // namespace

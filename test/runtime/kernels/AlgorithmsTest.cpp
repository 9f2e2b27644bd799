// Whole small programs of compiled kernels against the same source on the host, and against what
// the program is for.
#include "test/runtime/kernels/device/Algorithms.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

#include <complex>
#include <numeric>

using namespace mono::emu::test;

namespace {

class Algorithms : public KernelSuite {};
INSTANTIATE_KERNELS(Algorithms, "O0", "O3");

TEST_P(Algorithms, Transpose) {
  Differential run("Algorithms", GetParam());
  const u32 rows = 75, columns = 101;
  std::vector<f32> values(rows * columns);
  std::iota(values.begin(), values.end(), 0.5f);
  auto in = run.input(values);
  auto out = run.output<f32>(rows * columns);
  run.both(TWIN(transpose), {.grid = {4, 3, 1}, .block = {32, 8, 1}}, in, out, rows, columns);
  run.expectSame(out);
  EXPECT_EQ(run.read(out)[40 * rows + 70], values[70 * columns + 40]);
}

TEST_P(Algorithms, Stencil) {
  Differential run("Algorithms", GetParam());
  const u32 width = 45, height = 37;
  auto in = run.input(randomReals<f32>(width * height, 51));
  auto out = run.output<f32>(width * height);
  run.both(TWIN(stencil), {.grid = {3, 3, 1}, .block = {16, 16, 1}}, in, out, width, height);
  run.expectSame(out);
}

TEST_P(Algorithms, Mandelbrot) {
  Differential run("Algorithms", GetParam());
  auto out = run.output<u32>(48 * 32);
  run.both(TWIN(mandelbrot), {.grid = {6, 1, 1}, .block = {256, 1, 1}}, out, 48u, 32u, 100u);
  run.expectSame(out);
}

// Body is aggregate of four floats; compared as such.
TEST_P(Algorithms, NBody) {
  Differential run("Algorithms", GetParam());
  const u32 n = 128;
  std::vector<f32> numbers = randomReals<f32>(4 * n, 52);
  std::vector<Body> bodies(n);
  std::memcpy(bodies.data(), numbers.data(), n * sizeof(Body));
  auto in = run.input(bodies);
  auto out = run.output<Body>(n);
  run.both(TWIN(nBody), {.grid = {n / 64, 1, 1}}, in, out, n);
  std::vector<Body> got = run.read(out);
  EXPECT_EQ(std::memcmp(got.data(), out.host.data(), n * sizeof(Body)), 0);
}

TEST_P(Algorithms, InvertMatrix) {
  Differential run("Algorithms", GetParam());
  const u32 size = 16, matrices = 2;
  auto in = run.input(randomReals<f64>(matrices * size * size, 53));
  auto out = run.output<f64>(matrices * size * size);
  run.both(TWIN(invertMatrix), {.grid = {matrices, 1, 1}, .block = {size, 1, 1}}, in, out);
  run.expectSame(out);
  std::vector<f64> inverse = run.read(out);
  for (u32 i = 0; i < size; ++i)
    for (u32 j = 0; j < size; ++j) {
      f64 sum = 0;
      for (u32 k = 0; k < size; ++k)
        sum += in.host[i * size + k] * inverse[k * size + j];
      EXPECT_NEAR(sum, i == j, 1e-10);
    }
}

TEST_P(Algorithms, Fft) {
  Differential run("Algorithms", GetParam());
  const u32 n = 256;
  std::vector<f32> cosines(n / 2), sines(n / 2);
  for (u32 k = 0; k < n / 2; ++k) {
    cosines[k] = f32(std::cos(2 * M_PI * k / n));
    sines[k] = f32(std::sin(2 * M_PI * k / n));
  }
  auto re = run.input(randomReals<f32>(n, 54)), im = run.input(randomReals<f32>(n, 55));
  auto c = run.input(cosines), s = run.input(sines);
  auto outRe = run.output<f32>(n), outIm = run.output<f32>(n);
  run.both(TWIN(fft), {.block = {n / 2, 1, 1}}, re, im, c, s, outRe, outIm);
  run.expectSame(outRe, "re");
  run.expectSame(outIm, "im");
  for (u32 k = 0; k < n; k += 37) {
    std::complex<f64> sum = 0;
    for (u32 j = 0; j < n; ++j)
      sum += std::complex<f64>(re.host[j], im.host[j]) *
             std::polar(1.0, -2 * M_PI * f64(j * k % n) / n);
    EXPECT_NEAR(outRe.host[k], sum.real(), 1e-4);
    EXPECT_NEAR(outIm.host[k], sum.imag(), 1e-4);
  }
}

TEST_P(Algorithms, StringSearch) {
  Differential run("Algorithms", GetParam());
  std::string text, word = "abab";
  for (u32 value : randomIntegers<u32>(3000, 56))
    text += value % 2 ? 'a' : 'b';
  auto in = run.input(std::vector<u8>(text.begin(), text.end()));
  auto pattern = run.input(std::vector<u8>(word.begin(), word.end()));
  auto out = run.output<u8>(text.size());
  run.both(TWIN(stringSearch), {.grid = {12, 1, 1}, .block = {256, 1, 1}}, in, u32(text.size()),
           pattern, u32(word.size()), out);
  run.expectSame(out);
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  std::vector<u8> matches = run.read(out);
  EXPECT_EQ(size_t(std::count(matches.begin(), matches.end(), 1)), found);
}

TEST_P(Algorithms, GemmNaiveAndTiled) {
  Differential run("Algorithms", GetParam());
  const u32 m = 45, n = 50, k = 70;
  auto a = run.input(randomReals<f32>(m * k, 57)), b = run.input(randomReals<f32>(k * n, 58));
  auto naive = run.output<f32>(m * n), tiled = run.output<f32>(m * n);
  run.both(TWIN(gemmNaive), {.grid = {9, 1, 1}, .block = {256, 1, 1}}, a, b, naive, m, n, k);
  run.both(TWIN(gemmTiled), {.grid = {4, 3, 1}, .block = {16, 16, 1}}, a, b, tiled, m, n, k);
  run.expectSame(naive, "naive");
  run.expectSame(tiled, "tiled");
  EXPECT_EQ(run.read(naive), run.read(tiled)) << "both add in the order of k";
}

TEST_P(Algorithms, LayerNorm) {
  Differential run("Algorithms", GetParam());
  const u32 rows = 5, columns = 700;
  auto in = run.input(randomReals<f32>(rows * columns, 59, -3, 5));
  auto gain = run.input(randomReals<f32>(columns, 60)),
       shift = run.input(randomReals<f32>(columns, 61));
  auto out = run.output<f32>(rows * columns);
  run.both(TWIN(layerNorm), {.grid = {rows, 1, 1}, .block = {128, 1, 1}}, in, gain, shift, out,
           columns);
  run.expectSame(out);
}

TEST_P(Algorithms, Softmax) {
  Differential run("Algorithms", GetParam());
  const u32 rows = 6, columns = 333;
  auto in = run.input(randomReals<f32>(rows * columns, 62, -20, 20));
  auto out = run.output<f32>(rows * columns);
  ASSERT_EQ(run.device("softmax", {.grid = {rows, 1, 1}}, in, out, columns), "");
  std::vector<f32> got = run.read(out);
  for (u32 row = 0; row < rows; ++row) {
    const f32 *x = &in.host[row * columns];
    f64 greatest = *std::max_element(x, x + columns), sum = 0;
    for (u32 n = 0; n < columns; ++n)
      sum += std::exp(x[n] - greatest);
    for (u32 n = 0; n < columns; ++n) {
      f64 expected = std::exp(x[n] - greatest) / sum;
      // expf 3 ulp, the sum of 333 terms in six shuffles and five adds a lane, one division; the
      // difference to the maximum is rounded before the exponential: 40 * 2^-24 relative.
      EXPECT_NEAR(got[row * columns + n], expected, expected * 5e-6) << row << ", " << n;
    }
  }
}

} // namespace

// Every matrix instruction of gfx950 as a small GEMM against sums in double. Elements are small
// integers, so that every order of additions gives the same exact result.
#include "test/runtime/kernels/device/Device.h"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/MatrixLayout.h"
#include "test/runtime/kernels/SmallFloats.h"
#include "test/runtime/kernels/Values.h"

#include <string>

using namespace mono::emu::test;

namespace {

enum class Element { F64, F32, F16, Bf16, I8, Fp8, Bf8 };

unsigned bitsOf(Element e) {
  switch (e) {
  case Element::F64:
    return 64;
  case Element::F32:
    return 32;
  case Element::F16:
  case Element::Bf16:
    return 16;
  default:
    return 8;
  }
}

/// Bits of a small integer as an element.
uint64_t encode(Element e, f64 value) {
  switch (e) {
  case Element::F64:
    return std::bit_cast<u64>(value);
  case Element::F32:
    return std::bit_cast<u32>(f32(value));
  case Element::F16:
    return std::bit_cast<u16>(f16(value));
  case Element::Bf16:
    return std::bit_cast<u16>(bf16(f32(value)));
  case Element::I8:
    return u8(i8(value));
  case Element::Fp8:
    return fp8.nearest(value);
  case Element::Bf8:
    return bf8.nearest(value);
  }
  return 0;
}

/// The registers of 64 lanes for `steps` instructions, as the kernels of Mfma.hip read them.
class Registers {
public:
  Registers(unsigned steps, unsigned itemsPerLane, unsigned itemBits)
      : itemsPerLane(itemsPerLane), bytes(itemBits / 8),
        data(size_t(steps) * 64 * itemsPerLane * bytes) {}
  void set(unsigned step, Place place, uint64_t value) {
    std::memcpy(&data[at(step, place)], &value, bytes);
  }
  size_t at(unsigned step, Place place) const {
    return ((size_t(step) * 64 + place.lane) * itemsPerLane + place.item) * bytes;
  }
  unsigned itemsPerLane, bytes;
  std::vector<u8> data;
};

struct Instruction {
  const char *name;
  MatrixShape shape;
  Element a, b;
  bool sparse = false;
};

const Instruction instructions[] = {
    {"f32_32x32x1f32", {32, 32, 1, 2}, Element::F32, Element::F32},
    {"f32_16x16x1f32", {16, 16, 1, 4}, Element::F32, Element::F32},
    {"f32_4x4x1f32", {4, 4, 1, 16}, Element::F32, Element::F32},
    {"f32_32x32x2f32", {32, 32, 2}, Element::F32, Element::F32},
    {"f32_16x16x4f32", {16, 16, 4}, Element::F32, Element::F32},
    {"f32_32x32x4f16", {32, 32, 4, 2}, Element::F16, Element::F16},
    {"f32_16x16x4f16", {16, 16, 4, 4}, Element::F16, Element::F16},
    {"f32_4x4x4f16", {4, 4, 4, 16}, Element::F16, Element::F16},
    {"f32_32x32x8f16", {32, 32, 8}, Element::F16, Element::F16},
    {"f32_16x16x16f16", {16, 16, 16}, Element::F16, Element::F16},
    {"f32_32x32x16_f16", {32, 32, 16}, Element::F16, Element::F16},
    {"f32_16x16x32_f16", {16, 16, 32}, Element::F16, Element::F16},
    {"f32_32x32x4bf16_1k", {32, 32, 4, 2}, Element::Bf16, Element::Bf16},
    {"f32_16x16x4bf16_1k", {16, 16, 4, 4}, Element::Bf16, Element::Bf16},
    {"f32_4x4x4bf16_1k", {4, 4, 4, 16}, Element::Bf16, Element::Bf16},
    {"f32_32x32x8bf16_1k", {32, 32, 8}, Element::Bf16, Element::Bf16},
    {"f32_16x16x16bf16_1k", {16, 16, 16}, Element::Bf16, Element::Bf16},
    {"f32_32x32x16_bf16", {32, 32, 16}, Element::Bf16, Element::Bf16},
    {"f32_16x16x32_bf16", {16, 16, 32}, Element::Bf16, Element::Bf16},
    {"i32_32x32x4i8", {32, 32, 4, 2}, Element::I8, Element::I8},
    {"i32_16x16x4i8", {16, 16, 4, 4}, Element::I8, Element::I8},
    {"i32_4x4x4i8", {4, 4, 4, 16}, Element::I8, Element::I8},
    {"i32_32x32x16_i8", {32, 32, 16}, Element::I8, Element::I8},
    {"i32_16x16x32_i8", {16, 16, 32}, Element::I8, Element::I8},
    {"i32_32x32x32_i8", {32, 32, 32}, Element::I8, Element::I8},
    {"i32_16x16x64_i8", {16, 16, 64}, Element::I8, Element::I8},
    {"f32_16x16x32_fp8_fp8", {16, 16, 32}, Element::Fp8, Element::Fp8},
    {"f32_16x16x32_fp8_bf8", {16, 16, 32}, Element::Fp8, Element::Bf8},
    {"f32_16x16x32_bf8_fp8", {16, 16, 32}, Element::Bf8, Element::Fp8},
    {"f32_16x16x32_bf8_bf8", {16, 16, 32}, Element::Bf8, Element::Bf8},
    {"f32_32x32x16_fp8_fp8", {32, 32, 16}, Element::Fp8, Element::Fp8},
    {"f32_32x32x16_fp8_bf8", {32, 32, 16}, Element::Fp8, Element::Bf8},
    {"f32_32x32x16_bf8_fp8", {32, 32, 16}, Element::Bf8, Element::Fp8},
    {"f32_32x32x16_bf8_bf8", {32, 32, 16}, Element::Bf8, Element::Bf8},
    {"f64_16x16x4f64", {16, 16, 4}, Element::F64, Element::F64},
    {"f64_4x4x4f64", {4, 4, 4, 4}, Element::F64, Element::F64},
    {"f32_16x16x32_f16", {16, 16, 32}, Element::F16, Element::F16, true},
    {"f32_32x32x16_f16", {32, 32, 16}, Element::F16, Element::F16, true},
    {"f32_16x16x32_bf16", {16, 16, 32}, Element::Bf16, Element::Bf16, true},
    {"f32_32x32x16_bf16", {32, 32, 16}, Element::Bf16, Element::Bf16, true},
    {"f32_16x16x64_f16", {16, 16, 64}, Element::F16, Element::F16, true},
    {"f32_32x32x32_f16", {32, 32, 32}, Element::F16, Element::F16, true},
    {"f32_16x16x64_bf16", {16, 16, 64}, Element::Bf16, Element::Bf16, true},
    {"f32_32x32x32_bf16", {32, 32, 32}, Element::Bf16, Element::Bf16, true},
    {"i32_16x16x64_i8", {16, 16, 64}, Element::I8, Element::I8, true},
    {"i32_32x32x32_i8", {32, 32, 32}, Element::I8, Element::I8, true},
    {"i32_16x16x128_i8", {16, 16, 128}, Element::I8, Element::I8, true},
    {"i32_32x32x64_i8", {32, 32, 64}, Element::I8, Element::I8, true},
    {"f32_16x16x64_fp8_fp8", {16, 16, 64}, Element::Fp8, Element::Fp8, true},
    {"f32_16x16x64_fp8_bf8", {16, 16, 64}, Element::Fp8, Element::Bf8, true},
    {"f32_16x16x64_bf8_fp8", {16, 16, 64}, Element::Bf8, Element::Fp8, true},
    {"f32_16x16x64_bf8_bf8", {16, 16, 64}, Element::Bf8, Element::Bf8, true},
    {"f32_32x32x32_fp8_fp8", {32, 32, 32}, Element::Fp8, Element::Fp8, true},
    {"f32_32x32x32_fp8_bf8", {32, 32, 32}, Element::Fp8, Element::Bf8, true},
    {"f32_32x32x32_bf8_fp8", {32, 32, 32}, Element::Bf8, Element::Fp8, true},
    {"f32_32x32x32_bf8_bf8", {32, 32, 32}, Element::Bf8, Element::Bf8, true},
    {"f32_16x16x128_fp8_fp8", {16, 16, 128}, Element::Fp8, Element::Fp8, true},
    {"f32_16x16x128_fp8_bf8", {16, 16, 128}, Element::Fp8, Element::Bf8, true},
    {"f32_16x16x128_bf8_fp8", {16, 16, 128}, Element::Bf8, Element::Fp8, true},
    {"f32_16x16x128_bf8_bf8", {16, 16, 128}, Element::Bf8, Element::Bf8, true},
    {"f32_32x32x64_fp8_fp8", {32, 32, 64}, Element::Fp8, Element::Fp8, true},
    {"f32_32x32x64_fp8_bf8", {32, 32, 64}, Element::Fp8, Element::Bf8, true},
    {"f32_32x32x64_bf8_fp8", {32, 32, 64}, Element::Bf8, Element::Fp8, true},
    {"f32_32x32x64_bf8_bf8", {32, 32, 64}, Element::Bf8, Element::Bf8, true},
};

constexpr unsigned steps = 3;

/// One GEMM in the making: D = C + A B over `steps` instructions, for each block.
class Gemm {
public:
  explicit Gemm(const Instruction &inst)
      : inst(inst), s(inst.shape), resultBits(inst.a == Element::F64 ? 64 : 32),
        height(inst.a == Element::F64 ? 1 : 4),
        a(steps, itemsOf(s.m) / (inst.sparse ? 2 : 1), bitsOf(inst.a)),
        b(steps, itemsOf(s.n), bitsOf(inst.b)), c(1, s.m * s.n * s.blocks / 64, resultBits),
        index(steps, 1, 32), expected(s.blocks * s.m * s.n) {
    fillResult();
    for (unsigned step = 0; step < steps; ++step)
      for (unsigned block = 0; block < s.blocks; ++block)
        fillStep(step, block);
  }

  void runAndCompare(Differential &run) {
    auto da = run.input(a.data), db = run.input(b.data), dc = run.input(c.data);
    std::string error;
    if (inst.sparse) {
      auto di = run.input(index.data);
      error = run.device(std::string("smfmac_") + inst.name, {}, da, db, dc, di, steps);
    } else {
      error = run.device(std::string("mfma_") + inst.name, {}, da, db, dc, steps);
    }
    ASSERT_EQ(error, "") << inst.name;
    compare(run.read(dc));
  }

private:
  unsigned itemsOf(unsigned rows) const { return s.k * rows * s.blocks / 64; }
  /// -4 .. 4, exact in every format; never 0, so that a lost element shows.
  f64 small() {
    int v = int(random() % 8) - 4;
    return v >= 0 ? v + 1 : v;
  }
  bool isInteger() const { return inst.a == Element::I8; }

  void fillResult() {
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned j = 0; j < s.n; ++j) {
          f64 value = expectedAt(block, i, j) = small() * 100;
          c.set(0, resultPlace(s, height, block, i, j),
                isInteger() ? u32(i32(value))
                            : encode(resultBits == 64 ? Element::F64 : Element::F32, value));
        }
  }

  /// Random A (dense, or two of every four k) and B of one instruction, added to the expectation.
  void fillStep(unsigned step, unsigned block) {
    std::vector<f64> denseA(s.m * s.k), denseB(s.k * s.n);
    for (unsigned i = 0; i < s.m; ++i)
      inst.sparse ? fillSparseRow(step, i, &denseA[i * s.k])
                  : fillDenseRow(step, block, i, &denseA[i * s.k]);
    for (unsigned k = 0; k < s.k; ++k)
      for (unsigned j = 0; j < s.n; ++j) {
        f64 value = denseB[k * s.n + j] = small();
        b.set(step, operandPlace(s, s.n, block, j, k), encode(inst.b, value));
      }
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.n; ++j)
        for (unsigned k = 0; k < s.k; ++k)
          expectedAt(block, i, j) += denseA[i * s.k + k] * denseB[k * s.n + j];
  }

  void fillDenseRow(unsigned step, unsigned block, unsigned i, f64 *row) {
    for (unsigned k = 0; k < s.k; ++k) {
      row[k] = small();
      a.set(step, operandPlace(s, s.m, block, i, k), encode(inst.a, row[k]));
    }
  }

  /// Of every four k two distinct ones are stored, in order; their positions go to the index
  /// register of the same lane, two bits a stored element (CDNA4 ISA 7.4).
  void fillSparseRow(unsigned step, unsigned i, f64 *row) {
    MatrixShape stored = s;
    stored.k /= 2;
    for (unsigned group = 0; group < s.k / 4; ++group) {
      unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
      unsigned n = 2 * group;
      for (unsigned k : {first, second}) {
        row[4 * group + k] = small();
        Place place = operandPlace(stored, s.m, 0, i, n++);
        a.set(step, place, encode(inst.a, row[4 * group + k]));
        u32 bits;
        std::memcpy(&bits, &index.data[index.at(step, {place.lane, 0})], 4);
        index.set(step, {place.lane, 0}, bits | k << 2 * place.item);
      }
    }
  }

  void compare(const std::vector<u8> &got) {
    unsigned wrong = 0;
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned j = 0; j < s.n; ++j) {
          f64 value = decodeResult(&got[c.at(0, resultPlace(s, height, block, i, j))]);
          if (value != expectedAt(block, i, j) && ++wrong <= 3)
            ADD_FAILURE() << inst.name << " block " << block << " [" << i << ", " << j
                          << "]: expected " << expectedAt(block, i, j) << ", but got " << value;
        }
    EXPECT_EQ(wrong, 0u) << inst.name;
  }

  f64 decodeResult(const u8 *bytes) const {
    u64 bits = 0;
    std::memcpy(&bits, bytes, resultBits / 8);
    if (isInteger())
      return i32(u32(bits));
    return resultBits == 64 ? std::bit_cast<f64>(bits) : f64(std::bit_cast<f32>(u32(bits)));
  }

  f64 &expectedAt(unsigned block, unsigned i, unsigned j) {
    return expected[(block * s.m + i) * s.n + j];
  }

  const Instruction &inst;
  MatrixShape s;
  unsigned resultBits, height;
  std::mt19937 random{91};
  Registers a, b, c, index;
  std::vector<f64> expected;
};

TEST(Mfma, EveryDenseAndSparseInstruction) {
  Differential run("Mfma", "O3");
  for (const Instruction &inst : instructions)
    Gemm(inst).runAndCompare(run);
}

// ---- f8f6f4 with scales -------------------------------------------------------------------------

const SmallFloat formats[] = {fp8, bf8, fp6, bf6, fp4};

/// The operand of one side: codes and scales of `steps` instructions, and the exact values.
struct ScaledOperand {
  ScaledOperand(unsigned rows, unsigned k, unsigned formatCode, unsigned scaleByte, uint32_t seed)
      : words(steps * 64 * 8), scales(steps * 64), values(steps * rows * k) {
    const SmallFloat &format = formats[formatCode];
    std::mt19937 random(seed);
    for (u32 &scale : scales)
      scale = u32(random()); // the other bytes must not matter
    for (unsigned step = 0; step < steps; ++step)
      for (unsigned i = 0; i < rows; ++i)
        for (unsigned kk = 0; kk < k; ++kk) {
          u32 &scale = scales[step * 64 + scaleLane(rows, i, kk)];
          if (kk % 32 == 0) // a block of 32 begins: 2^-3 .. 2^3
            scale = (scale & ~(0xffu << 8 * scaleByte)) | (124 + random() % 7) << 8 * scaleByte;
          // Any finite code of magnitude up to 4: products and sums stay exact in f32.
          unsigned code = format.nearest(f64(int(random() % 17) - 8) / 2);
          Place place = f8f6f4Place(rows, format.bits(), i, kk);
          setItem(&words[(step * 64 + place.lane) * 8], place.item, format.bits(), code);
          values[(step * rows + i) * k + kk] =
              format.decode(code) * std::ldexp(1.0, int(scale >> 8 * scaleByte & 0xff) - 127);
        }
  }
  std::vector<u32> words, scales;
  std::vector<f64> values;
};

void runScaled(Differential &run, const char *kernel, MatrixShape s, unsigned formatA,
               unsigned formatB) {
  ScaledOperand a(s.m, s.k, formatA, formatA % 4, 100 + formatA);
  ScaledOperand b(s.n, s.k, formatB, (formatB + 1) % 4, 200 + formatB);
  auto da = run.input(a.words), db = run.input(b.words);
  auto sa = run.input(a.scales), sb = run.input(b.scales);
  auto dc = run.input(std::vector<f32>(s.m * s.n, 0.5f));
  ASSERT_EQ(run.device(kernel, {}, formatA, formatB, da, db, sa, sb, dc, steps), "");
  std::vector<f32> got = run.read(dc);
  for (unsigned i = 0; i < s.m; ++i)
    for (unsigned j = 0; j < s.n; ++j) {
      f64 sum = 0.5;
      for (unsigned step = 0; step < steps; ++step)
        for (unsigned k = 0; k < s.k; ++k)
          sum += a.values[(step * s.m + i) * s.k + k] * b.values[(step * s.n + j) * s.k + k];
      Place place = resultPlace(s, 4, 0, i, j);
      ASSERT_EQ(got[place.lane * s.m * s.n / 64 + place.item], sum)
          << kernel << " formats " << formatA << ", " << formatB << " [" << i << ", " << j << "]";
    }
}

TEST(Mfma, ScaledEveryPairOfFormats) {
  Differential run("Mfma", "O3");
  for (unsigned formatA = 0; formatA < 5; ++formatA)
    for (unsigned formatB = 0; formatB < 5; ++formatB) {
      runScaled(run, "scaled_16x16x128", {16, 16, 128}, formatA, formatB);
      runScaled(run, "scaled_32x32x64", {32, 32, 64}, formatA, formatB);
    }
}

// ---- reals --------------------------------------------------------------------------------------

// Random reals have no exact sum: any order of f32 additions stays within K roundings of the sum of
// magnitudes.
TEST(Mfma, RandomRealsWithinRounding) {
  Differential run("Mfma", "O3");
  const MatrixShape s = {16, 16, 32};
  auto values = randomReals<f32>(2 * 16 * 32, 92);
  Registers a(1, 8, 16), b(1, 8, 16);
  std::vector<f64> va(16 * 32), vb(16 * 32);
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned k = 0; k < 32; ++k) {
      bf16 x(values[i * 32 + k]), y(values[512 + i * 32 + k]);
      va[i * 32 + k] = f32(x);
      vb[i * 32 + k] = f32(y);
      a.set(0, operandPlace(s, 16, 0, i, k), std::bit_cast<u16>(x));
      b.set(0, operandPlace(s, 16, 0, i, k), std::bit_cast<u16>(y));
    }
  auto da = run.input(a.data), db = run.input(b.data);
  auto dc = run.input(std::vector<f32>(256));
  ASSERT_EQ(run.device("mfma_f32_16x16x32_bf16", {}, da, db, dc, 1u), "");
  std::vector<f32> got = run.read(dc);
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      f64 sum = 0, magnitude = 0;
      for (unsigned k = 0; k < 32; ++k) {
        sum += va[i * 32 + k] * vb[j * 32 + k];
        magnitude += std::abs(va[i * 32 + k] * vb[j * 32 + k]);
      }
      Place place = resultPlace(s, 4, 0, i, j);
      EXPECT_NEAR(got[place.lane * 4 + place.item], sum, magnitude * 32 * 0x1p-24);
    }
}

} // namespace

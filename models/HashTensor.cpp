// FNV-1a for the name, the splitmix64 finaliser for the elements.
#include "models/HashTensor.h"
#include "models/BFloat16.h"

#include "llvm/Support/Parallel.h"

using namespace llvm;

// The definition rounds the product before the sum, so no fused multiply-add.
#pragma STDC FP_CONTRACT OFF

namespace mono::models {

static constexpr uint64_t gamma = 0x9E3779B97F4A7C15;

static uint64_t fnv1a64(StringRef text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (unsigned char byte : text.bytes())
    hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

HashTensor::HashTensor(StringRef name, uint64_t seed) : key(fnv1a64(name) ^ (seed * gamma)) {}

uint64_t HashTensor::word(uint64_t index) const {
  uint64_t z = key + (index + 1) * gamma;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// out[i] = make(word(start + i)), in pieces on all cores.
template <typename T, typename Make>
static void generate(const HashTensor &words, MutableArrayRef<T> out, uint64_t start, Make make) {
  constexpr size_t piece = 1 << 16;
  auto generatePiece = [&](size_t index) {
    size_t begin = index * piece, end = std::min(out.size(), begin + piece);
    for (size_t i = begin; i < end; ++i)
      out[i] = make(words.word(start + i));
  };
  if (out.size() <= piece)
    generatePiece(0); // tensors read in small pieces pay for no thread
  else
    parallelFor(0, divideCeil(out.size(), piece), generatePiece);
}

/// In [-1, 1): the upper 24 bits, exact in f32.
static float unit(uint64_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 40)) * 0x1p-23f - 1.0f;
}

void HashTensor::real(float scale, float center, MutableArrayRef<uint16_t> out,
                      uint64_t start) const {
  generate(*this, out, start, [=](uint64_t word) { return toBf16(center + scale * unit(word)); });
}

void HashTensor::f32(float scale, float center, MutableArrayRef<float> out, uint64_t start) const {
  generate(*this, out, start, [=](uint64_t word) { return center + scale * unit(word); });
}

void HashTensor::mxfp4(MutableArrayRef<uint8_t> out, uint64_t start) const {
  generate(*this, out, start, [](uint64_t word) { return static_cast<uint8_t>(word >> 56); });
}

void HashTensor::e8m0(uint8_t base, MutableArrayRef<uint8_t> out, uint64_t start) const {
  generate(*this, out, start,
           [=](uint64_t word) { return static_cast<uint8_t>(base + (word >> 62)); });
}

} // namespace mono::models

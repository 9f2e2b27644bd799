// Synthetic tensors that are a function of their name and a seed, so that any language rebuilds the
// inputs of a golden case bit by bit (test/data/README.md has the formulas).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mono::models {

/// The 64-bit words of tensor `name` under `seed`; element i of a tensor is made from word(i).
class HashTensor {
public:
  HashTensor(llvm::StringRef name, uint64_t seed);

  uint64_t word(uint64_t index) const;

  /// out[i] = bf16(center + scale * u) for elements start, start + 1, ..., u uniform in [-1, 1)
  /// with 24 bits; products and sums in f32, as the definition has them.
  void real(float scale, float center, llvm::MutableArrayRef<uint16_t> out,
            uint64_t start = 0) const;
  /// The same without the rounding to bf16.
  void f32(float scale, float center, llvm::MutableArrayRef<float> out, uint64_t start = 0) const;
  /// Two E2M1 values a byte, the even element in the low nibble.
  void mxfp4(llvm::MutableArrayRef<uint8_t> out, uint64_t start = 0) const;
  /// E8M0 scales in [base, base + 3]. Scales of tensor T belong to the tensor T + "_scale".
  void e8m0(uint8_t base, llvm::MutableArrayRef<uint8_t> out, uint64_t start = 0) const;

private:
  uint64_t key;
};

} // namespace mono::models

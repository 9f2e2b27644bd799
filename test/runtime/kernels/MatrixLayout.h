// Where a matrix instruction wants its elements, written from the formulas of CDNA4 ISA 7.1.4 and
// 7.1.5 as positions in the 64 lanes' registers seen as one memory.
#pragma once

#include <cstdint>

namespace mono::emu::test {

struct MatrixShape {
  unsigned m, n, k, blocks = 1;
};

/// Place of an element: lane, and item of the element's width within the lane.
struct Place {
  unsigned lane, item;
};

/// A[i, k] of block b, or B[k, i]: `rows` is M or N (7.1.4).
inline Place operandPlace(MatrixShape s, unsigned rows, unsigned b, unsigned i, unsigned k) {
  unsigned perLane = s.k / (64 / (rows * s.blocks)); // K_L
  return {i + rows * (b + s.blocks * (k / perLane)), k % perLane};
}

/// C[i, j] or D[i, j] of block b; H consecutive rows share a lane: 4, for doubles 1 (7.1.4).
inline Place resultPlace(MatrixShape s, unsigned height, unsigned b, unsigned i, unsigned j) {
  unsigned spread = s.n * s.m / height;
  unsigned blocksAcross = (64 + spread - 1) / spread; // B_I
  unsigned rowsAcross = 64 / blocksAcross / s.n;      // M_I
  unsigned groups = s.m / (height * rowsAcross);      // G
  return {j + s.n * (i / height % rowsAcross + rowsAcross * (b % blocksAcross)),
          i % height + height * (i / (height * rowsAcross) + groups * (b / blocksAcross))};
}

/// A[i, k] or B[k, i] of the f8f6f4 instructions (7.1.5): 8-bit elements come in two halves of K,
/// 16 a lane in each; narrower ones are contiguous, 32 a lane. `rows` is 16 (K = 128) or 32 (K =
/// 64).
inline Place f8f6f4Place(unsigned rows, unsigned bits, unsigned i, unsigned k) {
  unsigned lanesAlongK = 64 / rows;
  if (bits != 8)
    return {i + rows * (k / 32), k % 32};
  return {i + rows * (k / 16 % lanesAlongK), 16 * (k / (16 * lanesAlongK)) + k % 16};
}

/// Lane whose scale register belongs to row i (or column i) and the block of 32 that holds k (7.2).
inline unsigned scaleLane(unsigned rows, unsigned i, unsigned k) { return i + rows * (k / 32); }

} // namespace mono::emu::test

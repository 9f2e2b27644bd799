// Where the elements of a matrix operand sit in the registers of a wavefront: the general formulas
// of CDNA4 ISA 7.1.4, for all dense shapes and block counts.
#pragma once

#include <cstdint>

namespace mono::emu::mfma {

/// D[M,N] = A[M,K] * B[K,N] + C[M,N], for each of `blocks` independent blocks.
struct Shape {
  unsigned m, n, k, blocks;
};

/// Lanes a k step is spread over: lane = row + m * (block + blocks * group), with the k of one
/// group contiguous in a lane.
constexpr unsigned laneGroups(unsigned rows, unsigned blocks) { return 64 / (rows * blocks); }

/// Items of an A or B operand that one lane holds.
constexpr unsigned itemsPerLane(unsigned rows, unsigned k, unsigned blocks) {
  return k / laneGroups(rows, blocks);
}

/// Place of C/D rows. `height` rows follow each other in one lane (4; f64: 1).
struct ResultLayout {
  unsigned height;        ///< H
  unsigned blocksAcross;  ///< B_I: blocks side by side in the lanes
  unsigned groupsAcross;  ///< M_I: row groups side by side in the lanes
  unsigned itemsPerBlock; ///< registers (of the element's width) a block needs

  constexpr ResultLayout(Shape s, unsigned h)
      : height(h), blocksAcross(1), groupsAcross(1), itemsPerBlock(0) {
    const unsigned lanesPerBlock = s.n * s.m / h;
    blocksAcross = lanesPerBlock >= 64 ? 1 : 64 / lanesPerBlock;
    groupsAcross = 64 / blocksAcross / s.n;
    itemsPerBlock = s.m / groupsAcross;
  }

  /// First lane of row `i` of `block`; column j is j lanes further.
  constexpr unsigned lane(unsigned n, unsigned i, unsigned block) const {
    return n * (i / height % groupsAcross + groupsAcross * (block % blocksAcross));
  }
  /// Register (in units of the element's width) of row `i` of `block`.
  constexpr unsigned item(unsigned i, unsigned block) const {
    return i % height + height * (i / (height * groupsAcross)) +
           itemsPerBlock * (block / blocksAcross);
  }
  /// Registers of the whole result.
  constexpr unsigned items(unsigned blocks) const {
    return itemsPerBlock * ((blocks + blocksAcross - 1) / blocksAcross);
  }
};

} // namespace mono::emu::mfma

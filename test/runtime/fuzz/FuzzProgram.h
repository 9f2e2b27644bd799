// One random test: a sequence of instructions and the state it starts from.
#pragma once

#include "test/runtime/fuzz/LiteralWave.h"
#include "test/runtime/fuzz/Random.h"

#include <string>
#include <vector>

namespace mono::fuzz {

/// Registers the generator keeps for addresses; no instruction of a program writes them, but
/// s[46:47] and s48 are those of jumps and loops. Vector
/// registers from kFirstAddressVgpr and scalar ones from kFirstAddressSgpr to kLastAddressSgpr.
inline constexpr unsigned kFirstAddressVgpr = 48, kFirstAddressSgpr = 32, kLastAddressSgpr = 48;
inline constexpr unsigned kDataSgprs = 32;
/// LDS and device memory of a program, bytes.
inline constexpr unsigned kLdsBytes = 4096, kMemoryBytes = 16384;

struct FuzzProgram {
  uint64_t seed = 0;
  /// Instructions, without the final s_endpgm; a line that ends in a colon is a label.
  std::vector<std::string> lines;
  State initial;
};

inline bool isLabel(const std::string &line) { return line.ends_with(':'); }

/// Program of a seed: the same on every host. `memoryBase` is the device address of its memory.
FuzzProgram generateProgram(uint64_t seed, uint64_t memoryBase);

/// Random registers, LDS and memory, with many special floats and integer edges.
State randomState(Random &random, uint64_t memoryBase);

/// Mnemonics of all instructions the generator may emit, for the coverage test.
std::vector<std::string> generatedMnemonics();

} // namespace mono::fuzz

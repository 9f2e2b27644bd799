// A small multi-rank kernel for tests, written by hand: every rank posts its input to all ranks
// through tagged peer mailboxes and outputs the sum over ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mono::test {

inline constexpr unsigned exchangeRanks = 2;
inline constexpr unsigned exchangeCtas = 4;
inline constexpr unsigned exchangeElements = exchangeCtas * 64;

/// Its manifest: operands `in` and `out`, both i32 [256], and the mailbox `parts`.
std::string exchangeManifest();

/// The code object; with `skipWorkgroup` in [0, 4) that workgroup does not write its outputs.
std::vector<uint8_t> exchangeCodeObject(int skipWorkgroup = -1);

/// The same with another manifest.
std::vector<uint8_t> exchangeCodeObject(const std::string &manifest, unsigned kernargBytes = 44,
                                        unsigned ldsBytes = 0);

} // namespace mono::test

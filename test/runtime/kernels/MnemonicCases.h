// One executable case for each mnemonic of test/data/gfx950-mnemonics.txt.
#pragma once

#include <string>
#include <vector>

namespace mono::emu::test {

struct MnemonicCase {
  std::string mnemonic;
  std::string body; ///< assembly that holds the instruction; see mnemonicPrologue()
};

/// What every case may rely on: s[8:9] output memory, s[10:11] memory of 32 KiB, s[12:15] a V# of
/// it; s20-s27, v2-v63 and a0-a15 hold values; v1 = 4, v4 = 16 and v5 = 8 times the lane; LDS bytes
/// 0-1023 are written; M0 = 0.
std::string mnemonicPrologue();

std::vector<MnemonicCase> mnemonicCases();

} // namespace mono::emu::test

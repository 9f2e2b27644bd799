// The matrix instructions as the statistics tell them apart.
#include "runtime/emulator/exec/MatrixKinds.h"

#include "runtime/emulator/exec/Handlers.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mono::emu {
namespace {

/// Formats of f8f6f4 operands by cbsz and blgp (CDNA4 ISA 7.1.5).
constexpr const char *kFormats[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
constexpr unsigned kFormatCount = std::size(kFormats);

std::string kindName(llvm::StringRef name, unsigned formatA, unsigned formatB) {
  std::string text = name.drop_front(2).lower(); // without "V_"
  if (name.ends_with("F8F6F4"))
    text += std::string(" ") + kFormats[formatA] + " x " + kFormats[formatB];
  return text;
}

/// Every kind there is, sorted.
const std::vector<std::string> &kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto &entry : defaultHandlers().entries()) {
      llvm::StringRef name = entry.getKey();
      if (!name.starts_with("V_MFMA_") && !name.starts_with("V_SMFMAC_"))
        continue;
      unsigned formats = name.ends_with("F8F6F4") ? kFormatCount : 1;
      for (unsigned a = 0; a < formats; ++a)
        for (unsigned b = 0; b < formats; ++b)
          all.push_back(kindName(name, a, b));
    }
    std::sort(all.begin(), all.end());
    return all;
  }();
  return names;
}

} // namespace

unsigned matrixKind(llvm::StringRef name, const Instruction &inst) {
  // Reserved formats fault when they run; they count as the first one.
  auto format = [](unsigned code) { return code < kFormatCount ? code : 0; };
  const std::string text = kindName(name, format(inst.cbsz), format(inst.blgp));
  auto at = std::lower_bound(kinds().begin(), kinds().end(), text);
  return at != kinds().end() && *at == text ? unsigned(at - kinds().begin()) : 0;
}

unsigned matrixKindCount() { return unsigned(kinds().size()); }
llvm::StringRef matrixKindName(unsigned kind) { return kinds()[kind]; }

} // namespace mono::emu

// Host tensors and verdicts.
#include "models/Problem.h"
#include "models/BFloat16.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mono::models {

std::vector<double> HostTensor::values() const {
  unsigned width = elementBytes(type.element);
  std::vector<double> result(bytes.size() / width);
  for (size_t i = 0; i < result.size(); ++i) {
    const uint8_t *at = &bytes[i * width];
    switch (type.element) {
    case ElementType::BF16:
      result[i] = toFloat(support::endian::read16le(at));
      break;
    case ElementType::F32:
      result[i] = std::bit_cast<float>(support::endian::read32le(at));
      break;
    case ElementType::I32:
      result[i] = static_cast<int32_t>(support::endian::read32le(at));
      break;
    }
  }
  return result;
}

void Report::atMost(std::string what, double measured, double bar) {
  lines.push_back({std::move(what), fmt::format("{:.2e}", measured), fmt::format("{:.1e}", bar),
                   measured <= bar});
}

void Report::holds(std::string what, bool good, std::string measured, std::string bar) {
  lines.push_back({std::move(what), std::move(measured), std::move(bar), good});
}

bool Report::good() const {
  return !lines.empty() && llvm::all_of(lines, [](const Finding &line) { return line.good; });
}

void checkRanksEqual(ArrayRef<RankOutputs> outputs, Report &report) {
  std::string different;
  for (size_t rank = 1; rank < outputs.size(); ++rank)
    for (const auto &entry : outputs[rank])
      if (entry.second.bytes != outputs[0].lookup(entry.first()).bytes)
        different +=
            fmt::format("{}{} on rank {}", different.empty() ? "" : ", ", entry.first(), rank);
  bool equal = different.empty();
  report.holds("ranks bit-equal", equal, equal ? "equal" : different + " differ from rank 0",
               "equal");
}

} // namespace mono::models

// Host tensors and verdicts.
#include "models/Problem.h"
#include "models/BFloat16.h"
#include "models/Mxfp4.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mono::models {

std::vector<double> HostTensor::values() const {
  unsigned bits = elementBits(type.element);
  std::vector<double> result(bytes.size() * 8 / bits);
  for (size_t i = 0; i < result.size(); ++i) {
    const uint8_t *at = &bytes[i * bits / 8];
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
    case ElementType::FP4E2M1:
      result[i] = fp4Value(i % 2 == 0 ? *at : *at >> 4);
      break;
    case ElementType::E8M0:
      result[i] = numeric::decodeE8M0(*at);
      break;
    case ElementType::FP8E4M3:
      result[i] = numeric::decode(numeric::kFp8E4M3, *at);
      break;
    }
  }
  return result;
}

size_t sliceCount(const TensorType &type) {
  return type.shape.size() >= 3 ? static_cast<size_t>(type.shape.front()) : 1;
}

TensorType sliceType(const TensorType &type) {
  TensorType slice = type;
  if (type.shape.size() >= 3)
    slice.shape.front() = 1;
  return slice;
}

std::vector<uint8_t> Problem::input(unsigned rank, const Operand &operand) {
  std::vector<uint8_t> bytes(operand.type.bytes());
  size_t sliceBytes = sliceType(operand.type).bytes();
  for (size_t slice = 0; slice < sliceCount(operand.type); ++slice)
    fill(rank, operand, slice, MutableArrayRef(bytes).slice(slice * sliceBytes, sliceBytes));
  return bytes;
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

void checkRanksEqual(ArrayRef<RankOutputs> outputs, Report &report, ArrayRef<StringRef> own) {
  std::string different;
  for (size_t rank = 1; rank < outputs.size(); ++rank)
    for (const auto &entry : outputs[rank])
      if (!is_contained(own, entry.first()) &&
          entry.second.bytes != outputs[0].lookup(entry.first()).bytes)
        different +=
            fmt::format("{}{} on rank {}", different.empty() ? "" : ", ", entry.first(), rank);
  bool equal = different.empty();
  report.holds("ranks bit-equal", equal, equal ? "equal" : different + " differ from rank 0",
               "equal");
}

} // namespace mono::models

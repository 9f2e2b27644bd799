// Decoding by dtype, and short forms of tensors.
#include "models/tools/Elements.h"
#include "runtime/emulator/numeric/FloatFormat.h"

#include "llvm/Support/Endian.h"

#include <cmath>

using namespace llvm;
using namespace llvm::support::endian;

namespace mono::tools {

/// The format of a float of at most 32 bits; null for other types.
static const numeric::FloatFormat *formatOf(DType dtype) {
  switch (dtype) {
  case DType::F8E5M2:
    return &numeric::kBf8E5M2;
  case DType::F8E4M3:
    return &numeric::kFp8E4M3;
  case DType::F16:
    return &numeric::kFp16;
  case DType::BF16:
    return &numeric::kBf16;
  case DType::F32:
    return &numeric::kFp32;
  default:
    return nullptr;
  }
}

static uint64_t codeOf(DType dtype, const uint8_t *at) {
  switch (dtypeBytes(dtype)) {
  case 1:
    return *at;
  case 2:
    return read16le(at);
  case 4:
    return read32le(at);
  default:
    return read64le(at);
  }
}

static bool isSigned(DType dtype) {
  return dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
}

double elementValue(DType dtype, const uint8_t *at) {
  uint64_t code = codeOf(dtype, at);
  if (const numeric::FloatFormat *format = formatOf(dtype))
    return numeric::decode(*format, uint32_t(code));
  if (dtype == DType::F64)
    return std::bit_cast<double>(code);
  if (dtype == DType::F8E8M0)
    return numeric::decodeE8M0(uint8_t(code));
  if (isSigned(dtype))
    return double(SignExtend64(code, 8 * dtypeBytes(dtype)));
  return double(code);
}

bool isFloat(DType dtype) {
  return formatOf(dtype) || dtype == DType::F64 || dtype == DType::F8E8M0;
}

int64_t floatOrder(DType dtype, const uint8_t *at) {
  uint64_t code = codeOf(dtype, at);
  if (dtype == DType::F8E8M0) // has no sign
    return int64_t(code);
  uint64_t sign = uint64_t(1) << (8 * dtypeBytes(dtype) - 1);
  auto magnitude = int64_t(code & (sign - 1));
  return code & sign ? -magnitude : magnitude;
}

std::string formatIndex(ArrayRef<int64_t> shape, uint64_t number) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; number /= uint64_t(shape[axis]))
    index[axis] = int64_t(number % uint64_t(shape[axis]));
  return formatShape(index);
}

std::string formatElement(DType dtype, const uint8_t *at) {
  if (isFloat(dtype))
    return fmt::format("{:.5g}", elementValue(dtype, at));
  uint64_t code = codeOf(dtype, at);
  return isSigned(dtype) ? std::to_string(SignExtend64(code, 8 * dtypeBytes(dtype)))
                         : std::to_string(code);
}

/// Visits the first and the last few numbers below `count`, and calls `gap` where some are left
/// out.
static void forEnds(uint64_t count, function_ref<void(uint64_t)> visit, function_ref<void()> gap) {
  constexpr uint64_t shown = 3;
  for (uint64_t n = 0; n < count; ++n) {
    if (n == shown && count > 2 * shown) {
      gap();
      n = count - shown;
    }
    visit(n);
  }
}

void printElements(raw_ostream &out, const TensorView &tensor, function_ref<bool(uint64_t)> known) {
  unsigned bytes = dtypeBytes(tensor.dtype);
  uint64_t all = tensor.data.size() / bytes;
  if (all == 0)
    return;
  uint64_t columns = tensor.shape.empty() ? 1 : uint64_t(tensor.shape.back());
  ArrayRef<int64_t> outer = ArrayRef(tensor.shape).drop_back(tensor.shape.empty() ? 0 : 1);
  auto printElement = [&](uint64_t n) {
    out << ' ' << (known(n) ? formatElement(tensor.dtype, &tensor.data[n * bytes]) : "-");
  };
  auto printRow = [&](uint64_t row) {
    out << "    " << formatIndex(outer, row);
    forEnds(
        columns, [&](uint64_t column) { printElement(row * columns + column); },
        [&] { out << " ..."; });
    out << '\n';
  };
  forEnds(all / columns, printRow, [&] { out << "    ...\n"; });
}

} // namespace mono::tools

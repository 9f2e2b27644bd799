// Operand layouts: names, checks, packing.
#include "runtime/Layout.h"

#include "llvm/Support/CheckedArithmetic.h"

#include <cstring>

using namespace llvm;

namespace mono {

StringRef elementName(ElementType element) {
  switch (element) {
  case ElementType::BF16:
    return "bf16";
  case ElementType::F32:
    return "f32";
  case ElementType::I32:
    return "i32";
  case ElementType::FP4E2M1:
    return "f4E2M1FN";
  case ElementType::E8M0:
    return "f8E8M0FNU";
  case ElementType::FP8E4M3:
    return "f8E4M3FN";
  }
  return "";
}

Expected<ElementType> parseElementType(StringRef name) {
  for (ElementType element : {ElementType::BF16, ElementType::F32, ElementType::I32,
                              ElementType::FP4E2M1, ElementType::E8M0, ElementType::FP8E4M3})
    if (name == elementName(element))
      return element;
  return makeError(
      "expected element type bf16, f32, i32, f4E2M1FN, f8E8M0FNU or f8E4M3FN, but got '{}'", name);
}

unsigned elementBits(ElementType element) {
  switch (element) {
  case ElementType::BF16:
    return 16;
  case ElementType::F32:
  case ElementType::I32:
    return 32;
  case ElementType::FP4E2M1:
    return 4;
  case ElementType::E8M0:
  case ElementType::FP8E4M3:
    return 8;
  }
  return 0;
}

StringRef layoutName(Layout layout) {
  switch (layout) {
  case Layout::RowMajor:
    return "row_major";
  case Layout::MfmaRows16:
    return "mfma_rows<16>";
  }
  return "";
}

Expected<Layout> parseLayout(StringRef name) {
  for (Layout layout : {Layout::RowMajor, Layout::MfmaRows16})
    if (name == layoutName(layout))
      return layout;
  return makeError("expected layout row_major or mfma_rows<16>, but got '{}'", name);
}

std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

Expected<uint64_t> elementCount(ArrayRef<int64_t> shape) {
  constexpr int64_t limit = int64_t(1) << 40;
  int64_t count = 1;
  for (int64_t dimension : shape) {
    if (dimension <= 0)
      return makeError("expected positive dimensions, but got shape {}", formatShape(shape));
    std::optional<int64_t> product = checkedMul(count, dimension);
    if (!product || *product > limit)
      return makeError("expected at most 2^40 elements, but got shape {}", formatShape(shape));
    count = *product;
  }
  return static_cast<uint64_t>(count);
}

std::string TensorType::describe() const {
  return fmt::format("{} {}, {}", elementName(element), formatShape(shape), layoutName(layout));
}

uint64_t TensorType::bytes() const {
  uint64_t count = 1;
  for (int64_t dimension : shape)
    count *= static_cast<uint64_t>(dimension);
  return count * elementBits(element) / 8;
}

/// Rows of a tile of mfma_rows<16>.
static constexpr int64_t tileRows = 16;

/// Elements of one row that a lane holds of a tile of mfma_rows<16>; none if it does not take the
/// type.
static std::optional<int64_t> laneShare(ElementType element) {
  switch (element) {
  case ElementType::BF16:
    return 8;
  case ElementType::FP4E2M1:
    return 32;
  case ElementType::FP8E4M3:
    return 16;
  case ElementType::E8M0:
    return 1;
  case ElementType::F32:
  case ElementType::I32:
    break;
  }
  return std::nullopt;
}

/// Columns of a matrix in mfma_rows<16> come in so many: those of a tile, for scales those of the
/// smallest tile of what they scale.
static int64_t columnUnit(ElementType element, int64_t share) {
  return element == ElementType::E8M0 ? 4 * 16 / 32 : 4 * share;
}

Error TensorType::check() const {
  if (Expected<uint64_t> count = elementCount(shape); !count)
    return count.takeError();
  if (element == ElementType::FP4E2M1 && (shape.empty() || shape.back() % 2 != 0))
    return makeError("element type f4E2M1FN is packed two a byte: expected an even last dimension, "
                     "but got {}",
                     formatShape(shape));
  if (layout == Layout::RowMajor)
    return Error::success();
  std::optional<int64_t> share = laneShare(element);
  if (!share)
    return makeError("layout mfma_rows<16>: expected element type bf16, f4E2M1FN, f8E4M3FN or "
                     "f8E8M0FNU, but got {}",
                     elementName(element));
  size_t axes = shape.size();
  int64_t unit = columnUnit(element, *share);
  if (axes < 2 || shape[axes - 2] % tileRows != 0 || shape[axes - 1] % unit != 0)
    return makeError(
        "layout mfma_rows<16>: expected a {} shape [..., N, K] with N a multiple of 16 "
        "and K a multiple of {}, but got {}",
        elementName(element), unit, formatShape(shape));
  return Error::success();
}

static Error checkBytes(const TensorType &type, size_t from, size_t to) {
  if (Error error = type.check())
    return error;
  for (size_t bytes : {from, to})
    if (bytes != type.bytes())
      return makeError("expected {} bytes ({}), but got {}", type.bytes(), type.describe(), bytes);
  return Error::success();
}

/// Calls move(row-major offset, packed offset, bytes) for every lane's share of every tile.
template <typename Move> static void forEachLaneShare(const TensorType &type, Move move) {
  const int64_t shareBytes = *laneShare(type.element) * elementBits(type.element) / 8;
  const int64_t shares = type.shape.back() * elementBits(type.element) / 8 / shareBytes;
  const int64_t rows = type.bytes() / (shares * shareBytes); // leading axes join the rows
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < shares; ++k) {
      int64_t packed = (n / tileRows * shares + k) * tileRows + n % tileRows;
      move((n * shares + k) * shareBytes, packed * shareBytes, shareBytes);
    }
}

Error pack(const TensorType &type, ArrayRef<uint8_t> rowMajor, MutableArrayRef<uint8_t> packed) {
  if (Error error = checkBytes(type, rowMajor.size(), packed.size()))
    return error;
  if (type.layout == Layout::RowMajor)
    std::memcpy(packed.data(), rowMajor.data(), packed.size());
  else
    forEachLaneShare(type, [&](int64_t from, int64_t to, int64_t bytes) {
      std::memcpy(packed.data() + to, rowMajor.data() + from, bytes);
    });
  return Error::success();
}

Error unpack(const TensorType &type, ArrayRef<uint8_t> packed, MutableArrayRef<uint8_t> rowMajor) {
  if (Error error = checkBytes(type, packed.size(), rowMajor.size()))
    return error;
  if (type.layout == Layout::RowMajor)
    std::memcpy(rowMajor.data(), packed.data(), packed.size());
  else
    forEachLaneShare(type, [&](int64_t to, int64_t from, int64_t bytes) {
      std::memcpy(rowMajor.data() + to, packed.data() + from, bytes);
    });
  return Error::success();
}

} // namespace mono

// Weights in every format that mono.stream has: random ones, what they stand for, and their
// operands.
#pragma once

#include "models/BFloat16.h"
#include "models/Mxfp4.h"
#include "runtime/Layout.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

namespace mono::test {

enum class WeightFormat { Bf16, Mxfp4, Mxfp8, Fp8Blocks };

/// Rows and columns of a block of WeightFormat::Fp8Blocks that shares a scale.
inline constexpr int kScaleBlock = 128;

/// Matrices [rows, columns]: one, or a number of them for the groups of a stream.
class WeightMatrices {
public:
  /// Any code that is a number. `matrices` is 0 for one without an axis of its own.
  WeightMatrices(WeightFormat format, int matrices, int rows, int columns, std::mt19937 &random)
      : format(format), matrices(matrices), rows(rows), columns(columns) {
    std::normal_distribution<float> normal;
    int count = std::max(matrices, 1);
    for (int i = 0; i < count * rows * columns; ++i) {
      uint16_t value = models::toBf16(normal(random) * std::exp2(float(int(random() % 16)) - 8));
      uint8_t code = uint8_t(random());
      if (format == WeightFormat::Bf16)
        codes.insert(codes.end(), {uint8_t(value), uint8_t(value >> 8)});
      else if (format == WeightFormat::Mxfp4)
        codes.push_back(code & 15);
      else
        codes.push_back((code & 0x7F) == 0x7F ? code ^ 1 : code);
    }
    for (int i = 0; i < count * scaleRows() * (columns / columnsOfScale()); ++i)
      scales.push_back(
          std::ldexp(isBlocks() ? 1 + std::abs(normal(random)) : 1, int(random() % 16) - 12));
  }

  /// Declarations of operands `name` and, but for bf16, `name`_scale, with sizes as a schedule
  /// writes them; `matricesText` is empty or ends with a comma.
  static std::string declare(WeightFormat format, const std::string &name,
                             const std::string &matricesText, const std::string &rows,
                             const std::string &columns) {
    const char *elements[] = {"bf16", "f4E2M1FN", "f8E4M3FN", "f8E4M3FN"};
    std::string codes = substitute(
        R"(  %$NAME = mono.operand "$NAME" read weight [$MANY$ROWS, $COLUMNS] : $TYPE, #mono.mfma_rows<16>
)",
        {{"NAME", name},
         {"MANY", matricesText},
         {"ROWS", rows},
         {"COLUMNS", columns},
         {"TYPE", elements[int(format)]}});
    if (format == WeightFormat::Bf16)
      return codes;
    const char *scales =
        format == WeightFormat::Fp8Blocks
            ? "[$MANY($ROWS + 127) floordiv 128, ($COLUMNS) floordiv 128] : f32"
            : "[$MANY$ROWS, ($COLUMNS) floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>";
    return codes + "  %" + name + "_scale = mono.operand \"" + name + "_scale\" read weight " +
           substitute(scales, {{"MANY", matricesText}, {"ROWS", rows}, {"COLUMNS", columns}}) +
           "\n";
  }

  double at(int matrix, int row, int column) const {
    size_t place = (size_t(matrix) * rows + row) * columns + column;
    if (format == WeightFormat::Bf16)
      return models::toFloat(uint16_t(codes[2 * place] | codes[2 * place + 1] << 8));
    double code = format == WeightFormat::Mxfp4 ? models::fp4Value(codes[place])
                                                : numeric::decode(numeric::kFp8E4M3, codes[place]);
    size_t scaleRow = size_t(matrix) * scaleRows() + row / rowsOfScale();
    return code *
           double(scales[scaleRow * (columns / columnsOfScale()) + column / columnsOfScale()]);
  }

  void write(OneGpu &gpu, const std::string &name, unsigned rank = 0) const {
    if (isBlocks()) {
      gpu.write(name + "_scale", scales, rank);
    } else if (format != WeightFormat::Bf16) {
      std::vector<uint8_t> exponents;
      for (float scale : scales)
        exponents.push_back(uint8_t(std::ilogb(scale) + 127));
      writePacked(gpu, name + "_scale", exponents, ElementType::E8M0,
                  columns / int(models::mxBlock), rank);
    }
    if (format == WeightFormat::Bf16)
      return writePacked(gpu, name, codes, ElementType::BF16, columns, rank);
    if (format != WeightFormat::Mxfp4)
      return writePacked(gpu, name, codes, ElementType::FP8E4M3, columns, rank);
    std::vector<uint8_t> pairs;
    for (size_t i = 0; i < codes.size(); i += 2)
      pairs.push_back(codes[i] | codes[i + 1] << 4);
    writePacked(gpu, name, pairs, ElementType::FP4E2M1, columns, rank);
  }

  bool isBlocks() const { return format == WeightFormat::Fp8Blocks; }
  int columnsOfScale() const { return isBlocks() ? kScaleBlock : int(models::mxBlock); }
  int rowsOfScale() const { return isBlocks() ? kScaleBlock : 1; }
  int scaleRows() const { return (rows + rowsOfScale() - 1) / rowsOfScale(); }

  WeightFormat format;
  int matrices, rows, columns;
  std::vector<uint8_t> codes; ///< a byte each, row-major; two for bf16
  std::vector<float> scales;  ///< their values, for every row or block; nothing for bf16

private:
  void writePacked(OneGpu &gpu, const std::string &name, const std::vector<uint8_t> &rowMajor,
                   ElementType element, int width, unsigned rank) const {
    TensorType type{{rows, width}, element, Layout::MfmaRows16};
    if (matrices)
      type.shape.insert(type.shape.begin(), matrices);
    std::vector<uint8_t> packed(rowMajor.size());
    ASSERT_FALSE(bool(pack(type, rowMajor, packed)));
    gpu.write(name, packed, rank);
  }
};

} // namespace mono::test

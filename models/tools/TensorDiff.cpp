// Measures of differences.
#include "models/tools/TensorDiff.h"
#include "models/Compare.h"
#include "models/tools/Elements.h"

#include <cmath>
#include <cstring>

using namespace llvm;

namespace mono::tools {

bool areComparable(const TensorView &a, const TensorView &b) {
  return a.shape == b.shape && (a.dtype == b.dtype || isFloat(a.dtype) == isFloat(b.dtype));
}

namespace {

/// Walks two tensors row by row.
class RowDiff {
public:
  RowDiff(const TensorView &a, const TensorView &b)
      : a(a), b(b), columns(a.shape.empty() ? 1 : size_t(a.shape.back())), x(columns), y(columns) {
    diff.elements = a.data.size() / dtypeBytes(a.dtype);
  }

  TensorDiff run() {
    for (uint64_t row = 0; row * columns < diff.elements; ++row)
      addRow(row);
    return diff;
  }

private:
  void addRow(uint64_t row) {
    for (size_t column = 0; column < columns; ++column)
      addElement(row * columns + column, x[column], y[column]);
    diff.maxRowL2 = std::max(diff.maxRowL2, models::maxRelativeL2(x, y, /*rows=*/1));
  }

  void addElement(uint64_t number, double &left, double &right) {
    const uint8_t *codeA = &a.data[number * dtypeBytes(a.dtype)];
    const uint8_t *codeB = &b.data[number * dtypeBytes(b.dtype)];
    left = elementValue(a.dtype, codeA);
    right = elementValue(b.dtype, codeB);
    bool areNans = std::isnan(left) && std::isnan(right);
    if (isSame(codeA, codeB))
      return;
    if (diff.differing++ == 0)
      diff.first = number;
    if (areNans)
      return;
    measure(left, right);
    if (a.dtype == b.dtype && isFloat(a.dtype) && !std::isnan(left) && !std::isnan(right))
      measureUlp(floatOrder(a.dtype, codeA), floatOrder(b.dtype, codeB));
  }

  bool isSame(const uint8_t *codeA, const uint8_t *codeB) const {
    if (a.dtype == b.dtype)
      return std::memcmp(codeA, codeB, dtypeBytes(a.dtype)) == 0;
    // Not as doubles, which have no room for all integers.
    if (!isFloat(a.dtype))
      return formatElement(a.dtype, codeA) == formatElement(b.dtype, codeB);
    double left = elementValue(a.dtype, codeA), right = elementValue(b.dtype, codeB);
    return left == right || (std::isnan(left) && std::isnan(right));
  }

  void measure(double left, double right) {
    double distance = std::abs(left - right);
    bool isFinite = std::isfinite(distance);
    double larger = std::max(std::abs(left), std::abs(right));
    diff.maxAbs = std::max(diff.maxAbs, isFinite ? distance : HUGE_VAL);
    diff.maxRel = std::max(diff.maxRel, !isFinite ? HUGE_VAL : larger > 0 ? distance / larger : 0);
  }

  void measureUlp(int64_t from, int64_t to) {
    diff.maxUlp = std::max(diff.maxUlp, from > to ? uint64_t(from) - uint64_t(to)
                                                  : uint64_t(to) - uint64_t(from));
  }

  const TensorView &a, &b;
  size_t columns;
  std::vector<double> x, y; ///< of the present row
  TensorDiff diff;
};

} // namespace

TensorDiff diffTensors(const TensorView &a, const TensorView &b) { return RowDiff(a, b).run(); }

} // namespace mono::tools

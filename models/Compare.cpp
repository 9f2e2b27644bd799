// Error measures.
#include "models/Compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

using namespace llvm;

namespace mono::models {

static constexpr double infinity = std::numeric_limits<double>::infinity();

static double relativeL2(ArrayRef<double> out, ArrayRef<double> ref) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < ref.size(); ++i) {
    error += (out[i] - ref[i]) * (out[i] - ref[i]);
    norm += ref[i] * ref[i];
  }
  // Not finite: out or ref has NaN or infinity somewhere, and no comparison would show it.
  if (!std::isfinite(error) || !std::isfinite(norm))
    return infinity;
  if (norm == 0)
    return error == 0 ? 0 : infinity;
  return std::sqrt(error / norm);
}

double maxRelativeL2(ArrayRef<double> out, ArrayRef<double> ref, size_t rows) {
  if (rows == 0 || out.size() != ref.size() || ref.size() % rows != 0)
    return infinity;
  size_t columns = ref.size() / rows;
  double worst = 0;
  for (size_t row = 0; row < rows; ++row)
    worst = std::max(
        worst, relativeL2(out.slice(row * columns, columns), ref.slice(row * columns, columns)));
  return worst;
}

double maxOfReach(ArrayRef<double> out, ArrayRef<double> ref, ArrayRef<double> reach) {
  if (out.size() != ref.size() || ref.size() != reach.size())
    return infinity;
  double worst = 0;
  for (size_t i = 0; i < ref.size(); ++i) {
    double error = std::abs(out[i] - ref[i]);
    // A NaN would be less than whatever the worst is so far.
    if (!std::isfinite(error) || !std::isfinite(reach[i]) || reach[i] < 0)
      return infinity;
    if (error > 0)
      worst = std::max(worst, error / reach[i]);
  }
  return worst;
}

/// Empty when the indices are well formed.
static std::string indexFault(ArrayRef<int32_t> indices, size_t expected, size_t candidates) {
  if (indices.size() != expected)
    return fmt::format("expected {} indices, but got {}", expected, indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || static_cast<size_t>(indices[i]) >= candidates)
      return fmt::format("index {} is not in [0, {})", indices[i], candidates);
    if (i > 0 && indices[i] <= indices[i - 1])
      return fmt::format("index {} follows {}, not ascending", indices[i], indices[i - 1]);
  }
  return "";
}

SelectionVerdict compareSelection(ArrayRef<int32_t> out, ArrayRef<int32_t> ref,
                                  const SelectionScores &scores) {
  SelectionVerdict verdict;
  verdict.reason = indexFault(out, ref.size(), scores.reference.size());
  if (!verdict.reason.empty()) {
    verdict.different = ref.size();
    return verdict;
  }
  std::vector<int32_t> missing, extra;
  std::set_difference(ref.begin(), ref.end(), out.begin(), out.end(), std::back_inserter(missing));
  std::set_difference(out.begin(), out.end(), ref.begin(), ref.end(), std::back_inserter(extra));
  verdict.different = extra.size();
  for (int32_t left : missing)
    for (int32_t taken : extra) {
      double gap = scores.reference[left] - scores.reference[taken];
      double allowed = scores.tolerance[left] + scores.tolerance[taken];
      if (!(gap < allowed))
        verdict.reason = fmt::format("{} chosen over {}: scores differ by {:.2e}, explained {:.2e}",
                                     taken, left, gap, allowed);
    }
  verdict.good = verdict.reason.empty();
  return verdict;
}

} // namespace mono::models

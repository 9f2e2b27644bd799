// Experts that take MXFP8 activations: the output with roundings where the kernel has them, and how
// far a kernel may be from it whose values before a rounding differ a little.
#include "models/Mxfp8.h"
#include "models/ReferenceOps.h"
#include "models/glm5/Layer.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace mono::models::glm5 {

/// Largest relative errors of rounding to nearest: to bf16 and to f32.
static constexpr double bf16Error = 0x1p-9, f32Error = 0x1p-24;
/// Of SiLU(gate) * up * weight in f32: some ten operations, of which the exponential and the
/// quotient are good to a few units in the last place.
static constexpr double unitError = 64 * f32Error;
/// The largest slope of SiLU, 1.0998.
static constexpr double siluSlope = 1.1;

std::map<size_t, std::vector<Glm5Layer::ExpertUse>>
Glm5Layer::expertUses(const Routing &routing) const {
  std::map<size_t, std::vector<ExpertUse>> users;
  for (size_t row = 0; row < sizes.rows; ++row)
    users[sizes.experts].push_back({row, 1});
  for (size_t place = 0; place < routing.ids.size(); ++place)
    users[static_cast<size_t>(routing.ids[place])].push_back(
        {place / sizes.chosen, routing.weights[place]});
  return users;
}

/// The rows of `matrix` that are used, one after the other.
template <typename Uses>
static std::vector<double> rowsOf(ArrayRef<double> matrix, const Uses &uses, size_t width) {
  std::vector<double> rows;
  for (const auto &use : uses)
    llvm::append_range(rows, matrix.slice(use.row * width, width));
  return rows;
}

std::vector<double> Glm5Layer::outputOfCodes(const Attention &attention,
                                             const Routing &routing) const {
  size_t hidden = sizes.hidden;
  std::vector<double> g = expertInput(attention), y = attention.residual;
  roundToMxfp8(g, MxScale::Floor);
  for (const auto &[expert, uses] : expertUses(routing)) {
    std::vector<double> units = expertUnits(rowsOf(g, uses, hidden), expert);
    for (size_t i = 0; i < units.size(); ++i)
      units[i] *= uses[i / sizes.moe].weight;
    roundToMxfp8(units, MxScale::Floor);
    std::vector<double> output = expertOutput(units, expert);
    for (size_t i = 0; i < output.size(); ++i)
      y[uses[i / hidden].row * hidden + i % hidden] += output[i];
  }
  return y;
}

static void roundWithReach(Reach &of) {
  reachOfMxfp8(of.values, MxScale::Floor, of.reach);
  roundToMxfp8(of.values, MxScale::Floor);
}

/// A product's f32 sum is off by an error a term, relative to the sum of magnitudes.
Reach Glm5Layer::productOfExpert(const Reach &activations, size_t expert,
                                 Projection projection) const {
  size_t depth = projection == Projection::Down ? sizes.moe : sizes.hidden;
  double sumError = static_cast<double>(depth) * f32Error;
  std::vector<double> magnitudes = activations.reach;
  for (size_t i = 0; i < magnitudes.size(); ++i)
    magnitudes[i] += sumError * std::abs(activations.values[i]);
  return {multiplyExpert(activations.values, expert, projection),
          multiplyExpert(magnitudes, expert, projection, WeightPart::Magnitude)};
}

Reach Glm5Layer::unitsOfExpert(const Reach &g, ArrayRef<ExpertUse> uses, size_t expert) const {
  Reach gate = productOfExpert(g, expert, Projection::Gate);
  Reach units = productOfExpert(g, expert, Projection::Up);
  for (size_t i = 0; i < units.values.size(); ++i) {
    double up = units.values[i], upReach = units.reach[i];
    double activated = silu(gate.values[i]), weight = uses[i / sizes.moe].weight;
    units.values[i] = activated * up * weight;
    units.reach[i] =
        (std::abs(activated) * upReach + siluSlope * gate.reach[i] * (std::abs(up) + upReach)) *
            weight +
        unitError * std::abs(units.values[i]);
  }
  return units;
}

Reach Glm5Layer::reachOfCodes(const Attention &attention, const Routing &routing) const {
  size_t hidden = sizes.hidden;
  Reach g{expertInput(attention), {}};
  // The residual is known to bf16 here, and so is its rms; the kernel rounds its product with
  // gamma, and once more when it has multiplied that by 1 / rms.
  for (double value : g.values)
    g.reach.push_back(4 * bf16Error * std::abs(value));
  roundWithReach(g);

  Reach y{attention.residual, {}};
  for (double value : y.values)
    y.reach.push_back(bf16Error * std::abs(value));
  for (const auto &[expert, uses] : expertUses(routing)) {
    Reach input{rowsOf(g.values, uses, hidden), rowsOf(g.reach, uses, hidden)};
    Reach units = unitsOfExpert(input, uses, expert);
    roundWithReach(units);
    // Each rank's part is rounded to bf16: together no more than what all their terms are off.
    for (size_t i = 0; i < units.values.size(); ++i)
      units.reach[i] += bf16Error * (std::abs(units.values[i]) + units.reach[i]);
    Reach output = productOfExpert(units, expert, Projection::Down);
    for (size_t i = 0; i < output.values.size(); ++i) {
      size_t at = uses[i / hidden].row * hidden + i % hidden;
      y.values[at] += output.values[i];
      y.reach[at] += output.reach[i];
    }
  }
  for (size_t i = 0; i < y.values.size(); ++i) // y itself
    y.reach[i] += bf16Error * (std::abs(y.values[i]) + y.reach[i]);
  return y;
}

} // namespace mono::models::glm5

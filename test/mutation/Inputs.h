// What the operands of mutants hold.
#pragma once

#include "models/Problem.h"

#include <map>

namespace mono::test {

/// The inputs of all launches of one schedule and of its mutants; kept, since they run often.
class Inputs {
public:
  /// Those of the model that knows the schedule of the manifest; otherwise small values of either
  /// sign, so that no sum overflows. Error: the model does not take the manifest.
  static llvm::Expected<Inputs> create(const Manifest &manifest, unsigned launches);

  /// The row-major bytes of an operand. Where a mutant has given it another shape than the schedule
  /// has, they are cut off or repeated. Other bytes for each rank and launch, so that stale data
  /// shows.
  std::vector<uint8_t> of(const Operand &operand, unsigned rank, unsigned launch);

private:
  std::vector<Operand> operands;                          ///< of the schedule
  std::vector<std::unique_ptr<models::Problem>> problems; ///< a launch each; empty: no model
  std::map<std::tuple<std::string, unsigned, unsigned>, std::vector<uint8_t>> known;
};

} // namespace mono::test

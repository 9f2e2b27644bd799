// What a schedule is tested with: the inputs of one run, and the judgement on what came out.
#pragma once

#include "runtime/Manifest.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mono::models {

/// A tensor on the host, row-major.
struct HostTensor {
  TensorType type;
  std::vector<uint8_t> bytes;

  /// The elements, exactly.
  std::vector<double> values() const;
};

/// The outputs of one rank, by operand name.
using RankOutputs = llvm::StringMap<HostTensor>;

/// One line of a verdict.
struct Finding {
  std::string what;     ///< tensor or property, e.g. "router_logits"
  std::string measured; ///< e.g. "1.2e-03"
  std::string bar;      ///< what was allowed, e.g. "5.0e-03"
  bool good = false;
};

/// The verdict on a run, printed as a table.
class Report {
public:
  /// A number that may be at most `bar`; NaN is bad.
  void atMost(std::string what, double measured, double bar);
  /// A property that holds or not; `measured` says how far.
  void holds(std::string what, bool good, std::string measured, std::string bar);
  llvm::ArrayRef<Finding> findings() const { return lines; }
  /// At least one finding and all of them good.
  bool good() const;

private:
  std::vector<Finding> lines;
};

/// The pieces in which inputs are made, so that no host needs an operand of hundreds of megabytes
/// twice: a tensor of three or more dimensions has one for each index of the first, e.g. an expert
/// each; another tensor is one piece.
size_t sliceCount(const TensorType &type);
/// The type of one piece: the same, but 1 as first dimension of a tensor in several pieces.
TensorType sliceType(const TensorType &type);

class Problem {
public:
  virtual ~Problem() = default;
  /// Writes the row-major bytes of one slice of the operand (access read or update) on `rank`;
  /// `out` has the bytes of sliceType().
  virtual void fill(unsigned rank, const Operand &operand, size_t slice,
                    llvm::MutableArrayRef<uint8_t> out) = 0;
  /// All slices of the operand.
  std::vector<uint8_t> input(unsigned rank, const Operand &operand);
  /// Compares the outputs of all ranks with what must come out.
  virtual void check(llvm::ArrayRef<RankOutputs> outputs, Report &report) = 0;
};

/// Adds "ranks bit-equal": every output has the same bytes on every rank, but for those in `own`,
/// of which each rank has its own part.
void checkRanksEqual(llvm::ArrayRef<RankOutputs> outputs, Report &report,
                     llvm::ArrayRef<llvm::StringRef> own = {});

} // namespace mono::models

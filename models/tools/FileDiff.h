// Two files of results, tensor by tensor: where they part ways, by how much, and whether that is
// within a bar.
#pragma once

#include "runtime/Safetensors.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace mono::tools {

struct DiffOptions {
  bool all = false;    ///< list tensors that are the same, too
  bool common = false; ///< leave out what only one file has
  /// The largest relative L2 of a row (TensorDiff::maxRowL2) that a tensor of floats may have, B
  /// being the reference. None: every bit counts.
  std::optional<double> bar = std::nullopt;
};

/// Compares what monorun --outputs wrote: mailboxes in the order of the stages that post to them,
/// then the other tensors. A tensor that one file has for all ranks and the other for each is
/// compared with each. Prints a table and where the first difference is; true if nothing differs,
/// or nothing by more than the bar. Error when `common` leaves nothing to compare.
llvm::Expected<bool> diffFiles(llvm::raw_ostream &out, const SafetensorsFile &a,
                               const SafetensorsFile &b, const DiffOptions &options);

/// The metadata key under which a file says which stage is the first to post to a mailbox, as its
/// number and its name: "2 router".
std::string posterKey(llvm::StringRef mailbox);

} // namespace mono::tools

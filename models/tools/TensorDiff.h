// Two files of results, tensor by tensor: where they part ways, and by how much.
#pragma once

#include "runtime/Safetensors.h"

#include "llvm/Support/raw_ostream.h"

namespace mono::tools {

/// How the elements of two tensors of one type and shape differ.
struct TensorDiff {
  uint64_t elements = 0;
  uint64_t differing = 0; ///< by their bits
  uint64_t first = 0;     ///< number of the first that differs, row-major
  double maxAbs = 0;      ///< largest |a - b|; infinite where only one is a NaN or an infinity
  double maxRel = 0;      ///< largest |a - b| / max(|a|, |b|)
  uint64_t maxUlp = 0;    ///< largest distance in units in the last place, of floats but NaNs
};
TensorDiff diffTensors(const TensorView &a, const TensorView &b);

struct DiffOptions {
  bool all = false; ///< list tensors that are the same, too
};

/// Compares what monorun --outputs wrote: mailboxes in the order of the stages that post to them,
/// then the other tensors. A tensor that one file has for all ranks and the other for each is
/// compared with each. Prints a table and where the first difference is; true if nothing differs.
bool diffFiles(llvm::raw_ostream &out, const SafetensorsFile &a, const SafetensorsFile &b,
               const DiffOptions &options);

/// The metadata key under which a file says which stage is the first to post to a mailbox, as its
/// number and its name: "2 router".
std::string posterKey(llvm::StringRef mailbox);

} // namespace mono::tools

// The GPUs of this machine that can run a schedule, opened through HIP.
#pragma once

#include "runtime/Gfx950.h"
#include "runtime/hip/HipDevice.h"

#include <vector>

namespace mono::hip {

/// Which devices to open: those of this chip with at least so many compute units, in HIP's order. A
/// part of a partitioned MI355X has fewer than 256 and is passed over.
struct HipSelection {
  unsigned count = 1;
  /// Matching devices to pass over first: the rank, for a process that runs one rank.
  unsigned first = 0;
  std::string arch = "gfx950";
  unsigned computeUnits = gfx950::computeUnits;
};

/// Owns its devices; everything allocated on them must be gone before it.
class HipNode {
public:
  /// Opens the default library (HipLibrary::open) and the selected devices, and lets each reach the
  /// memory of the others. Errors: no library, no device, too few devices that match (the message
  /// lists what there is), no link between two of them.
  static llvm::Expected<std::unique_ptr<HipNode>> create(const HipSelection &selection);
  /// The same with a library of the caller's choice.
  static llvm::Expected<std::unique_ptr<HipNode>> create(std::shared_ptr<const HipLibrary> library,
                                                         const HipSelection &selection);

  /// In the order of their numbers; valid as long as the node.
  std::vector<Device *> devices() const;
  HipDevice &device(unsigned index) const { return *members[index]; }
  const HipLibrary &library() const { return *opened; }

private:
  HipNode() = default;
  std::shared_ptr<const HipLibrary> opened;
  std::vector<std::unique_ptr<HipDevice>> members;
};

} // namespace mono::hip

// What a run can be asked to show: mailboxes as they are at its end, and the LDS of the workgroup
// where it was stopped.
#pragma once

#include "models/tools/Options.h"
#include "runtime/Group.h"
#include "runtime/Safetensors.h"
#include "runtime/emulator/Trace.h"

#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace mono::tools {

/// The names of --dump, found in a manifest.
class Dump {
public:
  /// Errors: no such mailbox, region, stage, task or rank, a mailbox that is too large, a region
  /// without a place, or one whose content does not matter in the stage of its place.
  static llvm::Expected<Dump> plan(const RunOptions &options, const Manifest &manifest);

  /// Where the run has to stop: behind the task of REGION@STAGE:TASK.
  std::optional<emu::Trace::Stop> stop() const;
  bool empty() const { return mailboxes.empty() && regions.empty(); }

  /// Prints everything in short to `out`, or writes it whole to the file of --dump-to: of each slot
  /// of a mailbox `rankR/mailbox/NAME/slotN` and the launches its words of 4 bytes are of,
  /// `rankR/mailbox/NAME/slotN/launch`; of each region `rankR/region/NAME` and which elements
  /// somebody wrote, `rankR/region/NAME/written`. `stopped`: what the trace stopped, or null.
  llvm::Error write(llvm::raw_ostream &out, Group &group, const emu::Trace::Stopped *stopped) const;

private:
  struct Item;
  Dump() = default;
  llvm::Expected<std::vector<Item>> collect(Group &group, const emu::Trace::Stopped *stopped) const;
  llvm::Error addMailbox(Group &group, unsigned rank, const Mailbox &mailbox,
                         std::vector<Item> &items) const;
  Item regionItem(const Region &region, const Manifest &manifest,
                  const emu::Trace::Stopped &stopped) const;
  bool hasWritten(const Region &region, const Manifest &manifest, uint64_t workgroup) const;

  std::vector<Mailbox> mailboxes;
  std::vector<Region> regions;
  std::string place;            ///< of the regions, "STAGE:TASK"; empty: where --break stops
  uint32_t marker = 0;          ///< where the run stops for the regions
  std::optional<unsigned> rank; ///< the only one to show
  std::string file;             ///< of --dump-to
};

} // namespace mono::tools

// Timelines of runs for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include "runtime/Group.h"
#include "runtime/emulator/Trace.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mono::tools {

/// The marker of task `TASK` of stage `STAGE` from "STAGE:TASK"; an error that lists the stages or
/// says how many tasks there are, or that the code object has no markers (`monoc --markers`).
llvm::Expected<uint32_t> markerOf(llvm::StringRef place, const Manifest &manifest);

/// An error unless the code object has markers.
llvm::Error checkMarkers(const Manifest &manifest);

/// Watches the mailboxes of all ranks of this process.
void watchMailboxes(emu::Trace &trace, const Group &group);

/// Writes the timeline as JSON in the trace event format: a process a rank, a thread a workgroup, a
/// slice a task, in it a slice for each time in which the workgroup waited, and an arrow from the
/// task that stored the word that came last. A microsecond of the viewer is a step (Trace.h).
void writeTrace(llvm::raw_ostream &out, const emu::Trace &trace, const Group &group);

} // namespace mono::tools

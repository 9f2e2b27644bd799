// From what the emulator recorded to the trace event format.
#include "models/tools/TraceFile.h"
#include "runtime/Error.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <set>

using namespace llvm;

namespace mono::tools {

Error checkMarkers(const Manifest &manifest) {
  if (manifest.markerTaskBits)
    return Error::success();
  return makeError("the code object of '{}' does not say which task begins: expected one made with "
                   "monoc --markers",
                   manifest.schedule);
}

Expected<uint32_t> markerOf(StringRef place, const Manifest &manifest) {
  if (Error error = checkMarkers(manifest))
    return std::move(error);
  if (!place.contains(':'))
    return makeError("expected STAGE:TASK, but got '{}'", place);
  auto [name, text] = place.rsplit(':');
  auto stage = find_if(manifest.stages, [&](const Stage &s) { return s.name == name; });
  if (stage == manifest.stages.end()) {
    std::string known;
    for (const Stage &s : manifest.stages)
      known += (known.empty() ? "" : ", ") + s.name;
    return makeError("schedule '{}' has no stage '{}'; it has {}", manifest.schedule, name, known);
  }
  unsigned task = 0;
  if (text.getAsInteger(10, task) || task >= unsigned(stage->tasks))
    return makeError("expected a task of stage '{}' from 0 to {}, but got '{}'", name,
                     stage->tasks - 1, text);
  return uint32_t(stage - manifest.stages.begin()) << manifest.markerTaskBits | task;
}

void watchMailboxes(emu::Trace &trace, const Group &group) {
  const Manifest &manifest = group.manifest();
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    for (const Mailbox &mailbox : manifest.mailboxes)
      for (unsigned slot = 0; slot < mailbox.slots; ++slot)
        trace.watch(group.slotMemory(rank, mailbox, slot), mailbox.slotBytes());
}

namespace {

using Waits = std::vector<emu::Trace::Wait>;

/// A time in which some wavefronts of a workgroup waited without a gap.
struct Pause {
  uint64_t begin, end;
  emu::Trace::Wait last; ///< the one that ended it
};

/// What overlaps becomes one.
std::vector<Pause> pausesOf(Waits waits) {
  llvm::sort(waits, [](const auto &a, const auto &b) { return a.begin.step < b.begin.step; });
  std::vector<Pause> pauses;
  for (const emu::Trace::Wait &wait : waits) {
    if (pauses.empty() || wait.begin.step > pauses.back().end) {
      pauses.push_back({wait.begin.step, wait.end, wait});
    } else if (wait.end > pauses.back().end) {
      pauses.back().end = wait.end;
      pauses.back().last = wait;
    }
  }
  return pauses;
}

class TraceWriter {
public:
  TraceWriter(raw_ostream &out, const Group &group) : json(out), group(group) {}

  void write(const emu::Trace &trace) {
    std::map<std::pair<unsigned, uint64_t>, Waits> waits;
    for (const emu::Trace::Wait &wait : trace.waits())
      waits[{wait.begin.rank, wait.begin.workgroup}].push_back(wait);
    json.object([&] {
      json.attribute("displayTimeUnit", "ms");
      json.attributeObject("otherData", [&] {
        json.attribute("schedule", group.manifest().schedule);
        json.attribute("unit",
                       "a microsecond is a step of the emulator: a logical time, no cycles");
      });
      json.attributeArray("traceEvents", [&] {
        for (unsigned rank = 0; rank < group.ranks(); ++rank)
          name("process_name", rank, 0, ("rank " + Twine(rank)).str());
        std::vector<emu::Trace::Task> tasks = trace.tasks();
        for (size_t n = 0; n < tasks.size(); ++n)
          writeTask(tasks[n], n + 1 < tasks.size() ? &tasks[n + 1] : nullptr);
        for (const auto &[place, list] : waits)
          for (const Pause &pause : pausesOf(list))
            writePause(pause);
      });
    });
  }

private:
  void event(StringRef phase, StringRef label, const emu::Trace::Place &at,
             function_ref<void()> more) {
    json.object([&] {
      json.attribute("ph", phase);
      json.attribute("name", label);
      json.attribute("pid", at.rank);
      json.attribute("tid", int64_t(at.workgroup));
      json.attribute("ts", int64_t(at.step));
      more();
    });
  }
  void name(StringRef what, unsigned rank, uint64_t workgroup, const std::string &text) {
    event("M", what, {rank, workgroup, 0},
          [&] { json.attributeObject("args", [&] { json.attribute("name", text); }); });
  }

  /// Wavefronts of one workgroup may be in two tasks at a time; a row of slices shows the first to
  /// enter.
  void writeTask(const emu::Trace::Task &task, const emu::Trace::Task *next) {
    bool sameRow = next && next->begin.rank == task.begin.rank &&
                   next->begin.workgroup == task.begin.workgroup;
    uint64_t end = sameRow ? std::min(task.end, next->begin.step) : task.end;
    if (named.insert({task.begin.rank, task.begin.workgroup}).second)
      name("thread_name", task.begin.rank, task.begin.workgroup,
           ("workgroup " + Twine(task.begin.workgroup)).str());
    const Manifest &manifest = group.manifest();
    unsigned stage = task.marker >> manifest.markerTaskBits;
    StringRef label = "?";
    if (stage < manifest.stages.size())
      label = manifest.stages[stage].name;
    event("X", label, task.begin, [&] {
      json.attribute("dur", int64_t(end - task.begin.step));
      json.attributeObject("args", [&] {
        json.attribute("task", int64_t(task.marker & ((1u << manifest.markerTaskBits) - 1)));
      });
    });
  }

  void writePause(const Pause &pause) {
    emu::Trace::Place at = pause.last.begin;
    at.step = pause.begin;
    std::string label = ("waits for " + mailboxAt(at.rank, pause.last.word)).str();
    event("X", label, at, [&] { json.attribute("dur", int64_t(pause.end - pause.begin)); });
    // From the post to the end of the wait.
    ++flows;
    auto arrow = [&] {
      json.attribute("cat", "mailbox");
      json.attribute("id", flows);
    };
    event("s", label, pause.last.stored, arrow);
    at.step = pause.end;
    event("f", label, at, [&] {
      arrow();
      json.attribute("bp", "e");
    });
  }

  /// The mailbox that holds the word on `rank`.
  StringRef mailboxAt(unsigned rank, DevicePtr word) const {
    for (const Mailbox &mailbox : group.manifest().mailboxes)
      for (unsigned slot = 0; slot < mailbox.slots; ++slot)
        if (DevicePtr start = group.slotMemory(rank, mailbox, slot);
            word >= start && word < start + mailbox.slotBytes())
          return mailbox.name;
    return "a mailbox";
  }

  json::OStream json;
  const Group &group;
  std::set<std::pair<unsigned, uint64_t>> named;
  int64_t flows = 0;
};

} // namespace

void writeTrace(raw_ostream &out, const emu::Trace &trace, const Group &group) {
  TraceWriter(out, group).write(trace);
}

} // namespace mono::tools

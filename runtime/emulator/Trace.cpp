// Clocks of wavefronts, and what is noted on them.
#include "runtime/emulator/Trace.h"

#include "runtime/emulator/exec/LaneMemory.h"
#include "runtime/emulator/exec/Workgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mono::emu {

void Trace::watch(DevicePtr start, uint64_t bytes) { watched[start] = start + bytes; }

Trace::Place Trace::now(const Wave &wave) const {
  return {wave.workgroup->launch().rank, wave.workgroup->linearId(),
          base + uint64_t(int64_t(wave.cycles / Wave::cyclesPerInstruction) + wave.stepShift)};
}

Trace::Row &Trace::rowOf(const Wave &wave) {
  Row &row = rows[{wave.workgroup->launch().rank, wave.workgroup->linearId()}];
  row.begun.resize(std::max<size_t>(row.begun.size(), wave.indexInWorkgroup + 1));
  return row;
}

/// The wave is done with the task it is in, if any.
void Trace::leave(Row &row, const Wave &wave) {
  uint64_t step = now(wave).step;
  latest = std::max(latest, step);
  if (size_t begun = row.begun[wave.indexInWorkgroup])
    row.tasks[begun - 1].end = std::max(row.tasks[begun - 1].end, step);
}

/// Registers with something in them, for people.
static std::string registersOf(const Wave &wave) {
  std::string text = fmt::format(
      "wavefront {}\n  pc 0x{:x}, exec 0x{:016x}, vcc 0x{:016x}, scc {}, "
      "m0 0x{:08x}",
      wave.indexInWorkgroup, wave.pc, wave.exec(), wave.vcc(), unsigned(wave.scc), wave.m0());
  unsigned shown = 0;
  for (unsigned n = 0; n < sgpr::vcc; ++n)
    if (wave.sgprs[n] && wave.sgprs[n] != poisonDword)
      text += fmt::format("{}s{} 0x{:08x}", shown++ % 6 ? "  " : "\n  ", n, wave.sgprs[n]);
  text += "\nvector registers, lanes 0 to 3:";
  for (unsigned n = 0; n < wave.numVgprs; ++n) {
    const uint32_t *lanes = wave.vgprs + size_t(n) * Wave::lanes;
    if (std::any_of(lanes, lanes + 4, [](uint32_t lane) { return lane && lane != poisonDword; }))
      text += fmt::format(
          "\n  {}{} 0x{:08x} 0x{:08x} 0x{:08x} 0x{:08x}", n < wave.accumOffset ? 'v' : 'a',
          n < wave.accumOffset ? n : n - wave.accumOffset, lanes[0], lanes[1], lanes[2], lanes[3]);
  }
  return text;
}

bool Trace::isStop(const Wave &wave, uint32_t value) const {
  return stop && stop->marker == value && !stoppedAt &&
         stop->rank.value_or(wave.workgroup->launch().rank) == wave.workgroup->launch().rank;
}

/// Ends the run, and keeps what its workgroup looks like.
void Trace::end(Wave &wave, const char *why) {
  Workgroup &workgroup = *wave.workgroup;
  Lds &lds = workgroup.lds();
  Stopped state{workgroup.launch().rank, workgroup.linearId(), registersOf(wave), {}, {}};
  state.lds.assign(lds.data(), lds.data() + lds.size());
  for (uint32_t at = 0; at < lds.size(); ++at)
    state.ldsWritten.push_back(lds.isWritten(at, 1));
  stoppedAt = std::move(state);
  wave.fault(why);
}

/// Keeps a wave that leaves the task to stop behind; the last one ends the run.
bool Trace::holds(Wave &wave) {
  if (!inside.erase(&wave))
    return false;
  wave.status = WaveStatus::Held;
  const std::vector<Wave> &all = wave.workgroup->waves();
  if (std::all_of(all.begin(), all.end(),
                  [](const Wave &other) { return other.status == WaveStatus::Held; }))
    end(wave, "stopped behind a task");
  return true;
}

void Trace::marker(Wave &wave, uint32_t value) {
  if (holds(wave))
    return;
  Row &row = rowOf(wave);
  leave(row, wave);
  Place place = now(wave);
  size_t index = row.begun[wave.indexInWorkgroup]++;
  if (index == row.tasks.size())
    row.tasks.push_back({place, place.step, value});
  else
    row.tasks[index].begin.step = std::min(row.tasks[index].begin.step, place.step);
  if (!isStop(wave, value))
    return;
  if (stop->behind)
    inside.insert(&wave);
  else
    end(wave, "stopped at a marker");
}

template <typename Visit>
void Trace::forEachWord(const LaneAddresses &at, unsigned bytes, Visit visit) const {
  for (uint64_t rest = at.mask; rest; rest &= rest - 1) {
    DevicePtr first = at.address[unsigned(std::countr_zero(rest))];
    auto range = watched.upper_bound(first);
    if (range == watched.begin() || first >= std::prev(range)->second)
      continue;
    for (DevicePtr word = first & ~DevicePtr(7); word < first + bytes; word += 8)
      visit(word);
  }
}

void Trace::stored(Wave &wave, const LaneAddresses &at, unsigned bytes) {
  Place place = now(wave);
  forEachWord(at, bytes, [&](DevicePtr word) { words[word] = place; });
}

void Trace::loaded(Wave &wave, const LaneAddresses &at, unsigned bytes) {
  Place mine = now(wave);
  Wait wait{mine, mine.step, 0, {}};
  forEachWord(at, bytes, [&](DevicePtr word) {
    auto found = words.find(word);
    if (found == words.end() || found->second.step < wait.end)
      return;
    wait.end = found->second.step + 1;
    wait.word = word;
    wait.stored = found->second;
  });
  if (!wait.word)
    return;
  wave.stepShift += int64_t(wait.end - mine.step);
  waitList.push_back(wait);
}

void Trace::barrier(Workgroup &workgroup, const Wave *arriving) {
  auto behind = [&](const Wave &wave) { return now(wave).step + (&wave == arriving); };
  uint64_t last = 0;
  for (const Wave &wave : workgroup.waves())
    if (wave.status == WaveStatus::AtBarrier)
      last = std::max(last, behind(wave));
  for (Wave &wave : workgroup.waves())
    if (wave.status == WaveStatus::AtBarrier)
      wave.stepShift += int64_t(last - behind(wave));
}

bool Trace::mayEnd(Wave &wave) {
  if (holds(wave))
    return false;
  leave(rowOf(wave), wave);
  return true;
}

void Trace::polledInVain(Wave &wave, uint64_t cycles) {
  wave.stepShift -= int64_t(cycles / Wave::cyclesPerInstruction);
}

std::vector<Trace::Task> Trace::tasks() const {
  std::vector<Task> all;
  for (const auto &[place, row] : rows)
    all.insert(all.end(), row.tasks.begin(), row.tasks.end());
  return all;
}

} // namespace mono::emu

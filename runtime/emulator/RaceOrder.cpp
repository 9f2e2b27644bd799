// What happens before what between the workgroups of a run.
#include "runtime/emulator/RaceOrder.h"

#include "runtime/emulator/exec/Program.h"

#include <algorithm>
#include <fmt/format.h>

namespace mono::emu {

static uint32_t retired(const Wave &wave) { return uint32_t(wave.waitcnt.vmemRetired()); }
static uint32_t issued(const Wave &wave) { return uint32_t(wave.waitcnt.vmemIssued()); }

// ---- events ------------------------------------------------------------------------------------

uint32_t RaceOrder::enter(const Workgroup &workgroup) {
  std::lock_guard guard(lock);
  if (workgroups.size() == maxWorkgroups)
    return maxWorkgroups;
  uint32_t number = uint32_t(workgroups.size());
  WorkgroupState &group = workgroups.emplace_back();
  const LaunchContext &launch = workgroup.launch();
  group.launch = &launch;
  group.coordinates = workgroup.coordinates();
  unsigned waves = launch.wavesPerWorkgroup();
  for (auto *counts : {&group.issued, &group.completed, &group.writtenBack})
    counts->resize(waves);
  group.waves.resize(waves);
  rankOfWorkgroup[number] = uint8_t(launch.rank);

  // Launches of a rank do not overlap: another context than that of the last workgroup is the next.
  auto &ofRank = launches[launch.rank];
  if (ofRank.empty() || workgroups[ofRank.back().back()].launch != &launch) {
    launchStarts.push_back({launch.rank, unsigned(ofRank.size())});
    ofRank.emplace_back();
  }
  group.ordinal = unsigned(ofRank.size()) - 1;
  ofRank.back().push_back(number);
  if (group.ordinal == 0)
    return number;
  uint32_t start = 0;
  while (launchStarts[start] != std::pair(launch.rank, group.ordinal))
    ++start;
  for (WaveState &wave : group.waves) {
    wave.acquired.push_back({launchEvent | start, 0});
    wave.invalidated = 1; // a launch starts with empty caches
  }
  return number;
}

RaceOrder::WaveState &RaceOrder::stateOf(const Wave &wave) {
  return workgroups[wave.workgroup->raceId()].waves[wave.indexInWorkgroup];
}

void RaceOrder::note(const Wave &wave, uint32_t number, const Instruction &inst) {
  std::lock_guard guard(lock);
  auto &log = stateOf(wave).log;
  if (log.size() <= number)
    log.resize(number + 1);
  log[number] = &inst;
}

/// The write-backs that vmcnt says are complete take effect.
void RaceOrder::settle(const Wave &wave, WaveState &state, WorkgroupState &group) {
  while (!state.underWay.empty() && state.underWay.front().number <= retired(wave)) {
    state.writtenBack.resize(group.waves.size());
    for (size_t n = 0; n < group.waves.size(); ++n)
      state.writtenBack[n] = std::max(state.writtenBack[n], state.underWay.front().issued[n]);
    state.underWay.erase(state.underWay.begin());
    state.snapshot = 0;
  }
}

/// Only loads that have returned can have acquired anything by now; a barrier is numbered 0.
RaceOrder::EdgeCounts RaceOrder::countEdges(const Wave &wave, WaveState &state) {
  uint32_t all = uint32_t(state.acquired.size());
  while (state.returned < all && state.acquired[state.returned].number <= retired(wave))
    ++state.returned;
  return {all, state.returned, state.invalidated};
}

/// Stores completed counts and the maximum of two written-back counts; returns where.
uint32_t RaceOrder::snapshot(const std::vector<uint32_t> &completed, const std::vector<uint32_t> &a,
                             const std::vector<uint32_t> &b) {
  uint32_t where = uint32_t(snapshots.size());
  snapshots.insert(snapshots.end(), completed.begin(), completed.end());
  for (size_t n = 0; n < a.size(); ++n)
    snapshots.push_back(b.empty() ? a[n] : std::max(a[n], b[n]));
  return where;
}

RaceOrder::Node RaceOrder::release(const Wave &wave, Scope scope, Node previous) {
  std::lock_guard guard(lock);
  uint32_t number = wave.workgroup->raceId();
  WorkgroupState &group = workgroups[number];
  WaveState &state = group.waves[wave.indexInWorkgroup];
  settle(wave, state, group);
  uint32_t &kept = state.writtenBack.empty() ? group.snapshot : state.snapshot;
  if (kept == 0)
    kept = snapshot(group.completed, group.writtenBack, state.writtenBack);
  releases.push_back({number, uint8_t(wave.indexInWorkgroup), scope, retired(wave), kept,
                      countEdges(wave, state), previous});
  return Node(releases.size() - 1);
}

void RaceOrder::acquire(const Wave &wave, Scope scope, Node node) {
  std::lock_guard guard(lock);
  WaveState &state = stateOf(wave);
  Node &known = state.recent[node % state.recent.size()];
  if (node == 0 || known == node)
    return;
  known = node;
  const Release &release = releases[node];
  bool otherRank = rankOf(release.workgroup) != wave.workgroup->launch().rank;
  if (otherRank && (scope != Scope::System || release.scope != Scope::System))
    return; // the value may pass, but nothing is ordered by it
  state.acquired.push_back({releaseEvent | node, issued(wave) + 1});
}

void RaceOrder::writeBack(const Wave &wave) {
  std::lock_guard guard(lock);
  WorkgroupState &group = workgroups[wave.workgroup->raceId()];
  WriteBack event;
  event.number = issued(wave) + 1;
  event.issued.assign(group.issued.begin(), group.issued.end());
  event.issued[wave.indexInWorkgroup] = issued(wave);
  group.waves[wave.indexInWorkgroup].underWay.push_back(std::move(event));
}

void RaceOrder::invalidate(const Wave &wave) {
  std::lock_guard guard(lock);
  WaveState &state = stateOf(wave);
  state.invalidated = countEdges(wave, state).returned;
}

void RaceOrder::barrier(const Workgroup &workgroup) {
  std::lock_guard guard(lock);
  uint32_t number = workgroup.raceId();
  WorkgroupState &group = workgroups[number];
  Barrier event{number, {}};
  auto sumOfEdges = [&] {
    uint64_t sum = 0;
    for (const Wave &wave : workgroup.waves()) {
      EdgeCounts edges = countEdges(wave, group.waves[wave.indexInWorkgroup]);
      sum += edges.all + edges.returned + edges.invalidated;
    }
    return sum;
  };
  for (const Wave &wave : workgroup.waves()) {
    WaveState &state = group.waves[wave.indexInWorkgroup];
    settle(wave, state, group);
    bool ended = wave.status == WaveStatus::Ended;
    group.issued[wave.indexInWorkgroup] = issued(wave);
    group.completed[wave.indexInWorkgroup] = ended ? issued(wave) : retired(wave);
    for (size_t n = 0; n < state.writtenBack.size(); ++n)
      group.writtenBack[n] = std::max(group.writtenBack[n], state.writtenBack[n]);
    state.writtenBack.clear();
    state.snapshot = 0;
    event.edges.push_back(countEdges(wave, state));
  }
  group.snapshot = 0;
  if (sumOfEdges() == group.edges)
    return; // nobody learnt anything to pass on
  uint32_t index = uint32_t(barriers.size());
  barriers.push_back(std::move(event));
  for (WaveState &wave : group.waves)
    wave.acquired.push_back({barrierEvent | index, 0});
  group.edges = sumOfEdges();
}

// ---- searching ---------------------------------------------------------------------------------

void RaceOrder::merge(Knowledge &k, const Release &release) {
  const WorkgroupState &group = workgroups[release.workgroup];
  size_t waves = group.waves.size();
  auto &covered = k.covered[release.workgroup];
  covered.resize(2 * waves);
  for (size_t n = 0; n < 2 * waves; ++n)
    covered[n] = std::max(covered[n], snapshots[release.snapshot + n]);
  covered[release.wave] = std::max(covered[release.wave], release.completed);
  unsigned rank = rankOf(release.workgroup);
  k.launchSeen[rank] = std::max(k.launchSeen[rank], group.ordinal);
}

/// Puts the first `count` edges of a wave on the list, as far as they were not there before.
void RaceOrder::scan(Knowledge &k, Work &work, uint32_t workgroup, unsigned wave, uint32_t count) {
  const std::vector<Edge> &edges = workgroups[workgroup].waves[wave].acquired;
  uint32_t &done = k.scanned[workgroup * 16 + wave];
  for (; done < count; ++done)
    work.push_back({edges[done].event, false});
}

/// Barriers among the edges [from, to), which nothing else may be relied on of.
void RaceOrder::scanBarriers(Work &work, uint32_t workgroup, unsigned wave, uint32_t from,
                             uint32_t to, bool cached) {
  const std::vector<Edge> &edges = workgroups[workgroup].waves[wave].acquired;
  for (uint32_t n = from; n < to; ++n)
    if ((edges[n].event & ~eventIndex) == barrierEvent)
      work.push_back({edges[n].event, cached});
}

void RaceOrder::scan(Knowledge &k, Work &work, uint32_t workgroup, unsigned wave,
                     const EdgeCounts &edges, bool cached) {
  uint32_t good = cached ? edges.invalidated : edges.returned;
  scan(k, work, workgroup, wave, good);
  scanBarriers(work, workgroup, wave, good, edges.all, cached);
}

void RaceOrder::visit(Knowledge &k, Work &work, Step step) {
  if (!k.visited.insert(step.event | uint64_t(step.cached) << 32).second)
    return;
  uint32_t index = step.event & eventIndex;
  switch (step.event & ~eventIndex) {
  case releaseEvent: {
    const Release release = releases[index];
    merge(k, release);
    scan(k, work, release.workgroup, release.wave, release.edges, false);
    if (release.previous)
      work.push_back({releaseEvent | release.previous, false});
    return;
  }
  case barrierEvent: {
    const Barrier &barrier = barriers[index];
    for (unsigned wave = 0; wave < barrier.edges.size(); ++wave)
      scan(k, work, barrier.workgroup, wave, barrier.edges[wave], step.cached);
    return;
  }
  default: {
    auto [rank, ordinal] = launchStarts[index];
    k.launchSeen[rank] = std::max(k.launchSeen[rank], ordinal);
    for (uint32_t workgroup : launches[rank][ordinal - 1])
      for (unsigned wave = 0; wave < workgroups[workgroup].waves.size(); ++wave)
        scan(k, work, workgroup, wave, uint32_t(workgroups[workgroup].waves[wave].acquired.size()));
  }
  }
}

const RaceOrder::Knowledge &RaceOrder::knowledge(const Wave &wave, View view) {
  uint32_t workgroup = wave.workgroup->raceId();
  WaveState &state = stateOf(wave);
  bool cached = view == View::Cached;
  auto &known = cached ? state.cached : state.fresh;
  if (!known) {
    known = std::make_unique<Knowledge>();
    known->launchSeen.resize(launches.size());
  }
  Work work;
  EdgeCounts edges = countEdges(wave, state);
  uint32_t good = cached ? edges.invalidated : edges.returned;
  scan(*known, work, workgroup, wave.indexInWorkgroup, good);
  scanBarriers(work, workgroup, wave.indexInWorkgroup, std::max(known->barriersScanned, good),
               edges.all, cached);
  known->barriersScanned = edges.all;
  while (!work.empty()) {
    Step step = work.back();
    work.pop_back();
    visit(*known, work, step);
  }
  return *known;
}

bool RaceOrder::isOrdered(const RaceAccess &earlier, const Wave &later, View view) {
  std::lock_guard guard(lock);
  uint32_t number = later.workgroup->raceId();
  const WorkgroupState &group = workgroups[number], &other = workgroups[earlier.workgroup];
  if (number == earlier.workgroup)
    return true;
  if (other.launch->rank == group.launch->rank && other.ordinal < group.ordinal)
    return true;
  if (view == View::Scalar)
    return false;
  const Knowledge &known = knowledge(later, view);
  if (known.launchSeen[other.launch->rank] > other.ordinal)
    return true;
  auto it = known.covered.find(earlier.workgroup);
  if (it == known.covered.end())
    return false;
  size_t waves = other.waves.size();
  uint32_t completed = it->second[earlier.wave], writtenBack = it->second[waves + earlier.wave];
  if (earlier.isWrite && earlier.scope == Scope::Wave)
    return earlier.number <= writtenBack;
  return earlier.number <= completed || (earlier.isWrite && earlier.number <= writtenBack);
}

std::string RaceOrder::describe(const RaceAccess &access) {
  std::lock_guard guard(lock);
  const WorkgroupState &group = workgroups[access.workgroup];
  const auto &log = group.waves[access.wave].log;
  const Instruction *inst = access.number < log.size() ? log[access.number] : nullptr;
  auto [x, y, z] = group.coordinates;
  return fmt::format(
      "rank {}, kernel '{}', workgroup ({}, {}, {}), wave {}, {}", group.launch->rank,
      group.launch->kernel, x, y, z, access.wave,
      inst ? fmt::format("pc 0x{:x}: {}", inst->pc, group.launch->program->text(*inst))
           : "unknown pc");
}

} // namespace mono::emu

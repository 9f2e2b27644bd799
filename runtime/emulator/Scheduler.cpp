// Runs the workgroups of several launches on host threads: dispatch, fair turns, polling waves,
// deadlock and budget.
#include "runtime/emulator/Scheduler.h"

#include "runtime/Error.h"
#include "runtime/emulator/CacheModel.h"
#include "runtime/emulator/CoherenceSchedule.h"
#include "runtime/emulator/Dispatcher.h"
#include "runtime/emulator/RaceGlobal.h"
#include "runtime/emulator/Trace.h"
#include "runtime/emulator/exec/Interpreter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

namespace mono::emu {

namespace {

// ---- state all threads share -------------------------------------------------------------------

/// Where a worker stands in the search for a deadlock.
struct alignas(64) IdleState {
  static constexpr uint64_t finished = ~uint64_t(0);
  std::atomic<uint64_t> rounds = 0; ///< rounds in a row in which its waves only polled
  std::atomic<uint64_t> epoch = 0;  ///< memory epoch during them
};

struct Shared {
  const Options &options;
  Dispatcher dispatcher;
  std::vector<std::vector<std::unique_ptr<ExecStats>>> &stats; ///< [thread][rank]
  std::vector<IdleState> idle;
  RandomSchedule *adversary; ///< null in fast mode
  std::atomic<bool> stop = false;
  std::atomic<bool> deadlock = false;
  std::atomic<bool> budgetSpent = false;
  std::atomic<uint64_t> executed = 0;
  std::mutex progressLock = {}; ///< held while Options::onProgress runs

  /// Number of memory changes made by all threads: if it has not moved, a poll sees what it saw.
  uint64_t epoch() const {
    uint64_t sum = 0;
    for (const auto &thread : stats)
      for (const auto &rank : thread)
        sum += rank->memoryChanges.load(std::memory_order_acquire);
    return sum;
  }

  /// All workers have polled in vain often enough while memory stood still.
  bool isDeadlock() const {
    uint64_t now = epoch();
    for (const IdleState &state : idle) {
      uint64_t rounds = state.rounds.load();
      if (rounds == IdleState::finished)
        continue;
      if (rounds < options.deadlockRounds || state.epoch.load() != now)
        return false;
    }
    return true;
  }
};

// ---- one host thread ---------------------------------------------------------------------------

class Worker {
public:
  Worker(Shared &shared, unsigned thread)
      : shared(shared), adversary(shared.adversary), thread(thread) {}

  /// Runs workgroups until none is left or someone stops the run.
  void run() {
    while (!shared.stop) {
      if (adversary)
        adversary->nextRound();
      for (auto &workgroup : std::exchange(lastOfLaunch, {}))
        finish(std::move(workgroup));
      bool progress = startNewWorkgroups();
      ++round;
      uint64_t epochBefore = shared.epoch();
      progress |= visitAll(epochBefore);
      if (active.empty() && shared.dispatcher.allFinished())
        break;
      if (adversary && !progress)
        progress = adversary->heldRanks() != 0 || adversary->memory.advance();
      noteIdleness(progress, epochBefore);
    }
    // Nothing of this thread stands in the way of a deadlock elsewhere.
    leaveIdle();
  }

  /// Workgroups still alive after a stop.
  std::vector<std::unique_ptr<Workgroup>> active;

private:
  bool startNewWorkgroups();
  bool visitAll(uint64_t epoch);
  bool visit(Workgroup &workgroup, uint64_t epoch);
  bool visitAtRandom(Workgroup &workgroup, uint64_t epoch);
  bool turn(Wave &wave, uint64_t epoch);
  bool mayRun(const Wave &wave, uint64_t epoch) const;
  bool isPolling(const Wave &wave) const;
  unsigned backoff(const Wave &wave);
  void spend(uint64_t instructions);
  void noteIdleness(bool progress, uint64_t epochBefore);
  void leaveIdle();
  std::unique_ptr<Workgroup> storageFor(const PreparedLaunch &launch);
  void finish(std::unique_ptr<Workgroup> workgroup);

  /// A poller is left alone for at most this many rounds while memory changes elsewhere.
  static constexpr unsigned maxBackoff = 16;
  static constexpr size_t maxSpare = 64;
  static constexpr uint64_t instructionsPerReport = 1'000'000;

  Shared &shared;
  RandomSchedule *adversary;
  unsigned thread;
  uint64_t round = 0;
  uint64_t idleRounds = 0;
  std::chrono::steady_clock::time_point idleSince;
  std::vector<std::unique_ptr<Workgroup>> spare; ///< storage to use again
  /// Ended, but their launch has not: its stores are under way (adversarial runs).
  std::vector<std::unique_ptr<Workgroup>> lastOfLaunch;
};

std::unique_ptr<Workgroup> Worker::storageFor(const PreparedLaunch &launch) {
  for (auto &workgroup : spare)
    if (&workgroup->launch() == &launch.context) {
      std::unique_ptr<Workgroup> result = std::move(workgroup);
      workgroup = std::move(spare.back());
      spare.pop_back();
      return result;
    }
  if (spare.size() > maxSpare)
    spare.clear(); // of earlier launches, most likely
  return std::make_unique<Workgroup>(launch.context);
}

bool Worker::startNewWorkgroups() {
  bool any = false;
  while (!shared.stop) {
    std::optional<Dispatcher::Ticket> ticket =
        shared.dispatcher.take(thread, adversary ? adversary->heldRanks() : 0);
    if (!ticket)
      return any;
    any = true;
    ExecStats &stats = *shared.stats[thread][ticket->launch->context.rank];
    ++stats.workgroups;
    std::unique_ptr<Workgroup> workgroup = storageFor(*ticket->launch);
    workgroup->reset(ticket->workgroup, &stats);
    if (!adversary) // which lets the first ones wait for later ones
      visit(*workgroup, shared.epoch());
    if (workgroup->liveWaves() == 0)
      finish(std::move(workgroup));
    else
      active.push_back(std::move(workgroup));
    if (adversary && adversary->startsNoMore())
      return any;
  }
  return any;
}

void Worker::finish(std::unique_ptr<Workgroup> workgroup) {
  unsigned rank = workgroup->launch().rank;
  if (adversary && shared.dispatcher.isLastOfLaunch(rank) && adversary->memory.hasPending(rank)) {
    lastOfLaunch.push_back(std::move(workgroup));
    return;
  }
  if (shared.dispatcher.finish(thread, rank) && adversary)
    adversary->memory.finishLaunch(rank);
  spare.push_back(std::move(workgroup));
}

bool Worker::visitAll(uint64_t epoch) {
  bool progress = false;
  if (adversary)
    adversary->random.shuffle(active);
  for (size_t n = 0; n < active.size() && !shared.stop;) {
    if (adversary && (adversary->heldRanks() >> active[n]->launch().rank & 1)) {
      ++n;
      continue;
    }
    progress |= visit(*active[n], epoch);
    if (active[n]->liveWaves() != 0) {
      ++n;
      continue;
    }
    finish(std::move(active[n]));
    active[n] = std::move(active.back());
    active.pop_back();
  }
  return progress;
}

/// Gives the waves turns until all are blocked or each has had about a quantum; true if a wave did
/// more than poll.
bool Worker::visit(Workgroup &workgroup, uint64_t epoch) {
  if (adversary)
    return visitAtRandom(workgroup, epoch);
  bool progress = false, again = true;
  uint64_t before = workgroup.liveWaves();
  for (unsigned sweep = 0; again && sweep < 64 && !shared.stop; ++sweep) {
    again = false;
    for (Wave &wave : workgroup.waves())
      if (mayRun(wave, epoch))
        again |= turn(wave, epoch);
    progress |= again;
    // A wave that used up its quantum must not keep others waiting.
    for (Wave &wave : workgroup.waves())
      again &= wave.status != WaveStatus::Running || !wave.hadFullTurn;
  }
  for (Wave &wave : workgroup.waves())
    wave.hadFullTurn = false;
  return progress || workgroup.liveWaves() != before;
}

/// Gives some of the waves one turn each, in any order.
bool Worker::visitAtRandom(Workgroup &workgroup, uint64_t epoch) {
  bool progress = false;
  std::vector<Wave *> order;
  for (Wave &wave : workgroup.waves())
    order.push_back(&wave);
  adversary->random.shuffle(order);
  for (Wave *wave : order) {
    if (shared.stop || !mayRun(*wave, epoch))
      continue;
    if (wave->status == WaveStatus::Running && !adversary->runsThisTime())
      progress |= !isPolling(*wave); // it could have run
    else
      progress |= turn(*wave, epoch);
    adversary->memory.stir();
  }
  return progress;
}

bool Worker::mayRun(const Wave &wave, uint64_t epoch) const {
  if (wave.status == WaveStatus::Running)
    return true;
  if (wave.status != WaveStatus::Sleeping || wave.lastRound == round)
    return false;
  // Nothing moves here: poll often enough to tell a deadlock, then wait for the other threads. What
  // the host or another process writes moves no epoch, so then polling goes on.
  if (idleRounds != 0)
    return idleRounds < shared.options.deadlockRounds || epoch != wave.seenEpoch ||
           shared.options.deadlockPatienceMs != 0;
  return epoch != wave.seenEpoch && round >= wave.wakeRound;
}

/// Short turns may end in the middle of a poll: until the wave has run for some time since it
/// slept, it has not got anywhere.
bool Worker::isPolling(const Wave &wave) const {
  constexpr uint64_t longestPoll = 48;
  return adversary && wave.status == WaveStatus::Running && wave.sleptAt != 0 &&
         wave.instructions - wave.sleptAt < longestPoll;
}

/// Rounds until the wave polls again.
unsigned Worker::backoff(const Wave &wave) {
  if (adversary)
    return 1 + unsigned(adversary->random.below(4));
  return std::min(1u << std::min(wave.fruitlessPolls, 8u), maxBackoff);
}

/// Takes instructions off the budget of the run, and ends it when they are spent.
void Worker::spend(uint64_t instructions) {
  uint64_t before = shared.executed.fetch_add(instructions, std::memory_order_relaxed);
  uint64_t now = before + instructions;
  if (shared.options.onProgress && before / instructionsPerReport != now / instructionsPerReport)
    if (std::unique_lock lock(shared.progressLock, std::try_to_lock); lock)
      shared.options.onProgress(now);
  if (now <= shared.options.instructionBudget)
    return;
  shared.budgetSpent = true;
  shared.stop = true;
}

/// Runs one wave for a turn; true if it did more than find its poll unchanged.
bool Worker::turn(Wave &wave, uint64_t epoch) {
  bool wasPolling = wave.status == WaveStatus::Sleeping || isPolling(wave);
  wave.status = WaveStatus::Running;
  wave.lastRound = round;
  uint64_t cyclesBefore = wave.cycles;
  uint64_t executed = runWave(wave, adversary ? adversary->quantum() : shared.options.quantum);
  wave.hadFullTurn = wave.status == WaveStatus::Running;
  spend(executed);
  if (wave.status == WaveStatus::Faulted)
    shared.stop = true;
  if (wave.status != WaveStatus::Sleeping) {
    wave.fruitlessPolls = 0;
    return !isPolling(wave);
  }
  wave.sleptAt = wave.instructions;
  wave.seenEpoch = epoch;
  if (!wasPolling)
    wave.fruitlessPolls = 0;
  else
    ++wave.fruitlessPolls;
  if (Trace *trace = shared.options.trace)
    trace->polledInVain(wave, wasPolling ? wave.cycles - cyclesBefore
                                         : wave.sleepUnits * Wave::cyclesPerSleepUnit);
  wave.wakeRound = round + backoff(wave);
  return !wasPolling;
}

/// Counts rounds without progress and ends the run when every worker counts enough of them. Only
/// rounds at one memory epoch count: then each poller has looked again and seen the same.
void Worker::noteIdleness(bool progress, uint64_t epochBefore) {
  IdleState &mine = shared.idle[thread];
  if (progress) {
    idleRounds = 0;
    mine.rounds = 0;
    return;
  }
  if (mine.epoch.load() != epochBefore || shared.epoch() != epochBefore) {
    // The others still work and may wake a poller of ours: leave the core to them for a moment.
    idleRounds = 0;
    mine.rounds = 0;
    mine.epoch = epochBefore;
    if (shared.idle.size() > 1)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    return;
  }
  auto now = std::chrono::steady_clock::now();
  if (idleRounds == 0)
    idleSince = now;
  mine.rounds = ++idleRounds;
  if (idleRounds < shared.options.deadlockRounds)
    return;
  bool patient = now - idleSince < std::chrono::milliseconds(shared.options.deadlockPatienceMs);
  if (!patient && shared.isDeadlock()) {
    if (shared.options.checks.has(Check::Deadlock)) {
      shared.deadlock = true;
      shared.stop = true;
      return;
    }
    // Nobody runs any more, so that time itself has to use up the budget.
    spend(shared.options.quantum);
  }
  if (shared.idle.size() > 1 || patient)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void Worker::leaveIdle() { shared.idle[thread].rounds = IdleState::finished; }

// ---- reports -----------------------------------------------------------------------------------

using WaveList = std::vector<const Wave *>;

/// Waves of all workers that satisfy the predicate, in the order rank, workgroup, wave.
template <typename Predicate>
WaveList collectWaves(const std::vector<std::unique_ptr<Worker>> &workers, Predicate wanted) {
  WaveList list;
  for (const auto &worker : workers)
    for (const auto &workgroup : worker->active)
      for (const Wave &wave : workgroup->waves())
        if (wanted(wave))
          list.push_back(&wave);
  std::sort(list.begin(), list.end(), [](const Wave *a, const Wave *b) {
    auto key = [](const Wave *w) {
      return std::tuple(w->workgroup->launch().rank, w->workgroup->launch().launchIndex,
                        w->workgroup->linearId(), w->indexInWorkgroup);
    };
    return key(a) < key(b);
  });
  return list;
}

constexpr size_t maxListedWaves = 16;

std::string listWaves(const WaveList &waves) {
  std::string text;
  for (size_t n = 0; n < std::min(waves.size(), maxListedWaves); ++n)
    text += fmt::format("\n  {} [{}]", describeWave(*waves[n]),
                        waves[n]->status == WaveStatus::AtBarrier  ? "at barrier"
                        : waves[n]->status == WaveStatus::Sleeping ? "polling"
                                                                   : "running");
  if (waves.size() > maxListedWaves)
    text += fmt::format("\n  and {} more", waves.size() - maxListedWaves);
  return text;
}

using LaunchList = std::vector<std::unique_ptr<PreparedLaunch>>;

/// Says of each launch how it ended; those of `failing` waves failed.
void noteEnds(const Shared &shared, const LaunchList &launches, const WaveList &failing) {
  for (const auto &launch : launches)
    launch->end = shared.dispatcher.isFinished(*launch) ? LaunchEnd::Whole : LaunchEnd::Stopped;
  for (const Wave *wave : failing)
    launches[wave->workgroup->launch().launchIndex]->end = LaunchEnd::Failed;
}

llvm::Error outcome(const Shared &shared, const std::vector<std::unique_ptr<Worker>> &workers,
                    const LaunchList &launches) {
  WaveList faulted =
      collectWaves(workers, [](const Wave &w) { return w.status == WaveStatus::Faulted; });
  noteEnds(shared, launches, faulted);
  if (!faulted.empty())
    return makeError("{}: {}", describeWave(*faulted.front()), faulted.front()->faultMessage());
  WaveList live =
      collectWaves(workers, [](const Wave &w) { return w.status != WaveStatus::Ended; });
  noteEnds(shared, launches, live);
  if (shared.deadlock)
    return makeError(
        "deadlock: {} waves wait and memory has not changed for {} rounds of polling{}",
        live.size(), shared.options.deadlockRounds, listWaves(live));
  if (shared.budgetSpent)
    return makeError(
        "instruction budget of {} wave instructions is spent, {} waves are still live{}",
        shared.options.instructionBudget, live.size(), listWaves(live));
  return llvm::Error::success();
}

// ---- memory models -----------------------------------------------------------------------------

/// What watches over or distorts the memory of one run, as the options ask.
class RunMemory {
public:
  RunMemory(const std::vector<std::unique_ptr<PreparedLaunch>> &launches, const Options &options,
            unsigned ranks) {
    const AddressSpace &memory = *launches.front()->context.memory;
    if (options.coherence.isAdversarial) {
      caches = std::make_unique<CoherenceModel>(memory, options.coherence.seed);
      random = std::make_unique<RandomSchedule>(*caches, ranks);
    }
    if (options.checks.has(Check::GlobalRace))
      race = std::make_unique<RaceGlobal>(memory, ranks);
    if (options.modelCaches)
      cacheModel = std::make_unique<CacheModel>(memory, ranks);
    for (const auto &launch : launches) {
      launch->context.mfmaOrder = options.mfmaOrder;
      launch->context.coherence = caches.get();
      launch->context.race = race.get();
      launch->context.trace = options.trace;
      launch->context.caches = cacheModel.get();
    }
  }
  RandomSchedule *schedule() { return random.get(); }

private:
  std::unique_ptr<CoherenceModel> caches;
  std::unique_ptr<RandomSchedule> random;
  std::unique_ptr<RaceGlobal> race;
  std::unique_ptr<CacheModel> cacheModel;
};

} // namespace

llvm::Error runLaunches(const std::vector<std::unique_ptr<PreparedLaunch>> &launches,
                        const Options &options, unsigned ranks, unsigned allocationIds,
                        std::vector<std::vector<std::unique_ptr<ExecStats>>> &stats) {
  unsigned threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  threads = options.coherence.isAdversarial || options.trace ? 1 : std::max(threads, 1u);
  RunMemory memory(launches, options, ranks);
  if (options.trace)
    options.trace->beginRun();
  stats.resize(threads);
  for (auto &perRank : stats)
    for (unsigned rank = 0; rank < ranks; ++rank) {
      perRank.push_back(std::make_unique<ExecStats>());
      perRank.back()->traffic.resize(allocationIds);
      perRank.back()->countsWorkgroups = options.countWorkgroups;
      if (options.countBankConflicts)
        perRank.back()->ldsBanks = std::make_unique<LdsBanks>();
    }
  Shared shared{.options = options,
                .dispatcher = Dispatcher(launches, ranks, threads),
                .stats = stats,
                .idle = std::vector<IdleState>(threads),
                .adversary = memory.schedule()};
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned thread = 0; thread < threads; ++thread)
    workers.push_back(std::make_unique<Worker>(shared, thread));
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < threads; ++thread)
    others.emplace_back([&, thread] { workers[thread]->run(); });
  workers[0]->run();
  for (std::thread &other : others)
    other.join();
  return outcome(shared, workers, launches);
}

} // namespace mono::emu

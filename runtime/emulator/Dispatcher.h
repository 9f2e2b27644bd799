// Hands the workgroups of a run to its host threads.
#pragma once

#include "runtime/emulator/Scheduler.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace mono::emu {

/// Hands out workgroups: per rank the launches in order, per launch the workgroups in order, no
/// more than the chip holds, and no thread more than its share of them.
class Dispatcher {
public:
  Dispatcher(const std::vector<std::unique_ptr<PreparedLaunch>> &launches, unsigned ranks,
             unsigned threads)
      : threads(threads), queues(ranks) {
    for (const auto &launch : launches)
      queues[launch->context.rank].launches.push_back(launch.get());
    for (RankQueue &queue : queues) {
      queue.held.resize(threads);
      for (const PreparedLaunch *launch : queue.launches)
        unfinished += launch->context.workgroups();
    }
  }

  struct Ticket {
    const PreparedLaunch *launch;
    uint64_t workgroup;
  };

  /// The next workgroup for a thread, if any may start now; none of the ranks held back.
  std::optional<Ticket> take(unsigned thread, uint64_t heldRanks) {
    std::lock_guard<std::mutex> guard(lock);
    for (size_t n = 0; n < queues.size(); ++n) {
      RankQueue &queue = queues[(nextRank + n) % queues.size()];
      bool isHeld = heldRanks >> ((nextRank + n) % queues.size()) & 1;
      if (isHeld || queue.current == queue.launches.size())
        continue;
      const PreparedLaunch *launch = queue.launches[queue.current];
      uint64_t total = launch->context.workgroups();
      uint64_t resident = std::min(total, launch->capacity);
      uint64_t share = (resident + threads - 1) / threads;
      if (queue.next == total || queue.active == resident || queue.held[thread] >= share)
        continue;
      ++queue.active;
      ++queue.held[thread];
      nextRank = (nextRank + n + 1) % queues.size();
      return Ticket{launch, queue.next++};
    }
    return std::nullopt;
  }

  /// Nothing but one active workgroup is left of the launch that runs on `rank`.
  bool isLastOfLaunch(unsigned rank) {
    std::lock_guard<std::mutex> guard(lock);
    const RankQueue &queue = queues[rank];
    return queue.active == 1 && queue.next == queue.launches[queue.current]->context.workgroups();
  }

  /// True if that was the last workgroup of its launch.
  bool finish(unsigned thread, unsigned rank) {
    std::lock_guard<std::mutex> guard(lock);
    RankQueue &queue = queues[rank];
    --queue.active;
    --queue.held[thread];
    --unfinished;
    if (queue.active != 0 || queue.next != queue.launches[queue.current]->context.workgroups())
      return false;
    ++queue.current;
    queue.next = 0;
    return true;
  }

  bool allFinished() {
    std::lock_guard<std::mutex> guard(lock);
    return unfinished == 0;
  }

  /// Once the threads have ended: whether all workgroups of the launch have.
  bool isFinished(const PreparedLaunch &launch) const {
    const RankQueue &queue = queues[launch.context.rank];
    auto at = std::find(queue.launches.begin(), queue.launches.end(), &launch);
    return at < queue.launches.begin() + queue.current;
  }

private:
  struct RankQueue {
    std::vector<const PreparedLaunch *> launches;
    size_t current = 0; ///< launch being dispatched
    uint64_t next = 0;  ///< its next workgroup
    uint64_t active = 0;
    std::vector<uint64_t> held; ///< active ones by thread
  };
  std::mutex lock;
  unsigned threads;
  std::vector<RankQueue> queues;
  size_t nextRank = 0;
  uint64_t unfinished = 0;
};

} // namespace mono::emu

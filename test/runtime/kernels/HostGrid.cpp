// Fibers for the work-items of a grid, run in turn on one host thread.
#include "test/runtime/kernels/HostGrid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace mono::emu::test::host {
namespace {

/// Where a group of work-items meets: opens when all live ones have arrived.
struct Meeting {
  uint32_t live = 0, arrived = 0;
  uint64_t generation = 0;

  void openIfComplete() {
    if (arrived < live || live == 0)
      return;
    arrived = 0;
    ++generation;
  }
  void leave() {
    --live;
    openIfComplete();
  }
};

struct HostWave {
  Meeting meeting;
  std::array<uint64_t, 64> slots = {};
};

struct HostWorkgroup {
  Dim index;
  Meeting meeting;
  std::vector<HostWave> waves;
  std::map<const void *, std::unique_ptr<uint64_t[]>> lds;
  std::vector<uint64_t> dynamicLds;
};

struct Fiber {
  static constexpr size_t stackBytes = 64 * 1024;
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  HostWorkgroup *group = nullptr;
  Dim thread = {};
  uint32_t flat = 0;
  bool ended = false;

  HostWave &wave() const { return group->waves[flat / 64]; }
};

struct Grid {
  Dim size, block;
  std::vector<HostWorkgroup> groups;
  std::vector<Fiber> fibers;
  const std::function<void()> *kernel = nullptr;
  ucontext_t scheduler;
};

Grid *grid = nullptr;
Fiber *current = nullptr;

void fiberMain() {
  (*grid->kernel)();
  current->ended = true;
  current->wave().meeting.leave();
  current->group->meeting.leave();
  swapcontext(&current->context, &grid->scheduler);
}

void meet(Meeting &meeting) {
  uint64_t generation = meeting.generation;
  ++meeting.arrived;
  meeting.openIfComplete();
  while (meeting.generation == generation)
    yield();
}

Dim unflatten(uint32_t flat, Dim size) {
  return {flat % size[0], flat / size[0] % size[1], flat / size[0] / size[1]};
}
uint32_t volume(Dim size) { return size[0] * size[1] * size[2]; }

void startFiber(Fiber &fiber, HostWorkgroup &group, uint32_t flat) {
  fiber.group = &group;
  fiber.flat = flat;
  fiber.thread = unflatten(flat, grid->block);
  // Not value-initialised: pages that a fiber never touches cost nothing.
  fiber.stack.reset(new char[Fiber::stackBytes]);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = Fiber::stackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiberMain, 0);
  ++group.meeting.live;
  ++fiber.wave().meeting.live;
}

void startGroups(size_t dynamicLdsBytes) {
  uint32_t items = volume(grid->block);
  grid->groups.resize(volume(grid->size));
  grid->fibers.resize(size_t(items) * grid->groups.size());
  for (uint32_t g = 0; g < grid->groups.size(); ++g) {
    HostWorkgroup &group = grid->groups[g];
    group.index = unflatten(g, grid->size);
    group.waves.resize((items + 63) / 64);
    group.dynamicLds.resize((dynamicLdsBytes + 7) / 8);
    for (uint32_t item = 0; item < items; ++item)
      startFiber(grid->fibers[size_t(g) * items + item], group, item);
  }
}

} // namespace

void runGrid(Dim size, Dim block, size_t dynamicLdsBytes, const std::function<void()> &kernel) {
  constexpr uint64_t turnLimit = 2'000'000;
  Grid local;
  grid = &local;
  local.size = size;
  local.block = block;
  local.kernel = &kernel;
  startGroups(dynamicLdsBytes);
  std::vector<Fiber *> live;
  for (Fiber &fiber : local.fibers)
    live.push_back(&fiber);
  for (uint64_t turn = 0; !live.empty() && turn < turnLimit; ++turn) {
    for (Fiber *fiber : live) {
      current = fiber;
      swapcontext(&local.scheduler, &fiber->context);
    }
    std::erase_if(live, [](Fiber *fiber) { return fiber->ended; });
  }
  EXPECT_TRUE(live.empty()) << live.size() << " work-items still wait after " << turnLimit
                            << " turns";
  grid = nullptr;
}

Dim threadIndex() { return current->thread; }
Dim blockIndex() { return current->group->index; }
Dim blockSize() { return grid->block; }
Dim gridSize() { return grid->size; }
uint32_t laneIndex() { return current->flat % 64; }

void yield() { swapcontext(&current->context, &grid->scheduler); }
void barrier() { meet(current->group->meeting); }

uint64_t exchange(uint64_t value, uint32_t lane) {
  HostWave &wave = current->wave();
  wave.slots[laneIndex()] = value;
  meet(wave.meeting);
  uint64_t result = wave.slots[lane];
  meet(wave.meeting); // nobody overwrites a slot that another lane has still to read
  return result;
}

uint64_t ballot(bool predicate) {
  HostWave &wave = current->wave();
  wave.slots[laneIndex()] = predicate;
  meet(wave.meeting);
  uint64_t mask = 0;
  for (uint32_t lane = 0; lane < 64; ++lane)
    mask |= (wave.slots[lane] & 1) << lane;
  meet(wave.meeting);
  wave.slots[laneIndex()] = 0; // a lane that ends must not vote later
  return mask;
}

void *ldsVariable(const void *site, size_t bytes) {
  std::unique_ptr<uint64_t[]> &memory = current->group->lds[site];
  if (!memory)
    memory = std::make_unique<uint64_t[]>((bytes + 7) / 8);
  return memory.get();
}
void *dynamicLds() { return current->group->dynamicLds.data(); }

} // namespace mono::emu::test::host

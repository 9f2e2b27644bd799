// Runs a kernel's source on the host the way a device does: every work-item of the grid is a fiber,
// all workgroups are resident, and barriers, wave exchanges and polling loops give way to the
// others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace mono::emu::test::host {

using Dim = std::array<uint32_t, 3>;

/// Runs `kernel` once for each work-item: `grid` workgroups of `block` work-items, in dimension
/// order x fastest, on the calling thread. A grid in which nobody ends within a generous number of
/// turns is a test failure.
void runGrid(Dim grid, Dim block, size_t dynamicLdsBytes, const std::function<void()> &kernel);

// The rest is for kernels.
Dim threadIndex();
Dim blockIndex();
Dim blockSize();
Dim gridSize();
/// Work-item number in its wavefront of 64.
uint32_t laneIndex();

/// Lets every other work-item run on.
void yield();
/// Waits until every live work-item of the workgroup has arrived.
void barrier();
/// The value that `lane` passed; all live lanes of the wave call it together.
uint64_t exchange(uint64_t value, uint32_t lane);
/// Bit l is set if lane l is live and passed true; all live lanes call it together.
uint64_t ballot(bool predicate);

/// Memory of this workgroup that belongs to the declaration at `site`.
void *ldsVariable(const void *site, size_t bytes);
void *dynamicLds();

} // namespace mono::emu::test::host

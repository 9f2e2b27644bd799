// From a Launch to what the scheduler runs.
#include "runtime/emulator/LaunchSetup.h"

#include "runtime/Error.h"
#include "runtime/Gfx950.h"
#include "runtime/emulator/LaunchRules.h"
#include "runtime/emulator/exec/Apertures.h"
#include "runtime/emulator/exec/Hazard.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace mono::emu {

llvm::Expected<const KernelDescription *> Module::find(llvm::StringRef kernel) const {
  auto it = object->kernels.find(kernel.str());
  if (it != object->kernels.end())
    return &it->second;
  std::string known;
  for (const auto &[name, description] : object->kernels)
    known += (known.empty() ? "" : ", ") + name;
  return makeError("no kernel '{}' in the code object; there are: {}", kernel, known);
}

// ---- validation --------------------------------------------------------------------------------

static llvm::Error checkResidency(const Launch &launch, const PreparedLaunch &prepared) {
  const LaunchContext &context = prepared.context;
  if (prepared.capacity == 0)
    return makeError(
        "kernel '{}': a workgroup of {} waves with {} VGPRs and {} bytes of LDS does not "
        "fit a compute unit",
        context.kernel, context.wavesPerWorkgroup(), context.setup.vgprs, context.ldsBytes);
  if (launch.resident && context.workgroups() > prepared.capacity)
    return makeError(
        "kernel '{}': grid larger than the chip: {} workgroups must be resident, but only "
        "{} fit ({} waves, {} VGPRs, {} bytes of LDS each)",
        context.kernel, context.workgroups(), prepared.capacity, context.wavesPerWorkgroup(),
        context.setup.vgprs, context.ldsBytes);
  return llvm::Error::success();
}

// ---- kernel arguments --------------------------------------------------------------------------

/// Work-items of the grid in one dimension.
static uint64_t workItemsOf(const Launch &launch, unsigned d) {
  uint64_t whole = uint64_t(launch.grid[d]) * launch.block[d];
  return launch.remainder[d] ? whole - launch.block[d] + launch.remainder[d] : whole;
}

/// The value of a hidden argument (AMDGPUUsage "hidden" value kinds); those the emulator has
/// nothing to say about, such as the hostcall buffer, are zero.
static uint64_t hiddenValue(llvm::StringRef kind, const Launch &launch) {
  auto dimension = [&](llvm::StringRef prefix) {
    return kind.starts_with(prefix) && kind.size() == prefix.size() + 1 ? kind.back() - 'x' : -1;
  };
  if (int d = dimension("hidden_block_count_"); d >= 0 && d < 3)
    return launch.grid[d] - (launch.remainder[d] != 0); // only the full ones
  if (int d = dimension("hidden_group_size_"); d >= 0 && d < 3)
    return launch.block[d];
  if (int d = dimension("hidden_remainder_"); d >= 0 && d < 3)
    return launch.remainder[d];
  if (kind == "hidden_grid_dims") {
    return workItemsOf(launch, 2) > 1 ? 3 : workItemsOf(launch, 1) > 1 ? 2 : 1;
  }
  if (kind == "hidden_dynamic_lds_size")
    return launch.dynamicLdsBytes;
  if (kind == "hidden_multigrid_sync_arg")
    return launch.multigridSync;
  if (kind == "hidden_private_base")
    return aperture::privateBase >> 32;
  if (kind == "hidden_shared_base")
    return aperture::sharedBase >> 32;
  return 0;
}

static llvm::Expected<std::vector<uint8_t>> completeKernarg(const Launch &launch,
                                                            const KernelDescription &kernel) {
  uint64_t segment = kernel.info.kernargBytes, given = launch.kernarg.size();
  std::vector<uint8_t> bytes = launch.kernarg;
  if (given == segment)
    return bytes;
  const uint64_t explicitEnd = explicitBytes(kernel.args);
  const bool anyHidden = llvm::any_of(kernel.args, isHidden);
  if (!anyHidden || given < explicitEnd || given > segment)
    return makeError("kernel '{}': expected {} bytes of kernel arguments, but got {}",
                     launch.kernel, anyHidden ? explicitEnd : segment, given);
  bytes.resize(segment);
  for (const KernelArg &arg : kernel.args) {
    if (!isHidden(arg))
      continue;
    uint64_t value = hiddenValue(arg.valueKind, launch);
    std::memcpy(&bytes[arg.offset], &value, std::min<uint64_t>(arg.size, 8));
  }
  return bytes;
}

/// Allocates device memory, zero up to a multiple of 64 bytes: compilers widen scalar loads past
/// the end of the kernel arguments within their alignment.
static llvm::Expected<DevicePtr> place(AddressSpace &memory, unsigned rank, llvm::StringRef name,
                                       llvm::ArrayRef<uint8_t> bytes) {
  uint64_t size = (bytes.size() + 64) / 64 * 64;
  auto allocation =
      memory.allocate(rank, size, name, MemoryKind::Device, AddressSpace::Part::Launch);
  if (!allocation)
    return allocation.takeError();
  std::copy(bytes.begin(), bytes.end(), (*allocation)->data());
  (*allocation)->markWritten((*allocation)->base, size);
  return (*allocation)->base;
}

/// The AQL kernel dispatch packet (HSA system architecture 2.9.6), for kernels that ask for it.
static std::vector<uint8_t> dispatchPacket(const Launch &launch, const LaunchContext &context) {
  std::vector<uint8_t> packet(64);
  auto put = [&](unsigned offset, auto value) {
    std::memcpy(&packet[offset], &value, sizeof(value));
  };
  put(0, uint16_t(2)); // type: kernel dispatch
  put(2, uint16_t(3)); // dimensions
  for (unsigned d = 0; d < 3; ++d) {
    put(4 + 2 * d, uint16_t(launch.block[d]));
    put(12 + 4 * d, uint32_t(workItemsOf(launch, d)));
  }
  put(24, uint32_t(context.setup.scratchBytes));
  put(28, uint32_t(context.ldsBytes));
  put(40, context.kernargAddress);
  return packet;
}

llvm::Expected<std::unique_ptr<PreparedLaunch>> prepareLaunch(const Launch &launch, unsigned index,
                                                              const Checks &checks,
                                                              AddressSpace &memory,
                                                              LaunchMemory &allocated) {
  if (launch.rank >= memory.ranks())
    return makeError("expected a rank below {}, but got {}", memory.ranks(), launch.rank);
  if (!launch.module || launch.module->rank != launch.rank)
    return makeError("launch of '{}' on rank {}: its module is not loaded on that rank",
                     launch.kernel, launch.rank);
  auto kernel = launch.module->find(launch.kernel);
  if (!kernel)
    return kernel.takeError();
  const KernelInfo &info = (*kernel)->info;
  if (llvm::Error error = checkShape(info, launch.grid, launch.block, launch.remainder))
    return std::move(error);
  if (launch.dynamicLdsBytes > gfx950::ldsBytes - info.ldsBytes)
    return makeError(
        "kernel '{}': {} static and {} dynamic bytes of LDS exceed the {} of a compute unit",
        launch.kernel, info.ldsBytes, launch.dynamicLdsBytes, gfx950::ldsBytes);

  auto prepared = std::make_unique<PreparedLaunch>();
  LaunchContext &context = prepared->context;
  context.rank = launch.rank;
  context.launchIndex = index;
  context.grid = launch.grid;
  context.block = launch.block;
  context.remainder = launch.remainder;
  context.setup = (*kernel)->setup;
  context.kernel = launch.kernel;
  context.program = launch.module->program.get();
  context.codeBase = launch.module->base;
  context.ldsBytes = uint32_t(info.ldsBytes) + launch.dynamicLdsBytes;
  context.memory = &memory;
  context.checks = checks;
  if (checks.has(Check::Hazard))
    context.hazards = std::make_shared<const HazardTable>(*context.program);
  context.occupancy = occupancyOf(context.setup.vgprs, context.ldsBytes, context.workItems());
  prepared->capacity = uint64_t(gfx950::computeUnits) * context.occupancy.workgroups();
  if (llvm::Error error = checkResidency(launch, *prepared))
    return std::move(error);

  auto bytes = completeKernarg(launch, **kernel);
  if (!bytes)
    return bytes.takeError();
  context.kernarg = std::move(*bytes);
  auto kernarg = place(memory, launch.rank, "kernarg of " + launch.kernel, context.kernarg);
  if (!kernarg)
    return kernarg.takeError();
  context.kernargAddress = allocated.kernarg = *kernarg;
  if (context.setup.dispatchPtr) {
    auto packet = place(memory, launch.rank, "dispatch packet of " + launch.kernel,
                        dispatchPacket(launch, context));
    if (!packet)
      return packet.takeError();
    context.dispatchPacketAddress = allocated.packet = *packet;
  }
  return prepared;
}

} // namespace mono::emu

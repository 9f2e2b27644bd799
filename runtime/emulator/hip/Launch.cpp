// Launches: checks, kernel arguments, and the entry points.
#include "runtime/emulator/hip/Launch.h"

#include "runtime/emulator/LaunchRules.h"
#include "runtime/emulator/Occupancy.h"
#include "runtime/emulator/hip/Graph.h"

#include <algorithm>
#include <cstring>

namespace mono::hipemu {

// ---- the chip ----------------------------------------------------------------------------------

unsigned workgroupsPerComputeUnit(const Function &function, unsigned blockSize,
                                  size_t dynamicLdsBytes) {
  uint64_t lds = function.info.ldsBytes + dynamicLdsBytes;
  if (blockSize == 0 || lds > gfx950::ldsBytes)
    return 0;
  return emu::occupancyOf(function.info.vgprs, lds, blockSize).workgroups();
}

static hipError_t checkShape(const Function &function, const LaunchShape &shape) {
  const dim3 &g = shape.grid, &b = shape.block;
  if (llvm::Error error =
          emu::checkShape(function.info, {g.x, g.y, g.z}, {b.x, b.y, b.z},
                          {shape.remainder.x, shape.remainder.y, shape.remainder.z}))
    return fail(hipErrorInvalidConfiguration, std::move(error));
  const uint64_t items = uint64_t(b.x) * b.y * b.z;
  unsigned perUnit = workgroupsPerComputeUnit(function, unsigned(items), shape.dynamicLdsBytes);
  if (perUnit == 0)
    return fail(hipErrorInvalidValue,
                "kernel '{}': a workgroup of {} work-items with {} + {} bytes of LDS and {} VGPRs "
                "does not fit a compute unit",
                function.name, items, function.info.ldsBytes, shape.dynamicLdsBytes,
                function.info.vgprs);
  uint64_t groups = uint64_t(g.x) * g.y * g.z, resident = uint64_t(perUnit) * computeUnits;
  if (shape.cooperative && groups > resident)
    return fail(hipErrorCooperativeLaunchTooLarge,
                "kernel '{}': cooperative launch of {} workgroups, but only {} can be resident",
                function.name, groups, resident);
  return hipSuccess;
}

// ---- arguments ---------------------------------------------------------------------------------

/// The buffer of an `extra` list.
static hipError_t readExtra(void **extra, const uint8_t **buffer, size_t *bytes) {
  *buffer = nullptr;
  *bytes = 0;
  for (unsigned n = 0; extra[n] != HIP_LAUNCH_PARAM_END; n += 2) {
    if (extra[n] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
      *buffer = static_cast<const uint8_t *>(extra[n + 1]);
    else if (extra[n] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
      *bytes = *static_cast<const size_t *>(extra[n + 1]);
    else
      return fail(hipErrorInvalidValue, "launch: entry {} of 'extra' is no known marker", n);
  }
  return *buffer ? hipSuccess : hipErrorInvalidValue;
}

static hipError_t packArguments(const Function &function, void **params, void **extra,
                                std::vector<uint8_t> &kernarg) {
  kernarg.assign(function.hasHiddenArgs ? function.explicitBytes : function.info.kernargBytes, 0);
  if (extra) {
    const uint8_t *buffer = nullptr;
    size_t bytes = 0;
    if (params)
      return fail(hipErrorInvalidValue, "launch of '{}': both kernelParams and extra are given",
                  function.name);
    if (hipError_t status = readExtra(extra, &buffer, &bytes))
      return status;
    if (bytes < function.explicitBytes)
      return fail(hipErrorInvalidValue,
                  "launch of '{}': expected {} bytes of kernel arguments, but got {}",
                  function.name, function.explicitBytes, bytes);
    std::copy_n(buffer, std::min(bytes, kernarg.size()), kernarg.begin());
    return hipSuccess;
  }
  if (!params && !function.args.empty())
    return fail(hipErrorInvalidValue, "launch of '{}': expected {} arguments, but got none",
                function.name, function.args.size());
  for (size_t n = 0; n < function.args.size(); ++n) {
    const emu::KernelArg &arg = function.args[n];
    if (!params[n])
      return fail(hipErrorInvalidValue, "launch of '{}': the pointer to argument {} is null",
                  function.name, n);
    std::memcpy(&kernarg[arg.offset], params[n], arg.size);
  }
  return hipSuccess;
}

/// State of a grid barrier of cooperative groups as the device library lays it out: the
/// multi-grid part stays zero, the single-grid barrier is two counters, then the number of
/// workgroups.
static hipError_t addGridSync(Runtime &runtime, uint64_t workgroups, KernelOp &op) {
  struct {
    uint64_t multiGrid = 0;
    uint32_t gridId = 0, gridCount = 1;
    uint64_t before = 0, all = 0;
    uint32_t counters[2] = {0, 0};
    uint32_t workgroups = 0, padding = 0;
  } info;
  info.workgroups = uint32_t(workgroups);
  auto place = runtime.machine().allocate(op.launch.rank, sizeof(info),
                                          "grid barrier of a cooperative launch");
  if (!place)
    return fail(hipErrorOutOfMemory, place.takeError());
  op.launch.multigridSync = *place;
  auto release = [&runtime, device = op.launch.rank, address = *place](void *) {
    llvm::consumeError(runtime.machine().free(device, address));
  };
  op.resources = std::shared_ptr<void>(&runtime, release);
  return toStatus(runtime.machine().copy(*place, reinterpret_cast<uint64_t>(&info), sizeof(info)),
                  hipErrorUnknown);
}

hipError_t makeKernelOp(Runtime &runtime, Function *function, unsigned device,
                        const LaunchShape &shape, void **params, void **extra, KernelOp *op) {
  if (!runtime.modules().isLive(function))
    return fail(hipErrorInvalidHandle, "{}: not a kernel function", static_cast<void *>(function));
  if (hipError_t status = checkShape(*function, shape))
    return status;
  op->function = function;
  emu::Launch &launch = op->launch;
  launch.rank = device;
  launch.kernel = function->name;
  launch.grid = {shape.grid.x, shape.grid.y, shape.grid.z};
  launch.remainder = {shape.remainder.x, shape.remainder.y, shape.remainder.z};
  launch.block = {shape.block.x, shape.block.y, shape.block.z};
  launch.dynamicLdsBytes = uint32_t(shape.dynamicLdsBytes);
  launch.resident = shape.cooperative;
  if (hipError_t status = runtime.modules().place(function->module, device, &launch.module))
    return status;
  if (hipError_t status = packArguments(*function, params, extra, launch.kernarg))
    return status;
  if (!shape.cooperative || !function->usesGridSync)
    return hipSuccess;
  return addGridSync(runtime, uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z, *op);
}

static hipError_t launchOn(Runtime &runtime, Function *function, const LaunchShape &shape,
                           void **params, void **extra, hipStream_t handle) {
  Stream *stream = runtime.resolve(handle);
  if (!stream)
    return hipErrorInvalidHandle;
  KernelOp op;
  if (hipError_t status =
          makeKernelOp(runtime, function, stream->device, shape, params, extra, &op))
    return status;
  return send(runtime, handle, std::move(op));
}

static hipError_t launchStub(const void *stub, const LaunchShape &shape, void **params,
                             hipStream_t stream) {
  return api([&](Runtime &runtime) -> hipError_t {
    Function *function = nullptr;
    if (hipError_t status = runtime.modules().functionOfStub(stub, &function))
      return status;
    return launchOn(runtime, function, shape, params, nullptr, stream);
  });
}

/// The Ext calls give the grid in work-items; the last workgroup may be partial.
static hipError_t workgroupsOf(uint32_t items, uint32_t block, uint32_t *groups,
                               uint32_t *remainder) {
  if (block == 0)
    return fail(hipErrorInvalidConfiguration,
                "launch: expected workgroups of at least one work-item, but got 0");
  *remainder = items % block;
  *groups = items / block + (*remainder != 0);
  return hipSuccess;
}

static hipError_t recordBeside(Runtime &runtime, hipEvent_t event, hipStream_t stream) {
  return event ? recordEvent(runtime, event, stream) : hipSuccess;
}

} // namespace mono::hipemu

using namespace mono::hipemu;

// ---- entry points ------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gridX, unsigned gridY,
                                            unsigned gridZ, unsigned blockX, unsigned blockY,
                                            unsigned blockZ, unsigned ldsBytes, hipStream_t stream,
                                            void **params, void **extra) {
  return api([&](Runtime &runtime) {
    LaunchShape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, ldsBytes};
    return launchOn(runtime, function, shape, params, extra, stream);
  });
}

HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gridX,
                                                       unsigned gridY, unsigned gridZ,
                                                       unsigned blockX, unsigned blockY,
                                                       unsigned blockZ, unsigned ldsBytes,
                                                       hipStream_t stream, void **params) {
  return api([&](Runtime &runtime) {
    LaunchShape shape{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, ldsBytes, true};
    return launchOn(runtime, function, shape, params, nullptr, stream);
  });
}

/// Grid in work-items, events recorded before and after.
HIP_EXPORT hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t itemsX,
                                               uint32_t itemsY, uint32_t itemsZ, uint32_t blockX,
                                               uint32_t blockY, uint32_t blockZ, size_t ldsBytes,
                                               hipStream_t stream, void **params, void **extra,
                                               hipEvent_t start, hipEvent_t stop, uint32_t) {
  return api([&](Runtime &runtime) -> hipError_t {
    LaunchShape shape{{}, {blockX, blockY, blockZ}, ldsBytes};
    dim3 &grid = shape.grid, &rest = shape.remainder;
    for (auto [items, block, groups, remainder] : {std::tuple(itemsX, blockX, &grid.x, &rest.x),
                                                   std::tuple(itemsY, blockY, &grid.y, &rest.y),
                                                   std::tuple(itemsZ, blockZ, &grid.z, &rest.z)})
      if (hipError_t status = workgroupsOf(items, block, groups, remainder))
        return status;
    if (hipError_t status = recordBeside(runtime, start, stream))
      return status;
    if (hipError_t status = launchOn(runtime, function, shape, params, extra, stream))
      return status;
    return recordBeside(runtime, stop, stream);
  });
}

HIP_EXPORT hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t itemsX,
                                               uint32_t itemsY, uint32_t itemsZ, uint32_t blockX,
                                               uint32_t blockY, uint32_t blockZ, size_t ldsBytes,
                                               hipStream_t stream, void **params, void **extra,
                                               hipEvent_t start, hipEvent_t stop) {
  return hipExtModuleLaunchKernel(function, itemsX, itemsY, itemsZ, blockX, blockY, blockZ,
                                  ldsBytes, stream, params, extra, start, stop, 0);
}

// The names that the headers of HIP 5, which lack an extern "C", make of the two.
HIP_EXPORT hipError_t extLaunchOfHip5(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                      uint32_t, uint32_t, size_t, hipStream_t, void **, void **,
                                      hipEvent_t, hipEvent_t,
                                      uint32_t) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleS"
                                                        "ymbol_tjjjjjjmP12ihipStream_tPPvS4_"
                                                        "P11ihipEvent_tS6_j")
    __attribute__((alias("hipExtModuleLaunchKernel")));
HIP_EXPORT hipError_t hccLaunchOfHip5(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                      uint32_t, uint32_t, size_t, hipStream_t, void **, void **,
                                      hipEvent_t,
                                      hipEvent_t) __asm__("_Z24hipHccModuleLaunchKernelP18ihipModul"
                                                          "eSymbol_tjjjjjjmP12ihipStream_tPPvS4_"
                                                          "P11ihipEvent_tS6_")
    __attribute__((alias("hipHccModuleLaunchKernel")));

HIP_EXPORT hipError_t hipLaunchKernel(const void *stub, dim3 grid, dim3 block, void **params,
                                      size_t ldsBytes, hipStream_t stream) {
  return launchStub(stub, {grid, block, ldsBytes}, params, stream);
}

HIP_EXPORT hipError_t hipLaunchKernel_spt(const void *stub, dim3 grid, dim3 block, void **params,
                                          size_t ldsBytes, hipStream_t stream) {
  return launchStub(stub, {grid, block, ldsBytes}, params, perThread(stream));
}

HIP_EXPORT hipError_t hipLaunchCooperativeKernel(const void *stub, dim3 grid, dim3 block,
                                                 void **params, unsigned ldsBytes,
                                                 hipStream_t stream) {
  return launchStub(stub, {grid, block, ldsBytes, true}, params, stream);
}

HIP_EXPORT hipError_t hipExtLaunchKernel(const void *stub, dim3 grid, dim3 block, void **params,
                                         size_t ldsBytes, hipStream_t stream, hipEvent_t start,
                                         hipEvent_t stop, int) {
  hipError_t status = api([&](Runtime &runtime) { return recordBeside(runtime, start, stream); });
  if (status == hipSuccess)
    status = launchStub(stub, {grid, block, ldsBytes}, params, stream);
  if (status == hipSuccess)
    status = api([&](Runtime &runtime) { return recordBeside(runtime, stop, stream); });
  return status;
}

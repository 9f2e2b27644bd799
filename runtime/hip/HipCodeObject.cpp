// Loading, checking and starting kernels.
#include "runtime/hip/HipCodeObject.h"
#include "runtime/CodeObject.h"
#include "runtime/Error.h"

#include <array>

using namespace llvm;

namespace mono::hip {

/// VGPRs and AGPRs of a lane together (LLVM AMDGPUUsage, "GRANULATED_WORKITEM_VGPR_COUNT", gfx90a
/// and later).
static constexpr int registersPerLane = 512;

// ---- code objects ------------------------------------------------------------------------------

Expected<std::unique_ptr<LoadedCodeObject>> HipCodeObject::load(const HipContext &context,
                                                                ArrayRef<uint8_t> codeObject) {
  // HIP takes the length from the ELF headers, so a cut file must not get that far.
  if (Error error = checkSegments(codeObject))
    return error;
  std::unique_ptr<HipCodeObject> loaded(new HipCodeObject(context, codeObject));
  if (Error error = context.run([&] {
        return context.check(context.hip().hipModuleLoadData(&loaded->module, loaded->bytes.data()),
                             "hipModuleLoadData");
      }))
    return error;
  return loaded;
}

HipCodeObject::~HipCodeObject() {
  // A destructor has nobody to tell.
  if (module)
    consumeError(context.run(
        [&] { return context.check(context.hip().hipModuleUnload(module), "hipModuleUnload"); }));
}

static Expected<int> attribute(const HipContext &context, api::Function function,
                               api::FunctionAttribute which) {
  int value = 0;
  if (Error error = context.check(context.hip().hipFuncGetAttribute(&value, which, function),
                                  "hipFuncGetAttribute"))
    return error;
  return value;
}

static Error checkAttributes(const HipContext &context, const HipKernel &kernel) {
  struct Fact {
    api::FunctionAttribute which;
    uint64_t wanted;
    const char *what;
  };
  const KernelInfo &info = kernel.info();
  for (const Fact &fact : {Fact{api::SharedSizeBytes, info.ldsBytes, "LDS"},
                           Fact{api::LocalSizeBytes, info.scratchBytes, "scratch a work-item"}}) {
    Expected<int> value = attribute(context, kernel.function, fact.which);
    if (!value)
      return value.takeError();
    if (static_cast<uint64_t>(*value) != fact.wanted)
      return makeError("kernel '{}': expected {} bytes of {} as the code object says, but HIP "
                       "reports {}",
                       kernel.name, fact.wanted, fact.what, *value);
  }
  Expected<int> registers = attribute(context, kernel.function, api::NumRegs);
  if (!registers)
    return registers.takeError();
  if (*registers > registersPerLane)
    return makeError("kernel '{}': expected at most {} registers per lane, but HIP reports {}",
                     kernel.name, registersPerLane, *registers);
  return Error::success();
}

Expected<const Kernel *> HipCodeObject::kernel(StringRef name) {
  for (const auto &known : kernels)
    if (known->name == name)
      return known.get();
  Expected<KernelMetadata> metadata = readKernelMetadata(bytes, name);
  if (!metadata)
    return metadata.takeError();
  std::string text = name.str();
  api::Function function = nullptr;
  Error error = context.run([&] {
    return context.check(context.hip().hipModuleGetFunction(&function, module, text.c_str()),
                         "hipModuleGetFunction");
  });
  if (error)
    return addContext(std::move(error), fmt::format("kernel '{}'", name));
  auto kernel = std::make_unique<HipKernel>(text, function, *metadata);
  if (Error wrong = checkAttributes(context, *kernel))
    return wrong;
  kernels.push_back(std::move(kernel));
  return kernels.back().get();
}

// ---- launches ----------------------------------------------------------------------------------

namespace {

class HipLaunch : public PreparedLaunch {
public:
  HipLaunch(const HipContext &context, OwnStream &ownStream, const LaunchConfig &config)
      : context(context), ownStream(ownStream), failure(config.failure),
        function(static_cast<const HipKernel &>(*config.kernel).function),
        workgroups(config.workgroups), threads(config.threads),
        ldsBytes(static_cast<unsigned>(config.dynamicLdsBytes)), kernargs(config.kernargs.vec()),
        kernargBytes(kernargs.size()), extra{api::launchBufferPointer, kernargs.data(),
                                             api::launchBufferSize, &kernargBytes, api::launchEnd} {
  }
  HipLaunch(const HipLaunch &) = delete;
  HipLaunch &operator=(const HipLaunch &) = delete;

  Error start(StreamHandle stream) override {
    Error error = context.run([&] {
      return context.check(context.hip().hipModuleLaunchKernel(
                               function, workgroups[0], workgroups[1], workgroups[2], threads[0],
                               threads[1], threads[2], ldsBytes, stream ? stream : ownStream.handle,
                               nullptr, extra.data()),
                           "hipModuleLaunchKernel");
    });
    if (!error && ownStream.is(stream))
      ownStream.note(failure);
    return error;
  }

private:
  const HipContext context;
  OwnStream &ownStream;
  const std::shared_ptr<LaunchFailure> failure;
  const api::Function function;
  const std::array<unsigned, 3> workgroups, threads;
  const unsigned ldsBytes;
  std::vector<uint8_t> kernargs;
  size_t kernargBytes;
  std::array<void *, 5> extra; ///< points at the two members above
};

uint64_t product(const std::array<unsigned, 3> &sizes) {
  // Each factor is below 2^32 and the last two below 2^16 in HIP; saturating keeps this safe.
  uint64_t xy = uint64_t(sizes[0]) * sizes[1];
  return sizes[2] && xy > UINT64_MAX / sizes[2] ? UINT64_MAX : xy * sizes[2];
}

} // namespace

static Error checkThreads(const HipContext &context, const HipKernel &kernel,
                          const LaunchConfig &config) {
  Expected<int> most = attribute(context, kernel.function, api::MaxThreadsPerBlock);
  if (!most)
    return most.takeError();
  uint64_t threads = product(config.threads);
  if (threads < 1 || threads > static_cast<uint64_t>(*most))
    return makeError("kernel '{}': expected 1 to {} work-items in a workgroup, but got {}",
                     kernel.name, *most, threads);
  return Error::success();
}

static Error checkKernargs(const HipKernel &kernel, const LaunchConfig &config) {
  uint64_t least = kernel.metadata.explicitKernargBytes, most = kernel.info().kernargBytes;
  if (config.kernargs.size() < least || config.kernargs.size() > most)
    return makeError("kernel '{}': expected {} bytes of kernel arguments, but got {}", kernel.name,
                     least, config.kernargs.size());
  return Error::success();
}

static Error checkLds(const HipKernel &kernel, const DeviceProperties &device,
                      const LaunchConfig &config) {
  uint64_t fixed = kernel.info().ldsBytes;
  if (fixed > device.ldsBytes || config.dynamicLdsBytes > device.ldsBytes - fixed)
    return makeError("kernel '{}': expected at most {} bytes of LDS, but got {} and {} dynamic",
                     kernel.name, device.ldsBytes, fixed, config.dynamicLdsBytes);
  return Error::success();
}

static Error checkResidency(const HipContext &context, const HipKernel &kernel,
                            const DeviceProperties &device, const LaunchConfig &config) {
  int perComputeUnit = 0;
  auto count = context.hip().hipModuleOccupancyMaxActiveBlocksPerMultiprocessor;
  if (Error error = context.run([&] {
        return context.check(count(&perComputeUnit, kernel.function,
                                   static_cast<int>(product(config.threads)),
                                   config.dynamicLdsBytes),
                             "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
      }))
    return error;
  uint64_t room = uint64_t(std::max(perComputeUnit, 0)) * device.computeUnits;
  if (product(config.workgroups) > room)
    return makeError("kernel '{}': expected at most {} resident workgroups ({} on each of {} "
                     "compute units), but got {}",
                     kernel.name, room, perComputeUnit, device.computeUnits,
                     product(config.workgroups));
  return Error::success();
}

Expected<std::unique_ptr<PreparedLaunch>> prepareLaunch(const HipContext &context,
                                                        const DeviceProperties &device,
                                                        OwnStream &ownStream,
                                                        const LaunchConfig &config) {
  if (!config.kernel)
    return makeError("expected a kernel to launch, but got none");
  const auto &kernel = static_cast<const HipKernel &>(*config.kernel);
  if (product(config.workgroups) == 0)
    return makeError("kernel '{}': expected at least 1 workgroup, but got 0", kernel.name);
  if (Error error = checkThreads(context, kernel, config))
    return error;
  if (Error error = checkKernargs(kernel, config))
    return error;
  if (Error error = checkLds(kernel, device, config))
    return error;
  if (config.resident)
    if (Error error = checkResidency(context, kernel, device, config))
      return error;
  return std::make_unique<HipLaunch>(context, ownStream, config);
}

} // namespace mono::hip

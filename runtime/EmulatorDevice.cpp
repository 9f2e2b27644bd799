// Device calls mapped to the emulated machine.
#include "runtime/EmulatorDevice.h"
#include "runtime/Error.h"
#include "runtime/Gfx950.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace llvm;

namespace mono {

namespace {

class EmulatedKernel : public Kernel {
public:
  EmulatedKernel(emu::Module *module, const emu::KernelInfo &found)
      : module(module), name(found.name) {
    facts.vgprs = found.archVgprs ? found.archVgprs : found.vgprs;
    facts.agprs = found.agprs;
    facts.sgprs = found.sgprs;
    facts.ldsBytes = found.ldsBytes;
    facts.scratchBytes = found.scratchBytes;
    facts.kernargBytes = found.kernargBytes;
    facts.vgprSpills = found.vgprSpills;
    facts.sgprSpills = found.sgprSpills;
  }
  const KernelInfo &info() const override { return facts; }

  emu::Module *const module;
  const std::string name;

private:
  KernelInfo facts;
};

class EmulatedCodeObject : public LoadedCodeObject {
public:
  EmulatedCodeObject(emu::Machine &machine, emu::Module *module)
      : machine(machine), module(module) {}
  ~EmulatedCodeObject() override { consumeError(machine.unload(module)); }

  Expected<const Kernel *> kernel(StringRef name) override {
    for (const auto &known : kernels)
      if (known->name == name)
        return known.get();
    Expected<emu::KernelInfo> found = machine.kernel(module, name);
    if (!found)
      return found.takeError();
    found->name = name.str();
    kernels.push_back(std::make_unique<EmulatedKernel>(module, *found));
    return kernels.back().get();
  }

private:
  emu::Machine &machine;
  emu::Module *module;
  std::vector<std::unique_ptr<EmulatedKernel>> kernels;
};

} // namespace

/// Starting it only queues it: see EmulatorNode::pending.
class EmulatorNode::EmulatedLaunch : public PreparedLaunch {
public:
  EmulatedLaunch(EmulatorNode &node, Pending launch) : node(node), launch(std::move(launch)) {}
  Error start(StreamHandle stream) override {
    if (stream)
      return makeError("the emulator has no streams, expected a null stream");
    node.pending.push_back(launch);
    return Error::success();
  }

private:
  EmulatorNode &node;
  Pending launch;
};

class EmulatorNode::EmulatorDevice : public Device {
public:
  EmulatorDevice(EmulatorNode &node, unsigned rank) : node(node), rank(rank) {
    facts = {"emulated MI355X", "gfx950", gfx950::computeUnits, gfx950::ldsBytes};
  }

  const DeviceProperties &properties() const override { return facts; }

  Expected<DevicePtr> allocate(uint64_t bytes, StringRef name, MemoryKind kind) override {
    bool peers = kind == MemoryKind::PeerVisible;
    Expected<DevicePtr> ptr = machine().allocate(
        rank, bytes, name, peers ? emu::MemoryKind::PeerVisible : emu::MemoryKind::Device);
    if (ptr && peers)
      peerVisible[*ptr] = bytes;
    return ptr;
  }
  Error free(DevicePtr ptr) override {
    Error error = withoutRecorded(node.runPending()); // the memory goes anyway
    peerVisible.erase(ptr);
    return joinErrors(std::move(error), machine().free(rank, ptr));
  }
  Error write(DevicePtr to, ArrayRef<uint8_t> from) override {
    Error error = node.runPending();
    return error ? std::move(error) : machine().write(rank, to, from);
  }
  Error read(DevicePtr from, MutableArrayRef<uint8_t> to) override {
    Error error = node.runPending();
    return error ? std::move(error) : machine().read(rank, from, to);
  }
  Error fill(DevicePtr to, uint8_t value, uint64_t bytes) override {
    Error error = node.runPending();
    return error ? std::move(error) : machine().fill(rank, to, value, bytes);
  }
  Error poison(DevicePtr to, uint64_t bytes) override {
    Error error = node.runPending();
    return error ? std::move(error) : machine().poison(rank, to, bytes);
  }

  Expected<std::unique_ptr<LoadedCodeObject>> load(ArrayRef<uint8_t> codeObject) override {
    Expected<emu::Module *> module = machine().load(rank, codeObject);
    if (!module)
      return module.takeError();
    return std::make_unique<EmulatedCodeObject>(machine(), *module);
  }

  Expected<std::unique_ptr<PreparedLaunch>> prepare(const LaunchConfig &config) override {
    if (!config.kernel)
      return makeError("expected a kernel to launch, but got none");
    if (config.dynamicLdsBytes > facts.ldsBytes)
      return makeError("expected at most {} bytes of dynamic LDS, but got {}", facts.ldsBytes,
                       config.dynamicLdsBytes);
    const auto &kernel = static_cast<const EmulatedKernel &>(*config.kernel);
    emu::Launch launch;
    launch.rank = rank;
    launch.module = kernel.module;
    launch.kernel = kernel.name;
    for (int axis = 0; axis < 3; ++axis) {
      launch.grid[axis] = config.workgroups[axis];
      launch.block[axis] = config.threads[axis];
    }
    launch.dynamicLdsBytes = static_cast<uint32_t>(config.dynamicLdsBytes);
    launch.kernarg = config.kernargs.vec();
    launch.resident = config.resident;
    return std::make_unique<EmulatedLaunch>(node, Pending{std::move(launch), config.failure});
  }

  using Device::synchronize;
  Error synchronize(StreamHandle) override { return node.runPending(); }

  /// Launches run only while somebody waits for them, so there is none to write beside.
  Error writeAside(ArrayRef<Patch> patches) override {
    for (const Patch &patch : patches)
      if (Error error = machine().copy(patch.to, reinterpret_cast<uint64_t>(patch.from.data()),
                                       patch.from.size()))
        return error;
    return Error::success();
  }

  Error checkPeerVisible(DevicePtr ptr, uint64_t bytes) override {
    auto next = peerVisible.upper_bound(ptr);
    if (next != peerVisible.begin()) {
      const auto &[base, size] = *std::prev(next);
      if (ptr - base <= size && bytes <= size - (ptr - base))
        return Error::success();
    }
    return makeError(
        "expected {} bytes of peer-visible memory at {:#x}, but rank {} has none there", bytes, ptr,
        rank);
  }

  Expected<IpcMemory> exportMemory(DevicePtr) override { return noProcesses(); }
  Expected<DevicePtr> importMemory(const IpcMemory &) override { return noProcesses(); }
  Error releaseImported(DevicePtr) override { return noProcesses(); }

private:
  static Error noProcesses() {
    return makeError("an emulated device lives in one process: ranks in several need HIP");
  }
  emu::Machine &machine() { return node.emulator; }

  EmulatorNode &node;
  unsigned rank;
  DeviceProperties facts;
  std::map<DevicePtr, uint64_t> peerVisible; ///< bytes by base
};

EmulatorNode::EmulatorNode(unsigned ranks, const emu::Options &options) : emulator(ranks, options) {
  for (unsigned rank = 0; rank < ranks; ++rank)
    members.push_back(std::make_unique<EmulatorDevice>(*this, rank));
}

EmulatorNode::~EmulatorNode() = default;

Expected<std::unique_ptr<EmulatorNode>> EmulatorNode::create(unsigned ranks,
                                                             const emu::Options &options) {
  if (ranks < 1 || ranks > 8)
    return makeError("expected 1 to 8 ranks, but got {}", ranks);
  if (Error error = emu::Machine::checkHost())
    return error;
  return std::unique_ptr<EmulatorNode>(new EmulatorNode(ranks, options));
}

std::vector<Device *> EmulatorNode::devices() const {
  std::vector<Device *> pointers;
  for (const auto &member : members)
    pointers.push_back(member.get());
  return pointers;
}

emu::Machine &EmulatorNode::machine() { return emulator; }

/// Tells the owner of each launch that did not end whole; false if one has none.
bool EmulatorNode::recordFailure(ArrayRef<Pending> launches, ArrayRef<emu::LaunchEnd> ends,
                                 const std::string &text) {
  bool isRecorded = true;
  auto record = [&](emu::LaunchEnd end, const std::string &why) {
    for (auto [launch, ended] : zip_equal(launches, ends))
      if (ended == end && launch.failure)
        launch.failure->record(why);
      else
        isRecorded &= ended != end;
  };
  // Those that failed first: another rank of the same group may just have been stopped.
  record(emu::LaunchEnd::Failed, text);
  record(emu::LaunchEnd::Stopped, "stopped, because another launch failed: " + text);
  return isRecorded;
}

Error EmulatorNode::runPending() {
  std::vector<Pending> started = std::exchange(pending, {});
  if (started.empty())
    return Error::success();
  std::vector<emu::Launch> launches;
  for (Pending &each : started)
    launches.push_back(std::move(each.launch));
  std::vector<emu::LaunchEnd> ends;
  Error error = emulator.run(launches, &ends);
  if (!error)
    return Error::success();
  std::string text = toString(std::move(error));
  return recordFailure(started, ends, text) ? make_error<RecordedLaunchError>(text)
                                            : makeError("{}", text);
}

} // namespace mono

// The machine: memory, modules, launches and statistics behind one lock.
#include "runtime/emulator/Emulator.h"

#include "runtime/Error.h"
#include "runtime/emulator/LaunchSetup.h"
#include "runtime/emulator/StoreFaults.h"
#include "runtime/emulator/exec/MatrixKinds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace mono::emu {

struct Machine::Impl {
  Impl(unsigned ranks, const Options &options)
      : options(options), memory(ranks), stats(ranks), traffic(ranks) {}

  /// A parsed code object; ranks that load the same bytes share it.
  struct ParsedCode {
    std::vector<uint8_t> file;
    std::shared_ptr<const CodeObject> object;
    std::shared_ptr<const Program> program;
  };
  using TrafficKey = std::pair<unsigned, std::string>; ///< owner rank, allocation name

  Options options;
  AddressSpace memory;
  StoreFaults faults;
  std::vector<std::unique_ptr<Module>> modules;
  /// By hash of the file; their modules own them.
  std::multimap<uint64_t, std::weak_ptr<const ParsedCode>> parsed;
  std::vector<Stats> stats;
  std::vector<std::map<TrafficKey, AllocationTraffic>> traffic;
  std::recursive_mutex lock;

  /// Where an address leads; `allocation` is null for plain host memory.
  struct Place {
    Allocation *allocation;
    uint8_t *host;
  };
  llvm::Expected<Place> place(uint64_t address, uint64_t bytes) const;

  llvm::Expected<std::shared_ptr<const ParsedCode>> parse(llvm::ArrayRef<uint8_t> file);
  llvm::Expected<Module *> check(Module *module) const;
  void merge(const std::vector<std::vector<std::unique_ptr<ExecStats>>> &counters);
  void mergeTraffic(unsigned rank, const ExecStats &counters);
};

Machine::Machine(unsigned ranks, const Options &options)
    : impl(std::make_unique<Impl>(std::clamp(ranks, 1u, maxRanks), options)) {}
Machine::~Machine() = default;

unsigned Machine::ranks() const { return impl->memory.ranks(); }
const Options &Machine::options() const { return impl->options; }

// ---- memory ------------------------------------------------------------------------------------

llvm::Expected<DevicePtr> Machine::allocate(unsigned rank, uint64_t bytes, llvm::StringRef name,
                                            MemoryKind kind) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.allocate(rank, bytes, name, kind);
  if (!allocation)
    return allocation.takeError();
  return (*allocation)->base;
}

llvm::Error Machine::free(unsigned rank, DevicePtr ptr) {
  std::lock_guard guard(impl->lock);
  return impl->memory.free(rank, ptr);
}

llvm::Error Machine::write(unsigned rank, DevicePtr ptr, llvm::ArrayRef<uint8_t> bytes) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.findRange(rank, ptr, bytes.size());
  if (!allocation)
    return allocation.takeError();
  (*allocation)->markWritten(ptr, bytes.size());
  std::copy(bytes.begin(), bytes.end(), (*allocation)->host(ptr));
  return llvm::Error::success();
}

llvm::Error Machine::read(unsigned rank, DevicePtr ptr, llvm::MutableArrayRef<uint8_t> bytes) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.findRange(rank, ptr, bytes.size());
  if (!allocation)
    return allocation.takeError();
  if (impl->options.checks.has(Check::MemUninit))
    if (uint64_t missing = (*allocation)->countUnwritten(ptr, bytes.size()))
      return makeError("read of {} bytes at byte {} of '{}': nobody wrote {} of them", bytes.size(),
                       ptr - (*allocation)->base, (*allocation)->name, missing);
  std::copy_n((*allocation)->host(ptr), bytes.size(), bytes.begin());
  return llvm::Error::success();
}

llvm::Error Machine::fill(unsigned rank, DevicePtr ptr, uint8_t value, uint64_t bytes) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.findRange(rank, ptr, bytes);
  if (!allocation)
    return allocation.takeError();
  (*allocation)->markWritten(ptr, bytes);
  std::memset((*allocation)->host(ptr), value, bytes);
  return llvm::Error::success();
}

llvm::Error Machine::poison(unsigned rank, DevicePtr ptr, uint64_t bytes) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.findRange(rank, ptr, bytes);
  if (!allocation)
    return allocation.takeError();
  (*allocation)->markUnwritten(ptr, bytes);
  std::memset((*allocation)->host(ptr), 0xA5, bytes);
  return llvm::Error::success();
}

llvm::Expected<uint64_t> Machine::unwrittenBytes(unsigned rank, DevicePtr ptr, uint64_t bytes) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.findRange(rank, ptr, bytes);
  if (!allocation)
    return allocation.takeError();
  return (*allocation)->countUnwritten(ptr, bytes);
}

llvm::Error Machine::mapHost(void *start, uint64_t bytes, llvm::StringRef name) {
  std::lock_guard guard(impl->lock);
  return impl->memory.mapHost(start, bytes, name);
}

llvm::Error Machine::unmapHost(void *start) {
  std::lock_guard guard(impl->lock);
  return impl->memory.unmapHost(start);
}

llvm::Expected<int> Machine::share(unsigned rank, DevicePtr ptr) {
  std::lock_guard guard(impl->lock);
  auto allocation = impl->memory.findRange(rank, ptr, 1);
  if (!allocation)
    return allocation.takeError();
  int file = (*allocation)->share();
  if (file < 0)
    return makeError("'{}' cannot be moved to shared memory: the host has no {} bytes for it",
                     (*allocation)->name, (*allocation)->size);
  return file;
}

llvm::Expected<Machine::Impl::Place> Machine::Impl::place(uint64_t address, uint64_t bytes) const {
  if (!memory.isDeviceAddress(address))
    return Place{nullptr, reinterpret_cast<uint8_t *>(address)};
  Allocation *allocation = memory.find(address);
  if (!allocation || !allocation->contains(address, bytes)) {
    unsigned rank = unsigned((address >> rankShift) - firstWindow);
    return makeError("{}", memory.explainFault(rank, address, bytes));
  }
  return Place{allocation, allocation->host(address)};
}

llvm::Error Machine::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  std::lock_guard guard(impl->lock);
  if (bytes == 0)
    return llvm::Error::success();
  auto target = impl->place(to, bytes), source = impl->place(from, bytes);
  llvm::Error error = llvm::joinErrors(target ? llvm::Error::success() : target.takeError(),
                                       source ? llvm::Error::success() : source.takeError());
  if (error)
    return error;
  if (Allocation *written = target->allocation) {
    const Allocation *origin = source->allocation;
    if (!origin || origin->isWritten(from, bytes)) {
      written->markWritten(to, bytes);
    } else {
      std::vector<bool> known(bytes);
      for (uint64_t n = 0; n < bytes; ++n)
        known[n] = origin->isWritten(from + n, 1);
      written->markUnwritten(to, bytes);
      for (uint64_t n = 0; n < bytes; ++n)
        if (known[n])
          written->markWritten(to + n, 1);
    }
  }
  std::memmove(target->host, source->host, bytes);
  return llvm::Error::success();
}

// ---- modules -----------------------------------------------------------------------------------

llvm::Expected<std::shared_ptr<const Machine::Impl::ParsedCode>>
Machine::Impl::parse(llvm::ArrayRef<uint8_t> file) {
  uint64_t hash = llvm::xxh3_64bits(file);
  auto [begin, end] = parsed.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (auto known = it->second.lock(); known && llvm::ArrayRef<uint8_t>(known->file) == file)
      return known;
  auto object = parseCodeObject(file);
  if (!object)
    return object.takeError();
  auto program = decodeProgram(object->image, object->code, object->functions, defaultHandlers());
  if (!program)
    return program.takeError();
  auto code = std::make_shared<const ParsedCode>(
      ParsedCode{file.vec(), std::make_shared<const CodeObject>(std::move(*object)), *program});
  parsed.emplace(hash, code);
  return code;
}

llvm::Expected<Module *> Machine::load(unsigned rank, llvm::ArrayRef<uint8_t> codeObject) {
  std::lock_guard guard(impl->lock);
  if (llvm::Error error = checkHost())
    return std::move(error);
  if (rank >= ranks())
    return makeError("expected a rank below {}, but got {}", ranks(), rank);
  auto code = impl->parse(codeObject);
  if (!code)
    return code.takeError();
  const CodeObject &object = *(*code)->object;
  auto image = impl->memory.allocate(rank, object.imageBytes, "code object", MemoryKind::Device);
  if (!image)
    return image.takeError();
  Allocation &place = **image;
  std::copy(object.image.begin(), object.image.end(), place.data());
  for (const RelativeRelocation &relocation : object.relocations) {
    uint64_t value = place.base + relocation.addend;
    std::memcpy(place.data() + relocation.offset, &value, sizeof(value));
  }
  place.markWritten(place.base, place.size);
  auto module = std::make_unique<Module>();
  module->rank = rank;
  module->base = place.base;
  module->object = (*code)->object;
  module->program = (*code)->program;
  module->parsed = std::move(*code);
  impl->modules.push_back(std::move(module));
  return impl->modules.back().get();
}

llvm::Expected<Module *> Machine::Impl::check(Module *module) const {
  for (const auto &known : modules)
    if (known.get() == module)
      return module;
  return makeError("not a module of this machine");
}

llvm::Error Machine::unload(Module *module) {
  std::lock_guard guard(impl->lock);
  auto known = impl->check(module);
  if (!known)
    return known.takeError();
  if (llvm::Error error = impl->memory.free(module->rank, module->base))
    return error;
  std::erase_if(impl->modules, [&](const auto &m) { return m.get() == module; });
  std::erase_if(impl->parsed, [](const auto &entry) { return entry.second.expired(); });
  return llvm::Error::success();
}

llvm::Expected<KernelInfo> Machine::kernel(Module *module, llvm::StringRef name) {
  std::lock_guard guard(impl->lock);
  auto known = impl->check(module);
  if (!known)
    return known.takeError();
  auto kernel = module->find(name);
  if (!kernel)
    return kernel.takeError();
  return (*kernel)->info;
}

llvm::Expected<std::vector<KernelArg>> Machine::kernelArgs(Module *module, llvm::StringRef name) {
  std::lock_guard guard(impl->lock);
  auto known = impl->check(module);
  if (!known)
    return known.takeError();
  auto kernel = module->find(name);
  if (!kernel)
    return kernel.takeError();
  return (*kernel)->args;
}

std::vector<std::string> Machine::kernelNames(Module *module) {
  std::lock_guard guard(impl->lock);
  std::vector<std::string> names;
  auto known = impl->check(module);
  if (!known) {
    llvm::consumeError(known.takeError());
    return names;
  }
  for (const auto &[name, kernel] : module->object->kernels)
    names.push_back(name);
  return names;
}

llvm::Expected<std::pair<DevicePtr, uint64_t>> Machine::global(Module *module,
                                                               llvm::StringRef name) {
  std::lock_guard guard(impl->lock);
  auto known = impl->check(module);
  if (!known)
    return known.takeError();
  auto it = module->object->globals.find(name.str());
  if (it == module->object->globals.end())
    return makeError("no global variable '{}' in the code object", name);
  return std::pair(module->base + it->second.offset, it->second.size);
}

// ---- launches ----------------------------------------------------------------------------------

llvm::Error Machine::run(llvm::ArrayRef<Launch> launches, std::vector<LaunchEnd> *ends) {
  std::lock_guard guard(impl->lock);
  std::vector<LaunchEnd> unwanted;
  ends = ends ? ends : &unwanted;
  ends->assign(launches.size(), LaunchEnd::Stopped);
  std::vector<LaunchMemory> allocated(launches.size());
  std::vector<std::unique_ptr<PreparedLaunch>> prepared;
  llvm::Error error = llvm::Error::success();
  for (unsigned n = 0; n < launches.size() && !error; ++n) {
    if (launches[n].module)
      if (auto known = impl->check(launches[n].module); !known) {
        error = known.takeError();
        (*ends)[n] = LaunchEnd::Failed;
        break;
      }
    auto launch = prepareLaunch(launches[n], n, impl->options.checks, impl->memory, allocated[n]);
    if (launch) {
      (*launch)->context.faults = impl->faults.waiting() ? &impl->faults : nullptr;
      prepared.push_back(std::move(*launch));
    } else {
      error = launch.takeError();
      (*ends)[n] = LaunchEnd::Failed;
    }
  }
  if (!error && !prepared.empty()) {
    std::vector<std::vector<std::unique_ptr<ExecStats>>> counters;
    Options options = impl->options;
    if (!impl->memory.isOpenToOthers())
      options.deadlockPatienceMs = 0;
    error = runLaunches(prepared, options, ranks(), impl->memory.idLimit(), counters);
    impl->merge(counters);
    llvm::transform(prepared, ends->begin(), [](const auto &launch) { return launch->end; });
    for (const auto &launch : prepared) {
      Stats &stats = impl->stats[launch->context.rank];
      ++stats.launches;
      stats.occupancy = launch->context.occupancy;
    }
  }
  for (unsigned n = 0; n < allocated.size(); ++n)
    for (DevicePtr ptr : {allocated[n].kernarg, allocated[n].packet})
      if (ptr)
        llvm::cantFail(impl->memory.free(launches[n].rank, ptr));
  return error;
}

uint64_t Machine::peek(DevicePtr address) const {
  const Allocation *allocation = impl->memory.find(address);
  if (!allocation || !allocation->contains(address, 8))
    return 0;
  auto *word = reinterpret_cast<uint64_t *>(allocation->host(address));
  return std::atomic_ref(*word).load(std::memory_order_relaxed);
}

// ---- faults ------------------------------------------------------------------------------------

void Machine::inject(const StoreFault &fault) { impl->faults.add(fault); }

size_t Machine::faultsWaiting() const { return impl->faults.waiting(); }

// ---- statistics --------------------------------------------------------------------------------

void Machine::Impl::mergeTraffic(unsigned rank, const ExecStats &counters) {
  for (unsigned id = 0; id < counters.traffic.size(); ++id) {
    const ExecStats::Traffic &bytes = counters.traffic[id];
    const Allocation *allocation = memory.allocationOf(id);
    if (!allocation || (bytes.read == 0 && bytes.written == 0 && bytes.fromHbm == 0))
      continue;
    AllocationTraffic &sum = traffic[rank][{allocation->rank, allocation->name}];
    sum.name = allocation->name;
    sum.rank = allocation->rank;
    sum.bytesRead += bytes.read;
    sum.bytesWritten += bytes.written;
    sum.bytesFromHbm += bytes.fromHbm;
    sum.readByWorkgroup.resize(std::max(sum.readByWorkgroup.size(), bytes.readBy.size()));
    for (size_t workgroup = 0; workgroup < bytes.readBy.size(); ++workgroup)
      sum.readByWorkgroup[workgroup] += bytes.readBy[workgroup];
  }
}

/// Matrix instructions have a counter for each kind, the others for each class.
static void mergeInstructions(const ExecStats &from, Stats &to) {
  for (unsigned c = 0; c < instructionClassCount; ++c)
    to.instructions[c] += from.instructions[c];
  for (unsigned kind = 0; kind < matrixKindCount(); ++kind) {
    uint64_t count = from.instructions[instructionClassCount + kind];
    if (!count)
      continue;
    to.instructions[unsigned(InstructionClass::Mfma)] += count;
    llvm::StringRef name = matrixKindName(kind);
    auto at = llvm::lower_bound(
        to.matrix, name, [](const auto &entry, llvm::StringRef n) { return entry.first < n; });
    if (at == to.matrix.end() || at->first != name)
      at = to.matrix.insert(at, {name.str(), 0});
    at->second += count;
  }
}

void Machine::Impl::merge(const std::vector<std::vector<std::unique_ptr<ExecStats>>> &counters) {
  for (const auto &thread : counters)
    for (unsigned rank = 0; rank < thread.size(); ++rank) {
      const ExecStats &from = *thread[rank];
      Stats &to = stats[rank];
      mergeInstructions(from, to);
      for (unsigned level = 0; level < memoryLevelCount; ++level) {
        to.levels[level].bytesRead += from.levels[level].read;
        to.levels[level].bytesWritten += from.levels[level].written;
      }
      if (from.ldsBanks) {
        to.ldsAccesses += from.ldsBanks->accesses;
        to.ldsBankConflicts += from.ldsBanks->conflicts;
      }
      to.caches.l2Lines += from.caches.l2Lines;
      to.caches.l2Misses += from.caches.l2Misses;
      to.caches.memoryLines += from.caches.memoryLines;
      to.caches.hbmBytesRead += from.caches.hbmBytesRead;
      to.workgroups += from.workgroups;
      mergeTraffic(rank, from);
    }
  for (unsigned rank = 0; rank < stats.size(); ++rank) {
    stats[rank].traffic.clear();
    for (const auto &[key, entry] : traffic[rank])
      stats[rank].traffic.push_back(entry);
  }
}

Stats Machine::stats(unsigned rank) const {
  std::lock_guard guard(impl->lock);
  return rank < impl->stats.size() ? impl->stats[rank] : Stats();
}

void Machine::resetStats() {
  std::lock_guard guard(impl->lock);
  for (Stats &stats : impl->stats)
    stats = Stats();
  for (auto &traffic : impl->traffic)
    traffic.clear();
}

} // namespace mono::emu

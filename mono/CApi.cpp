// The C interface: checks of arguments, handles, and errors; the work is done elsewhere.
#include "mono/NodeGroup.h"
#include "mono/Status.h"
#include "mono/mono.h"
#include "runtime/File.h"

#include "lowering/Manifest.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <new>

using namespace llvm;
using namespace mono;
using namespace mono::facade;

struct mono_error {
  mono_status status;
  std::string text;
};

struct mono_kernel {
  std::shared_ptr<const CompiledKernel> kernel;
  mono_kernel_info info;
  std::vector<mono_operand> operands;
  std::vector<mono_parameter> parameters;
};

struct mono_node {
  std::shared_ptr<Node> node;
};

struct mono_group {
  std::unique_ptr<NodeGroup> group;
};

/// Given out when there is no memory for an error; never freed.
static mono_error outOfMemory{MONO_OUT_OF_MEMORY, "out of host memory"};

static mono_error *makeHandle(mono_status status, std::string_view text) noexcept {
  try {
    return new mono_error{status, std::string(text)};
  } catch (const std::bad_alloc &) {
    return &outOfMemory;
  }
}

/// The status an error was given on its way; without one it is a defect of ours.
static mono_error *toHandle(Error error) {
  mono_status status = MONO_INTERNAL_ERROR;
  std::string text;
  handleAllErrors(
      std::move(error),
      [&](const StatusError &known) {
        status = known.status;
        text = known.text;
      },
      [&](const ErrorInfoBase &other) { text = other.message(); });
  return makeHandle(status, text);
}

/// Runs the body of an API function: whatever goes wrong in it becomes a mono_error.
template <typename Body> static mono_error *guarded(Body body) noexcept {
  try {
    Error error = body();
    return error ? toHandle(std::move(error)) : nullptr;
  } catch (const std::bad_alloc &) {
    return &outOfMemory;
  } catch (const std::exception &exception) {
    return makeHandle(MONO_INTERNAL_ERROR, exception.what());
  }
}

/// Error for the first of the named arguments that is null.
static Error requireAll(std::initializer_list<std::pair<const void *, const char *>> arguments) {
  for (auto [pointer, name] : arguments)
    if (!pointer)
      return makeStatusError(MONO_INVALID_ARGUMENT, "expected '{}', but got NULL", name);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Version and errors
//===----------------------------------------------------------------------===//

uint32_t mono_abi_version(void) { return MONO_ABI_VERSION; }

const char *mono_version(void) {
  static const std::string text = toolVersion() + " (LLVM " LLVM_VERSION_STRING ", gfx950)";
  return text.c_str();
}

mono_status mono_error_status(const mono_error *error) { return error ? error->status : MONO_OK; }

const char *mono_error_text(const mono_error *error) { return error ? error->text.c_str() : ""; }

void mono_error_destroy(mono_error *error) {
  if (error != &outOfMemory)
    delete error;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The options of the caller, whose header may be older: missing fields are zero.
static Expected<mono_compile_options> readOptions(const mono_compile_options *given) {
  mono_compile_options options = {};
  if (!given)
    return options;
  if (given->size < sizeof(size_t) || given->size > sizeof(options))
    return makeStatusError(MONO_INVALID_ARGUMENT,
                           "expected compile options of {} to {} bytes, but got {} (is the library "
                           "older than the header?)",
                           sizeof(size_t), sizeof(options), given->size);
  std::memcpy(&options, given, given->size);
  if (options.parameter_count > 0 && !options.parameters)
    return makeStatusError(MONO_INVALID_ARGUMENT, "expected {} parameters, but got NULL",
                           options.parameter_count);
  return options;
}

static Expected<CacheSettings> cacheSettings(const mono_compile_options &options) {
  Expected<CacheSettings> settings = cacheSettingsFromEnvironment();
  if (!settings)
    return withStatus(MONO_INVALID_ARGUMENT, settings.takeError());
  if (options.cache_dir) {
    settings->directory = options.cache_dir;
    settings->reason = options.cache_dir[0] ? "" : "switched off by the options";
  }
  if (options.cache_max_bytes)
    settings->maxBytes = options.cache_max_bytes;
  return settings;
}

static Expected<CompileSettings> compileSettings(const mono_compile_options *given) {
  Expected<mono_compile_options> options = readOptions(given);
  if (!options)
    return options.takeError();
  Expected<CacheSettings> cache = cacheSettings(*options);
  if (!cache)
    return cache.takeError();
  CompileSettings settings;
  settings.cache = std::move(*cache);
  settings.watchdogCycles = options->watchdog_cycles;
  if (options->linker)
    settings.linker = options->linker;
  if (settings.linker != "lld" && settings.linker != "comgr")
    return makeStatusError(MONO_INVALID_ARGUMENT, "expected linker 'lld' or 'comgr', but got '{}'",
                           settings.linker);
  if (settings.watchdogCycles < 0)
    return makeStatusError(MONO_INVALID_ARGUMENT, "expected 0 or more watchdog cycles, but got {}",
                           settings.watchdogCycles);
  for (size_t i = 0; i < options->parameter_count; ++i) {
    const mono_parameter &parameter = options->parameters[i];
    if (!parameter.name)
      return makeStatusError(MONO_INVALID_ARGUMENT, "parameter {}: expected a name, but got NULL",
                             i);
    settings.params.emplace_back(parameter.name, parameter.value);
  }
  return settings;
}

static mono_element describe(ElementType element) {
  switch (element) {
  case ElementType::BF16:
    return MONO_BF16;
  case ElementType::F32:
    return MONO_F32;
  case ElementType::I32:
    return MONO_I32;
  case ElementType::FP4E2M1:
    return MONO_FP4_E2M1;
  case ElementType::E8M0:
    return MONO_E8M0;
  case ElementType::FP8E4M3:
    return MONO_FP8_E4M3;
  }
  return MONO_BF16;
}

static mono_operand describe(const Operand &operand) {
  mono_operand result = {};
  result.name = operand.name.c_str();
  result.access = operand.access == OperandAccess::Read    ? MONO_READ
                  : operand.access == OperandAccess::Write ? MONO_WRITE
                                                           : MONO_UPDATE;
  result.element = describe(operand.type.element);
  result.is_weight = operand.role == Role::Weight;
  result.rank = operand.type.shape.size();
  result.shape = operand.type.shape.data();
  result.layout = layoutName(operand.type.layout).data(); // a literal
  result.bytes = operand.type.bytes();
  return result;
}

static mono_kernel_info describe(const CompiledKernel &kernel) {
  const Manifest &manifest = kernel.manifest;
  mono_kernel_info info = {};
  info.name = manifest.kernel.c_str();
  info.target = manifest.target.c_str();
  info.ranks = manifest.ranks;
  info.workgroups = manifest.ctas;
  info.threads = manifest.threads;
  info.operand_count = manifest.operands.size();
  info.parameter_count = manifest.params.size();
  info.from_cache = kernel.fromCache;
  info.lds_bytes = manifest.ldsBytes;
  WorkspaceSize size = workspaceSize(manifest);
  info.workspace = {size.local,
                    size.peers,
                    size.alignment,
                    manifest.deviceMailboxBytes,
                    manifest.epochBytes,
                    manifest.peerTableBytes(),
                    manifest.peerMailboxBytes};
  info.cache_note = kernel.cacheNote.c_str();
  return info;
}

static mono_kernel *makeHandle(std::shared_ptr<const CompiledKernel> kernel) {
  auto handle = std::make_unique<mono_kernel>();
  handle->info = describe(*kernel);
  for (const Operand &operand : kernel->manifest.operands)
    handle->operands.push_back(describe(operand));
  for (const auto &[name, value] : kernel->manifest.params)
    handle->parameters.push_back({name.c_str(), value});
  handle->kernel = std::move(kernel);
  return handle.release();
}

/// Compiles and writes the handle.
static Error compileInto(std::unique_ptr<MemoryBuffer> source, const CompileSettings &settings,
                         mono_kernel **result) {
  Expected<std::shared_ptr<const CompiledKernel>> kernel =
      CompiledKernel::compile(std::move(source), settings);
  if (!kernel)
    return kernel.takeError();
  *result = makeHandle(std::move(*kernel));
  return Error::success();
}

mono_error *mono_compile_file(const char *path, const mono_compile_options *options,
                              mono_kernel **kernel) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{path, "path"}, {kernel, "kernel"}}))
      return error;
    Expected<CompileSettings> settings = compileSettings(options);
    if (!settings)
      return settings.takeError();
    Expected<std::unique_ptr<MemoryBuffer>> file = readTextFile(path);
    if (!file)
      return withStatus(MONO_FILE_ERROR, file.takeError());
    return compileInto(std::move(*file), *settings, kernel);
  });
}

mono_error *mono_compile_text(const char *text, size_t bytes, const char *name,
                              const char *directory, const mono_compile_options *options,
                              mono_kernel **kernel) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{text, "text"}, {kernel, "kernel"}}))
      return error;
    Expected<CompileSettings> settings = compileSettings(options);
    if (!settings)
      return settings.takeError();
    SmallString<128> file(directory ? directory : "");
    sys::path::append(file, name ? name : "schedule.mlir");
    return compileInto(MemoryBuffer::getMemBufferCopy(StringRef(text, bytes), file), *settings,
                       kernel);
  });
}

mono_error *mono_kernel_load(const void *codeObject, size_t bytes, mono_kernel **kernel) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{codeObject, "code_object"}, {kernel, "kernel"}}))
      return error;
    auto *begin = static_cast<const uint8_t *>(codeObject);
    auto loaded = CompiledKernel::load(std::vector<uint8_t>(begin, begin + bytes));
    if (!loaded)
      return loaded.takeError();
    *kernel = makeHandle(std::move(*loaded));
    return Error::success();
  });
}

void mono_kernel_destroy(mono_kernel *kernel) { delete kernel; }

const void *mono_kernel_code_object(const mono_kernel *kernel, size_t *bytes) {
  if (bytes)
    *bytes = kernel ? kernel->kernel->codeObject.size() : 0;
  return kernel ? kernel->kernel->codeObject.data() : nullptr;
}

const mono_kernel_info *mono_kernel_get_info(const mono_kernel *kernel) {
  return kernel ? &kernel->info : nullptr;
}

const mono_parameter *mono_kernel_get_parameter(const mono_kernel *kernel, size_t index) {
  return kernel && index < kernel->parameters.size() ? &kernel->parameters[index] : nullptr;
}

const mono_operand *mono_kernel_get_operand(const mono_kernel *kernel, size_t index) {
  return kernel && index < kernel->operands.size() ? &kernel->operands[index] : nullptr;
}

/// Packs or unpacks with `rearrange`, which is pack() or unpack() of runtime/Layout.h.
static mono_error *
rearranged(const mono_kernel *kernel, const char *name, const void *from, void *to, uint64_t bytes,
           Error (*rearrange)(const TensorType &, ArrayRef<uint8_t>, MutableArrayRef<uint8_t>)) {
  return guarded([&]() -> Error {
    if (Error error = requireAll(
            {{kernel, "kernel"}, {name, "operand"}, {from, "source"}, {to, "destination"}}))
      return error;
    Expected<const Operand *> operand = kernel->kernel->manifest.findOperand(name);
    if (!operand)
      return withStatus(MONO_INVALID_ARGUMENT, operand.takeError());
    const TensorType &type = (*operand)->type;
    if (bytes != type.bytes())
      return makeStatusError(MONO_INVALID_ARGUMENT,
                             "operand '{}': expected {} bytes ({}), but got {}", name, type.bytes(),
                             type.describe(), bytes);
    return withStatus(MONO_INVALID_ARGUMENT,
                      rearrange(type, {static_cast<const uint8_t *>(from), bytes},
                                {static_cast<uint8_t *>(to), bytes}));
  });
}

mono_error *mono_pack(const mono_kernel *kernel, const char *operand, const void *rowMajor,
                      void *packed, uint64_t bytes) {
  return rearranged(kernel, operand, rowMajor, packed, bytes, pack);
}

mono_error *mono_unpack(const mono_kernel *kernel, const char *operand, const void *packed,
                        void *rowMajor, uint64_t bytes) {
  return rearranged(kernel, operand, packed, rowMajor, bytes, unpack);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static Error makeNode(Expected<std::shared_ptr<Node>> made, mono_node **node) {
  if (!made)
    return made.takeError();
  *node = new mono_node{std::move(*made)};
  return Error::success();
}

mono_error *mono_node_create_emulator(uint32_t devices, mono_node **node) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{node, "node"}}))
      return error;
    return makeNode(Node::emulator(devices), node);
  });
}

mono_error *mono_node_create_hip(uint32_t first, uint32_t count, mono_node **node) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{node, "node"}}))
      return error;
    return makeNode(Node::hip(first, count), node);
  });
}

void mono_node_destroy(mono_node *node) { delete node; }

uint32_t mono_node_device_count(const mono_node *node) { return node ? node->node->size() : 0; }

/// Runs `body` on a device of a node, locked.
template <typename Body>
static Error onDevice(mono_node *node, uint32_t index, const void *memory, const char *name,
                      Body body) {
  if (Error error = requireAll({{node, "node"}, {memory, name}}))
    return error;
  std::lock_guard lock(node->node->mutex);
  Expected<Device *> device = node->node->device(index);
  if (!device)
    return device.takeError();
  return withStatus(MONO_DEVICE_ERROR, body(**device));
}

mono_error *mono_allocate(mono_node *node, uint32_t device, uint64_t bytes, mono_memory kind,
                          void **memory) {
  return guarded([&]() -> Error {
    if (kind != MONO_LOCAL && kind != MONO_PEER_VISIBLE)
      return makeStatusError(MONO_INVALID_ARGUMENT, "expected memory of kind 0 or 1, but got {}",
                             int(kind));
    return onDevice(node, device, memory, "memory", [&](Device &target) -> Error {
      Expected<DevicePtr> address =
          target.allocate(bytes, "host application",
                          kind == MONO_LOCAL ? MemoryKind::Local : MemoryKind::PeerVisible);
      if (!address)
        return address.takeError();
      *memory = reinterpret_cast<void *>(*address);
      return Error::success();
    });
  });
}

mono_error *mono_free(mono_node *node, uint32_t device, void *memory) {
  if (!memory)
    return nullptr;
  return guarded([&] {
    return onDevice(node, device, memory, "memory", [&](Device &target) {
      return target.free(reinterpret_cast<DevicePtr>(memory));
    });
  });
}

mono_error *mono_copy_to_device(mono_node *node, uint32_t device, void *to, const void *from,
                                uint64_t bytes) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{from, "from"}}))
      return error;
    return onDevice(node, device, to, "to", [&](Device &target) {
      return target.write(reinterpret_cast<DevicePtr>(to),
                          {static_cast<const uint8_t *>(from), bytes});
    });
  });
}

mono_error *mono_copy_from_device(mono_node *node, uint32_t device, void *to, const void *from,
                                  uint64_t bytes) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{to, "to"}}))
      return error;
    return onDevice(node, device, from, "from", [&](Device &target) {
      return target.read(reinterpret_cast<DevicePtr>(from), {static_cast<uint8_t *>(to), bytes});
    });
  });
}

mono_error *mono_map_host(mono_node *node, void *memory, uint64_t bytes) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{node, "node"}, {memory, "memory"}}))
      return error;
    std::lock_guard lock(node->node->mutex);
    return node->node->mapHost(memory, bytes);
  });
}

mono_error *mono_unmap_host(mono_node *node, void *memory) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{node, "node"}, {memory, "memory"}}))
      return error;
    std::lock_guard lock(node->node->mutex);
    return node->node->unmapHost(memory);
  });
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

mono_error *mono_group_create(const mono_kernel *kernel, mono_node *node,
                              const mono_workspace *workspaces, mono_group **group) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{kernel, "kernel"}, {node, "node"}, {group, "group"}}))
      return error;
    std::vector<Workspace> memory;
    for (size_t rank = 0; workspaces && rank < kernel->info.ranks; ++rank)
      memory.push_back({reinterpret_cast<DevicePtr>(workspaces[rank].local),
                        reinterpret_cast<DevicePtr>(workspaces[rank].peer)});
    auto made = NodeGroup::create(kernel->kernel, node->node, std::move(memory));
    if (!made)
      return made.takeError();
    *group = new mono_group{std::move(*made)};
    return Error::success();
  });
}

mono_error *mono_group_create_sharing(const mono_kernel *kernel, mono_group *with,
                                      mono_group **group) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{kernel, "kernel"}, {with, "with"}, {group, "group"}}))
      return error;
    auto made = NodeGroup::createSharing(kernel->kernel, *with->group);
    if (!made)
      return made.takeError();
    *group = new mono_group{std::move(*made)};
    return Error::success();
  });
}

void mono_group_destroy(mono_group *group) { delete group; }

mono_error *mono_group_bind(mono_group *group, uint32_t rank, const char *operand, void *memory,
                            uint64_t bytes) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{group, "group"}, {operand, "operand"}, {memory, "memory"}}))
      return error;
    return group->group->bind(rank, operand, memory, bytes);
  });
}

mono_error *mono_group_launch(mono_group *group, void *const *streams) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{group, "group"}}))
      return error;
    return group->group->launch(streams);
  });
}

mono_error *mono_group_synchronize(mono_group *group) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{group, "group"}}))
      return error;
    return group->group->synchronize();
  });
}

mono_error *mono_group_check(mono_group *group) {
  return guarded([&]() -> Error {
    if (Error error = requireAll({{group, "group"}}))
      return error;
    return group->group->check();
  });
}

// The C++ interface of monoc for a host application: mono.h with owners, strings and vectors. All
// of it is in this header, so only the C interface crosses the border of libmono.so and the
// application may use any compiler and standard library. mono.h says what the functions do.
#pragma once

#include "mono/mono.h"

#include <cassert>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mono::jit {

/// Success, or a status and what went wrong. Tests true when something did.
class [[nodiscard]] Error {
public:
  Error() = default;
  Error(mono_status status, std::string text) : code(status), message(std::move(text)) {}
  /// Takes over what a function of mono.h returned.
  static Error take(mono_error *error) {
    Error result(mono_error_status(error), mono_error_text(error));
    mono_error_destroy(error);
    return result;
  }

  explicit operator bool() const { return code != MONO_OK; }
  mono_status status() const { return code; }
  const std::string &text() const { return message; }

private:
  mono_status code = MONO_OK;
  std::string message;
};

/// A value or an error. Tests true when there is a value.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Error error) : failure(std::move(error)) { assert(failure && "expected an error"); }

  explicit operator bool() const { return held.has_value(); }
  T &operator*() { return *held; }
  T *operator->() { return &*held; }
  const Error &error() const { return failure; }

private:
  std::optional<T> held;
  Error failure;
};

namespace detail {

template <typename Handle, void (*destroy)(Handle *)> struct Destroy {
  void operator()(Handle *handle) const { destroy(handle); }
};
template <typename Handle, void (*destroy)(Handle *)>
using Owner = std::unique_ptr<Handle, Destroy<Handle, destroy>>;

} // namespace detail

struct CompileOptions {
  std::vector<std::pair<std::string, int64_t>> parameters;
  std::string linker = "lld";
  int64_t watchdogCycles = 0;
  std::optional<std::string> cacheDirectory; ///< none: from the environment; empty: no cache
  uint64_t cacheMaxBytes = 0;                ///< 0: from the environment
};

/// A compiled schedule; immutable.
class Kernel {
public:
  static Result<Kernel> compileFile(const std::string &path, const CompileOptions &options = {}) {
    CallOptions call(options);
    mono_kernel *kernel = nullptr;
    return made(mono_compile_file(path.c_str(), &call.options, &kernel), kernel);
  }

  /// `name` and `directory` stand for where the text would be: messages and imports use them.
  static Result<Kernel> compileText(std::string_view text, const CompileOptions &options = {},
                                    const std::string &name = "schedule.mlir",
                                    const std::string &directory = "") {
    CallOptions call(options);
    mono_kernel *kernel = nullptr;
    return made(mono_compile_text(text.data(), text.size(), name.c_str(), directory.c_str(),
                                  &call.options, &kernel),
                kernel);
  }

  static Result<Kernel> load(std::span<const uint8_t> codeObject) {
    mono_kernel *kernel = nullptr;
    return made(mono_kernel_load(codeObject.data(), codeObject.size(), &kernel), kernel);
  }

  const mono_kernel_info &info() const { return *mono_kernel_get_info(owner.get()); }
  const mono_operand &operand(size_t index) const {
    return *mono_kernel_get_operand(owner.get(), index);
  }
  const mono_parameter &parameter(size_t index) const {
    return *mono_kernel_get_parameter(owner.get(), index);
  }
  /// Null if there is no operand of that name.
  const mono_operand *findOperand(std::string_view name) const {
    for (size_t i = 0; i < info().operand_count; ++i)
      if (name == operand(i).name)
        return &operand(i);
    return nullptr;
  }
  std::span<const uint8_t> codeObject() const {
    size_t bytes = 0;
    const void *begin = mono_kernel_code_object(owner.get(), &bytes);
    return {static_cast<const uint8_t *>(begin), bytes};
  }

  /// Row-major order to the layout of an operand, and back.
  Error pack(const std::string &operand, std::span<const uint8_t> rowMajor,
             std::span<uint8_t> packed) const {
    return rearrange(mono_pack, operand, rowMajor, packed);
  }
  Error unpack(const std::string &operand, std::span<const uint8_t> packed,
               std::span<uint8_t> rowMajor) const {
    return rearrange(mono_unpack, operand, packed, rowMajor);
  }

  mono_kernel *handle() const { return owner.get(); }

private:
  /// Options as the C interface wants them; points into what it was made from.
  struct CallOptions {
    explicit CallOptions(const CompileOptions &from) {
      for (const auto &[name, value] : from.parameters)
        parameters.push_back({name.c_str(), value});
      options.size = sizeof(options);
      options.parameters = parameters.data();
      options.parameter_count = parameters.size();
      options.linker = from.linker.c_str();
      options.watchdog_cycles = from.watchdogCycles;
      options.cache_dir = from.cacheDirectory ? from.cacheDirectory->c_str() : nullptr;
      options.cache_max_bytes = from.cacheMaxBytes;
    }
    std::vector<mono_parameter> parameters;
    mono_compile_options options = {};
  };

  explicit Kernel(mono_kernel *kernel) : owner(kernel) {}
  static Result<Kernel> made(mono_error *error, mono_kernel *kernel) {
    if (error)
      return Error::take(error);
    return Kernel(kernel);
  }
  Error rearrange(decltype(&mono_pack) function, const std::string &operand,
                  std::span<const uint8_t> from, std::span<uint8_t> to) const {
    if (from.size() != to.size())
      return {MONO_INVALID_ARGUMENT, "expected two buffers of the same size, but got " +
                                         std::to_string(from.size()) + " and " +
                                         std::to_string(to.size()) + " bytes"};
    return Error::take(function(owner.get(), operand.c_str(), from.data(), to.data(), from.size()));
  }

  detail::Owner<mono_kernel, mono_kernel_destroy> owner;
};

/// Devices, one per rank.
class Node {
public:
  static Result<Node> emulator(uint32_t devices) {
    mono_node *node = nullptr;
    return made(mono_node_create_emulator(devices, &node), node);
  }
  static Result<Node> hip(uint32_t first, uint32_t count) {
    mono_node *node = nullptr;
    return made(mono_node_create_hip(first, count, &node), node);
  }

  uint32_t devices() const { return mono_node_device_count(owner.get()); }

  /// Device memory; the caller frees it.
  Result<void *> allocate(uint32_t device, uint64_t bytes, mono_memory kind = MONO_LOCAL) {
    void *memory = nullptr;
    if (mono_error *error = mono_allocate(owner.get(), device, bytes, kind, &memory))
      return Error::take(error);
    return memory;
  }
  Error free(uint32_t device, void *memory) {
    return Error::take(mono_free(owner.get(), device, memory));
  }
  template <typename T> Error write(uint32_t device, void *to, std::span<const T> from) {
    return Error::take(
        mono_copy_to_device(owner.get(), device, to, from.data(), from.size_bytes()));
  }
  template <typename T> Error read(uint32_t device, std::span<T> to, const void *from) {
    return Error::take(
        mono_copy_from_device(owner.get(), device, to.data(), from, to.size_bytes()));
  }
  Error mapHost(void *memory, uint64_t bytes) {
    return Error::take(mono_map_host(owner.get(), memory, bytes));
  }
  Error unmapHost(void *memory) { return Error::take(mono_unmap_host(owner.get(), memory)); }

  mono_node *handle() const { return owner.get(); }

private:
  explicit Node(mono_node *node) : owner(node) {}
  static Result<Node> made(mono_error *error, mono_node *node) {
    if (error)
      return Error::take(error);
    return Node(node);
  }

  detail::Owner<mono_node, mono_node_destroy> owner;
};

/// A kernel on the devices of a node.
class Group {
public:
  /// `workspaces` has one per rank, or none: then the library allocates.
  static Result<Group> create(const Kernel &kernel, const Node &node,
                              std::span<const mono_workspace> workspaces = {}) {
    if (!workspaces.empty() && workspaces.size() != kernel.info().ranks)
      return Error(MONO_INVALID_ARGUMENT,
                   "expected a workspace for each of " + std::to_string(kernel.info().ranks) +
                       " ranks, but got " + std::to_string(workspaces.size()));
    mono_group *group = nullptr;
    if (mono_error *error =
            mono_group_create(kernel.handle(), node.handle(),
                              workspaces.empty() ? nullptr : workspaces.data(), &group))
      return Error::take(error);
    return Group(group, kernel.info().ranks);
  }

  /// On the node of `with`, taking turns with it on its workspace.
  static Result<Group> createSharing(const Kernel &kernel, const Group &with) {
    mono_group *group = nullptr;
    if (mono_error *error = mono_group_create_sharing(kernel.handle(), with.owner.get(), &group))
      return Error::take(error);
    return Group(group, kernel.info().ranks);
  }

  Error bind(uint32_t rank, const std::string &operand, void *memory, uint64_t bytes) {
    return Error::take(mono_group_bind(owner.get(), rank, operand.c_str(), memory, bytes));
  }
  /// On streams of the node's own.
  Error launch() { return Error::take(mono_group_launch(owner.get(), nullptr)); }
  /// On streams of the caller, a hipStream_t each.
  Error launch(std::span<void *const> streams) {
    if (streams.size() != ranks)
      return {MONO_INVALID_ARGUMENT, "expected a stream for each of " + std::to_string(ranks) +
                                         " ranks, but got " + std::to_string(streams.size())};
    return Error::take(mono_group_launch(owner.get(), streams.data()));
  }
  Error synchronize() { return Error::take(mono_group_synchronize(owner.get())); }
  /// What watchdogs recorded, once the streams of the caller have ended.
  Error check() { return Error::take(mono_group_check(owner.get())); }

private:
  Group(mono_group *group, uint32_t ranks) : owner(group), ranks(ranks) {}

  detail::Owner<mono_group, mono_group_destroy> owner;
  uint32_t ranks;
};

} // namespace mono::jit

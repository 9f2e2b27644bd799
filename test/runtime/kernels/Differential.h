// Runs one kernel on the emulator, and the same source on the host, and compares what they leave in
// memory.
#pragma once

#include "runtime/emulator/Emulator.h"
#include "test/runtime/kernels/HostGrid.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

/// The two halves of a kernel as Differential::both takes them: device name and host function.
#define TWIN(kernel) #kernel, &kernel

namespace mono::emu::test {

/// Memory of a kernel that exists on the host and on the emulator.
template <typename T> struct Buffer {
  std::vector<T> host;
  DevicePtr device = 0;
};

struct Shape {
  host::Dim grid = {1, 1, 1};
  host::Dim block = {64, 1, 1};
  uint32_t dynamicLdsBytes = 0;
};

/// Parameter structs of kernels are passed as they lie in memory, each aligned to its own
/// alignment.
class Kernarg {
public:
  template <typename T> void add(const T &value) {
    bytes.resize((bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    auto *p = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(T));
  }
  template <typename T> void add(const Buffer<T> &buffer) { add(buffer.device); }
  std::vector<uint8_t> bytes;
};

/// One emulated device with one compiled kernel file.
class Differential {
public:
  /// `file` without its ending and `optimization` "O0" or "O3" name the code object.
  Differential(const std::string &file, const std::string &optimization);

  /// Memory that holds `values` on both sides.
  template <typename T> Buffer<T> input(std::vector<T> values) {
    Buffer<T> buffer{std::move(values), 0};
    buffer.device = allocate(buffer.host.size() * sizeof(T));
    llvm::cantFail(machine.write(0, buffer.device, bytesOf(buffer.host)));
    return buffer;
  }
  /// Memory nobody has written. Reading back an element that the kernel left alone is a failure.
  template <typename T> Buffer<T> output(size_t count) {
    return {std::vector<T>(count), allocate(count * sizeof(T))};
  }
  template <typename T> std::vector<T> read(const Buffer<T> &buffer) {
    std::vector<T> values(buffer.host.size());
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    readBytes(buffer.device, bytes);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  /// Runs a kernel on the emulator alone; arguments are buffers and plain values of the exact type.
  /// Returns the error text, empty if it went well.
  template <typename... Args>
  std::string device(const std::string &kernel, const Shape &shape, const Args &...args) {
    Kernarg kernarg;
    (kernarg.add(args), ...);
    return launch(kernel, shape, std::move(kernarg.bytes));
  }
  /// Runs a kernel on both sides; the host function says what types the arguments have.
  template <typename... Params, typename... Args>
  void both(const char *name, void (*kernel)(Params...), const Shape &shape, Args &&...args) {
    Kernarg kernarg;
    (addAs<Params>(kernarg, args), ...);
    ASSERT_EQ(launch(name, shape, std::move(kernarg.bytes)), "") << name;
    host::runGrid(shape.grid, shape.block, shape.dynamicLdsBytes,
                  [&] { kernel(hostValue<Params>(args)...); });
  }

  /// Every element has the same bits on both sides, or is NaN on both.
  template <typename T> void expectSame(const Buffer<T> &buffer, const char *what = "");

  Machine machine;
  Module *module = nullptr;

private:
  template <typename T> static llvm::ArrayRef<uint8_t> bytesOf(const std::vector<T> &values) {
    return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)};
  }
  template <typename Param, typename T> static void addAs(Kernarg &kernarg, const Buffer<T> &b) {
    static_assert(std::is_convertible_v<T *, Param>);
    kernarg.add(b.device);
  }
  template <typename Param, typename T> static void addAs(Kernarg &kernarg, const T &value) {
    kernarg.add(Param(value));
  }
  template <typename Param, typename T> static Param hostValue(Buffer<T> &buffer) {
    return buffer.host.data();
  }
  template <typename Param, typename T> static Param hostValue(const T &value) { return value; }

  DevicePtr allocate(size_t bytes);
  void readBytes(DevicePtr ptr, std::vector<uint8_t> &bytes);
  std::string launch(const std::string &kernel, const Shape &shape, std::vector<uint8_t> kernarg);
};

/// The code object compiled from `file` at `optimization`.
std::vector<uint8_t> compiledKernels(const std::string &file, const std::string &optimization);

template <typename T> bool isNan(T value) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return value != value;
}
template <typename T> bool sameValue(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (isNan(a) && isNan(b));
}

/// What a stream can print of a value: small integers as numbers, reals as double.
template <typename T> auto printable(T value) {
  if constexpr (std::is_integral_v<T>)
    return +value;
  else
    return double(value);
}

template <typename T> void Differential::expectSame(const Buffer<T> &buffer, const char *what) {
  std::vector<T> values = read(buffer);
  unsigned wrong = 0;
  for (size_t n = 0; n < values.size(); ++n)
    if (!sameValue(values[n], buffer.host[n]) && ++wrong <= 5)
      ADD_FAILURE() << what << "[" << n << "]: expected " << printable(buffer.host[n])
                    << ", but got " << printable(values[n]);
  EXPECT_EQ(wrong, 0u) << what << ": of " << values.size() << " elements";
}

/// Distance of `value` from the exact `reference` in units of the last place of `reference` as a
/// T (of the smallest denormal below the normal range). NaN matches NaN, infinity infinity.
double ulpError(float value, double reference);
double ulpError(double value, double reference);
double ulpError(_Float16 value, double reference);

/// A suite that runs at each optimization level named where it is instantiated.
class KernelSuite : public testing::TestWithParam<const char *> {};
#define INSTANTIATE_KERNELS(suite, ...)                                                            \
  INSTANTIATE_TEST_SUITE_P(Compiled, suite, testing::Values(__VA_ARGS__),                          \
                           [](const auto &info) { return std::string(info.param); })

} // namespace mono::emu::test

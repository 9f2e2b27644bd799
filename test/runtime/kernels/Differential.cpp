// Launching compiled kernels and measuring errors of results.
#include "test/runtime/kernels/Differential.h"

#include "llvm/Support/MemoryBuffer.h"

#include <limits>

namespace mono::emu::test {

std::vector<uint8_t> compiledKernels(const std::string &file, const std::string &optimization) {
  std::string path = MONO_KERNEL_DIR "/" + file + "." + optimization + ".hsaco";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  if (!buffer)
    return {};
  return {(*buffer)->getBufferStart(), (*buffer)->getBufferEnd()};
}

static Options twoThreads() {
  Options options;
  options.threads = 2;
  return options;
}

Differential::Differential(const std::string &file, const std::string &optimization)
    : machine(1, twoThreads()) {
  module = llvm::cantFail(machine.load(0, compiledKernels(file, optimization)));
}

DevicePtr Differential::allocate(size_t bytes) {
  return llvm::cantFail(machine.allocate(0, bytes, "buffer"));
}

void Differential::readBytes(DevicePtr ptr, std::vector<uint8_t> &bytes) {
  EXPECT_EQ(llvm::toString(machine.read(0, ptr, bytes)), "");
}

std::string Differential::launch(const std::string &kernel, const Shape &shape,
                                 std::vector<uint8_t> kernarg) {
  Launch launch;
  launch.module = module;
  launch.kernel = kernel;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.dynamicLdsBytes = shape.dynamicLdsBytes;
  launch.kernarg = std::move(kernarg);
  return llvm::toString(machine.run({launch}));
}

/// Exponent of the last place of `reference` in a format of `precision` bits.
static double lastPlace(double reference, int precision, int minExponent) {
  int exponent = reference == 0 ? minExponent : std::ilogb(reference);
  return std::ldexp(1.0, std::max(exponent, minExponent) - precision + 1);
}

template <typename T> static double ulps(T value, double reference, int precision, int minExp) {
  double v = double(value);
  if (std::isnan(v) || std::isnan(reference))
    return std::isnan(v) && std::isnan(reference) ? 0 : std::numeric_limits<double>::infinity();
  if (std::isinf(v) || std::isinf(reference))
    return v == double(T(reference)) ? 0 : std::numeric_limits<double>::infinity();
  return std::abs(v - reference) / lastPlace(reference, precision, minExp);
}

double ulpError(float value, double reference) { return ulps(value, reference, 24, -126); }
double ulpError(_Float16 value, double reference) { return ulps(value, reference, 11, -14); }
double ulpError(double value, double reference) { return ulps(value, reference, 53, -1022); }

} // namespace mono::emu::test

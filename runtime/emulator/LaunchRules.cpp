// What a launch may ask of a kernel.
#include "runtime/emulator/LaunchRules.h"

#include "runtime/Error.h"
#include "runtime/Gfx950.h"

#include <algorithm>

namespace mono::emu {

unsigned workgroupLimit(const KernelInfo &kernel) {
  return kernel.maxWorkgroupSize ? std::min(kernel.maxWorkgroupSize, gfx950::maxWorkgroupSize)
                                 : gfx950::maxWorkgroupSize;
}

llvm::Error checkShape(const KernelInfo &kernel, const std::array<uint32_t, 3> &g,
                       const std::array<uint32_t, 3> &b, const std::array<uint32_t, 3> &remainder) {
  for (unsigned d = 0; d < 3; ++d)
    if (g[d] == 0 || b[d] == 0)
      return makeError(
          "kernel '{}': expected a grid and workgroup of at least 1 in each dimension, but "
          "got ({}, {}, {}) x ({}, {}, {})",
          kernel.name, g[0], g[1], g[2], b[0], b[1], b[2]);
  const uint64_t limit = workgroupLimit(kernel);
  // Each factor is bounded first, so that the product cannot wrap.
  bool tooLarge =
      b[0] > limit || b[1] > limit || b[2] > limit || uint64_t(b[0]) * b[1] * b[2] > limit;
  if (tooLarge)
    return makeError(
        "kernel '{}': expected at most {} work-items per workgroup, but got {} x {} x {}",
        kernel.name, limit, b[0], b[1], b[2]);
  for (unsigned d = 0; d < 3; ++d)
    if (remainder[d] >= b[d] && remainder[d] != 0)
      return makeError("kernel '{}': expected fewer than {} work-items in a partial workgroup, but "
                       "got {} in dimension {}",
                       kernel.name, b[d], remainder[d], d);
  constexpr uint64_t maxGrid = uint64_t(1) << 32;
  if (uint64_t(g[0]) * g[1] >= maxGrid || uint64_t(g[0]) * g[1] * g[2] >= maxGrid)
    return makeError("kernel '{}': expected fewer than 2^32 workgroups, but got {} x {} x {}",
                     kernel.name, g[0], g[1], g[2]);
  return llvm::Error::success();
}

bool isHidden(const KernelArg &arg) {
  return llvm::StringRef(arg.valueKind).starts_with("hidden_");
}

uint64_t explicitBytes(llvm::ArrayRef<KernelArg> args) {
  uint64_t end = 0;
  for (const KernelArg &arg : args)
    if (!isHidden(arg))
      end = std::max(end, arg.offset + arg.size);
  return end;
}

} // namespace mono::emu

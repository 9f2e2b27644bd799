// What the examples share: f32 vectors in and out of a group, and the end of a program.
#pragma once

#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"

#include <cstdio>
#include <vector>

namespace mono::examples {

inline llvm::Error writeFloats(Group &group, unsigned rank, llvm::StringRef operand,
                               const std::vector<float> &values) {
  return group.write(rank, operand,
                     {reinterpret_cast<const uint8_t *>(values.data()), values.size() * 4});
}

inline llvm::Expected<std::vector<float>> readFloats(Group &group, unsigned rank,
                                                     llvm::StringRef operand, size_t count) {
  std::vector<float> values(count);
  if (llvm::Error error = group.read(
          rank, operand, {reinterpret_cast<uint8_t *>(values.data()), values.size() * 4}))
    return error;
  return values;
}

/// The only argument of a program that takes a schedule; null if there are others or it is an
/// option.
inline const char *scheduleArgument(int argc, char **argv) {
  return argc == 2 && argv[1][0] != '-' ? argv[1] : nullptr;
}

/// Exit status of a program that cannot do with its arguments: prints which it takes.
inline int usage(const char *arguments) {
  std::fprintf(stderr, "usage: %s\n", arguments);
  return 2;
}

/// Exit status of a program: prints what went wrong.
inline int finish(llvm::Error error) {
  if (!error)
    return 0;
  std::fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str());
  return 1;
}

} // namespace mono::examples

// Which build of the compiler this is.
#pragma once

#include <string>

namespace mono::facade {

/// Version, and the linker's build ids (hashes of the contents) of the binaries that hold the
/// compiler and LLVM, in hexadecimal. Empty if a binary has none: then nobody can tell two builds
/// apart. Computed once.
const std::string &compilerBuildId();

/// The build id of the loaded binary that holds `address`; empty if it has none.
std::string buildIdAt(const void *address);

} // namespace mono::facade

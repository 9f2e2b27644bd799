// The FILE of the command line as a code object: compiled when it is a schedule, read when it is
// one already.
#pragma once

#include "models/Registry.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mono::tools {

/// The code object of FILE.mlir under these parameters, or the bytes of FILE.hsaco, whose
/// parameters must then agree with `params`. `markers`: compile with CompileOptions::markers.
/// Errors name the file.
llvm::Expected<std::vector<uint8_t>> loadSource(llvm::StringRef file, const models::Params &params,
                                                bool markers);

} // namespace mono::tools

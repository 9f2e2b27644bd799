// The FILE of the command line as a code object: compiled when it is a schedule, read when it is
// one already.
#pragma once

#include "models/Registry.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mono::tools {

struct Source {
  std::vector<uint8_t> codeObject;
  std::vector<std::string> imports; ///< files that were read besides FILE
};

/// The code object of FILE.mlir under these parameters, or the bytes of FILE.hsaco, whose
/// parameters must then agree with `params`. `markers`: compile with CompileOptions::markers.
/// Errors name the file.
llvm::Expected<Source> loadSource(llvm::StringRef file, const models::Params &params, bool markers);

} // namespace mono::tools

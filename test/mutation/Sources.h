// The right schedules of the repository: mistakes are put into them, and right changes made to
// them.
#pragma once

#include "test/mutation/Harness.h"

namespace mono::test {

/// A schedule file, and values that bind it small enough to be run often.
struct Source {
  std::string file;                ///< a path; of allSources(), below the root of the repository
  std::vector<std::string> params; ///< `NAME=INT` each
};

/// "FILE" or "FILE:NAME=INT,NAME=INT".
Source parseSource(llvm::StringRef text);

/// All of them.
std::vector<Source> allSources();

/// The whole GLM-5 layer on two ranks at sizes that emulate in a second.
Source tinyLayer();

/// One bound schedule of a file.
struct BoundSource {
  std::string name; ///< "glm5_layer", or "valid/two_producers" where the file has several
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Binds the schedules of a file, which lines `// -----` separate. Empty after a message on stderr.
std::vector<BoundSource> bindSource(mlir::MLIRContext &context, const Source &source);

} // namespace mono::test

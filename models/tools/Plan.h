// What the options of monorun come to, before a device is touched.
#pragma once

#include "models/Problem.h"
#include "models/tools/Dump.h"
#include "models/tools/Options.h"

#include <memory>
#include <optional>

namespace mono::tools {

struct Plan {
  std::vector<uint8_t> codeObject;
  Manifest manifest;
  std::unique_ptr<models::Problem> problem; ///< null when no verdict is asked for
  Dump dump;
};

/// Compiles or reads the schedule, opens the golden case and looks up every name. Errors: whatever
/// is wrong with the files, or with names that only the kernel knows.
llvm::Expected<Plan> makePlan(const RunOptions &options);

/// The file at `path`, or none if that is empty.
llvm::Expected<std::optional<SafetensorsFile>> openIfNamed(const std::string &path);

/// Whether --mailboxes asks for all there are.
bool wantsAllMailboxes(const RunOptions &options);

} // namespace mono::tools

// What `monoc --report` says about a compiled schedule.
#pragma once

#include "lowering/Compile.h"

namespace mono {

/// Tables for people: grid, stages, operands, mailboxes, registers, and LDS over the stages.
llvm::Expected<std::string> reportText(const CompileResult &result);

/// The manifest with the resources of the finished object under "resources".
llvm::Expected<std::string> reportJson(const CompileResult &result);

} // namespace mono

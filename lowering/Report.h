// What `monoc --report` says about a compiled schedule.
#pragma once

#include "lowering/Compile.h"

namespace mono {

/// Tables for people: grid, stages with their costs, operands, mailboxes, registers, and LDS over
/// the stages. The result must have its costs (CompileOptions::costs).
llvm::Expected<std::string> reportText(const CompileResult &result);

/// The manifest with the costs of each stage under "stages", the longest chain of waits under
/// "hops", the weights once under "weight_floor", all operands under "memory_floor" and of each
/// what is read and written (OperandTraffic), the arena under "lds", and the resources of the
/// finished object under "resources".
llvm::Expected<std::string> reportJson(const CompileResult &result);

/// The same as one self-contained page for browsers, with pictures: workgroups over the stages, who
/// hands on what to whom, LDS over the stages.
llvm::Expected<std::string> reportHtml(const CompileResult &result);

} // namespace mono

// Row-major host tensors to and from the operands of a group, whatever the operands' layouts.
#pragma once

#include "models/Problem.h"
#include "runtime/Group.h"

namespace mono::models {

/// Packs a row-major operand into its layout and copies it to `rank`.
llvm::Error writeRowMajor(Group &group, unsigned rank, const Operand &operand,
                          llvm::ArrayRef<uint8_t> rowMajor);

/// Copies an operand from `rank` and unpacks it.
llvm::Expected<HostTensor> readRowMajor(Group &group, unsigned rank, const Operand &operand);

/// Gives the operands of one access their values from the problem, on every rank.
llvm::Error provide(Group &group, Problem &problem, OperandAccess access);

/// Reads every operand with access write or update, one map a rank.
llvm::Expected<std::vector<RankOutputs>> readOutputs(Group &group);

/// Reads what the last launch posted to these mailboxes, one map a rank.
llvm::Expected<std::vector<RankOutputs>> readMailboxes(Group &group,
                                                       llvm::ArrayRef<std::string> names);

} // namespace mono::models

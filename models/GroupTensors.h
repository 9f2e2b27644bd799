// Row-major host tensors to and from the operands of a group, whatever the operands' layouts.
#pragma once

#include "models/Problem.h"
#include "runtime/Group.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mono::models {

/// Packs a row-major operand into its layout and copies it to `rank`.
llvm::Error writeRowMajor(Group &group, unsigned rank, const Operand &operand,
                          llvm::ArrayRef<uint8_t> rowMajor);

/// Copies an operand from `rank` and unpacks it.
llvm::Expected<HostTensor> readRowMajor(Group &group, unsigned rank, const Operand &operand);

/// Gives the operands of one access their values from the problem, on every rank; `note` hears
/// which one is next.
llvm::Error provide(Group &group, Problem &problem, OperandAccess access,
                    llvm::function_ref<void(unsigned rank, const Operand &)> note = {});

/// Reads every operand with access write or update, one map a rank.
llvm::Expected<std::vector<RankOutputs>> readOutputs(Group &group);

/// The mailboxes the last launch posted to.
llvm::Expected<std::vector<std::string>> postedMailboxes(Group &group);

/// Reads what the last launch posted to these mailboxes, one map a rank.
llvm::Expected<std::vector<RankOutputs>> readMailboxes(Group &group,
                                                       llvm::ArrayRef<std::string> names);

} // namespace mono::models

// Operands from and to safetensors files.
#pragma once

#include "models/Problem.h"
#include "runtime/Group.h"
#include "runtime/Safetensors.h"

namespace mono::tools {

/// Fills every operand with access read or update. Tensor `NAME` serves all ranks, `rankR/NAME` one
/// of them and goes first. Data are row-major and get packed, unless a metadata key says they
/// already have the operand's layout: `layout.rankR/NAME`, or `layout.NAME`, which holds for
/// `rankR/NAME` too. Any other layout is an error. So are a missing operand, another shape or
/// dtype, a tensor that is no input of the kernel, and a layout of a tensor the file does not have.
llvm::Error loadInputs(Group &group, const SafetensorsFile &file);

/// What files of a kernel say about it: its schedule, its parameters, and which stage is the first
/// to post to each mailbox (posterKey()).
std::map<std::string, std::string> metadataOf(const Manifest &manifest);

/// Writes outputs, as `NAME` where all ranks agree bit by bit, else as `rankR/NAME` each, and
/// mailboxes as `rankR/mailbox/NAME`.
llvm::Error saveOutputs(llvm::StringRef path, const Manifest &manifest,
                        llvm::ArrayRef<models::RankOutputs> outputs,
                        llvm::ArrayRef<models::RankOutputs> mailboxes);

} // namespace mono::tools

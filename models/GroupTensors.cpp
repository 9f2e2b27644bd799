// Packing and unpacking on the way to and from a group.
#include "models/GroupTensors.h"

using namespace llvm;

namespace mono::models {

Error writeRowMajor(Group &group, unsigned rank, const Operand &operand,
                    ArrayRef<uint8_t> rowMajor) {
  std::vector<uint8_t> packed(operand.type.bytes());
  if (Error error = pack(operand.type, rowMajor, packed))
    return addContext(std::move(error), operand.name);
  return group.write(rank, operand.name, packed);
}

Expected<HostTensor> readRowMajor(Group &group, unsigned rank, const Operand &operand) {
  std::vector<uint8_t> packed(operand.type.bytes());
  if (Error error = group.read(rank, operand.name, packed))
    return error;
  HostTensor tensor{operand.type, std::vector<uint8_t>(packed.size())};
  if (Error error = unpack(operand.type, packed, tensor.bytes))
    return error;
  return tensor;
}

/// Makes the operand slice by slice, so that it is in memory once beside its place on the device.
static Error provideOperand(Group &group, Problem &problem, unsigned rank, const Operand &operand) {
  TensorType slice = sliceType(operand.type);
  size_t sliceBytes = slice.bytes();
  std::vector<uint8_t> packed(operand.type.bytes()), rowMajor(sliceBytes);
  for (size_t i = 0; i < sliceCount(operand.type); ++i) {
    problem.fill(rank, operand, i, rowMajor);
    if (Error error =
            pack(slice, rowMajor, MutableArrayRef(packed).slice(i * sliceBytes, sliceBytes)))
      return addContext(std::move(error), operand.name);
  }
  return group.write(rank, operand.name, packed);
}

Error provide(Group &group, Problem &problem, OperandAccess access,
              function_ref<void(unsigned, const Operand &)> note) {
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    for (const Operand &operand : group.manifest().operands) {
      if (operand.access != access)
        continue;
      if (note)
        note(rank, operand);
      if (Error error = provideOperand(group, problem, rank, operand))
        return error;
    }
  return Error::success();
}

Expected<std::vector<RankOutputs>> readOutputs(Group &group) {
  std::vector<RankOutputs> outputs(group.ranks());
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    for (const Operand &operand : group.manifest().operands) {
      if (operand.access == OperandAccess::Read)
        continue;
      Expected<HostTensor> tensor = readRowMajor(group, rank, operand);
      if (!tensor)
        return tensor.takeError();
      outputs[rank][operand.name] = std::move(*tensor);
    }
  return outputs;
}

Expected<std::vector<std::string>> postedMailboxes(Group &group) {
  std::vector<std::string> names;
  for (const Mailbox &mailbox : group.manifest().mailboxes) {
    Expected<bool> posted = group.isPosted(/*rank=*/0, mailbox.name);
    if (!posted)
      return posted.takeError();
    if (*posted)
      names.push_back(mailbox.name);
  }
  return names;
}

Expected<std::vector<RankOutputs>> readMailboxes(Group &group, ArrayRef<std::string> names) {
  std::vector<RankOutputs> mailboxes(group.ranks());
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    for (const std::string &name : names) {
      Expected<const Mailbox *> mailbox = group.manifest().findMailbox(name);
      if (!mailbox)
        return mailbox.takeError();
      const TensorType &type = (*mailbox)->type;
      HostTensor tensor{type, std::vector<uint8_t>(type.bytes())};
      if (Error error = group.readMailbox(rank, name, tensor.bytes))
        return error;
      mailboxes[rank][name] = std::move(tensor);
    }
  return mailboxes;
}

} // namespace mono::models

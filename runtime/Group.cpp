// Binding the operands of a group and launching it.
#include "runtime/Group.h"
#include "runtime/Error.h"
#include "runtime/Watchdog.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mono {

// ---- operands ----------------------------------------------------------------------------------

bool Group::isLocal(unsigned rank) const {
  for (const Member &member : members)
    if (member.rank == rank)
      return true;
  return false;
}

Expected<Group::Member *> Group::findMember(unsigned rank) {
  for (Member &member : members)
    if (member.rank == rank)
      return &member;
  if (rank >= ranks())
    return makeError("expected a rank below {}, but got {}", ranks(), rank);
  return makeError("rank {} lives in another process", rank);
}

Error Group::allocateOperand(Member &member, size_t index) {
  const Operand &operand = contract.operands[index];
  Expected<DeviceBuffer> memory =
      DeviceBuffer::allocate(*member.device, operand.type.bytes(), operand.name, MemoryKind::Local);
  if (!memory)
    return memory.takeError();
  member.owned[index] = std::move(*memory);
  member.operands[index] = member.owned[index].ptr();
  member.prepared.reset();
  return Error::success();
}

Expected<size_t> Group::operandIndex(StringRef name, uint64_t bytes) const {
  Expected<const Operand *> operand = contract.findOperand(name);
  if (!operand)
    return operand.takeError();
  const TensorType &type = (*operand)->type;
  if (bytes != type.bytes())
    return makeError("operand '{}': expected {} bytes ({}), but got {}", name, type.bytes(),
                     type.describe(), bytes);
  return *operand - contract.operands.data();
}

Error Group::write(unsigned rank, StringRef operand, ArrayRef<uint8_t> bytes) {
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  Expected<size_t> index = operandIndex(operand, bytes.size());
  if (!index)
    return index.takeError();
  if (!(*member)->operands[*index])
    if (Error error = allocateOperand(**member, *index))
      return error;
  return (*member)->device->write((*member)->operands[*index], bytes);
}

Error Group::bind(unsigned rank, StringRef operand, DevicePtr memory, uint64_t bytes) {
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  Expected<size_t> index = operandIndex(operand, bytes);
  if (!index)
    return index.takeError();
  if (memory == 0)
    return makeError("operand '{}' of rank {}: expected device memory, but got a null address",
                     operand, rank);
  (*member)->owned[*index] = DeviceBuffer();
  (*member)->operands[*index] = memory;
  (*member)->prepared.reset();
  return Error::success();
}

Error Group::read(unsigned rank, StringRef operand, MutableArrayRef<uint8_t> bytes) {
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  Expected<size_t> index = operandIndex(operand, bytes.size());
  if (!index)
    return index.takeError();
  if (!(*member)->operands[*index])
    return makeError("operand '{}' of rank {} is not bound", operand, rank);
  return addContext((*member)->device->read((*member)->operands[*index], bytes),
                    fmt::format("operand '{}' of rank {}", operand, rank));
}

Error Group::checkBound(const Member &member) const {
  for (size_t i = 0; i < contract.operands.size(); ++i)
    if (!member.operands[i])
      return makeError("operand '{}' of rank {} is not bound", contract.operands[i].name,
                       member.rank);
  return Error::success();
}

Error Group::poisonOutputs() {
  for (Member &member : members)
    for (size_t i = 0; i < contract.operands.size(); ++i)
      if (contract.operands[i].access == OperandAccess::Write)
        if (Error error =
                member.device->poison(member.operands[i], contract.operands[i].type.bytes()))
          return error;
  return Error::success();
}

// ---- launches ----------------------------------------------------------------------------------

/// The order docs/manifest.md fixes.
std::vector<uint8_t> Group::kernargs(const Member &member) const {
  std::vector<DevicePtr> pointers = member.operands;
  pointers.push_back(member.exchange->deviceMailboxes);
  pointers.push_back(member.exchange->peerTable);
  pointers.push_back(member.exchange->epochs);
  std::vector<uint8_t> bytes(contract.kernargBytes());
  for (size_t i = 0; i < pointers.size(); ++i)
    support::endian::write64le(&bytes[8 * i], pointers[i]);
  support::endian::write32le(&bytes[8 * pointers.size()], member.rank);
  return bytes;
}

Error Group::prepare(Member &member) {
  if (member.prepared)
    return Error::success();
  if (Error error = checkBound(member))
    return error;
  std::vector<uint8_t> arguments = kernargs(member);
  LaunchConfig config;
  config.kernel = member.kernel;
  config.workgroups = {contract.ctas, 1, 1};
  config.threads = {contract.threads, 1, 1};
  config.dynamicLdsBytes = contract.dynamicLdsBytes;
  config.kernargs = arguments;
  config.resident = true;
  config.failure = member.exchange->failure;
  Expected<std::unique_ptr<PreparedLaunch>> prepared = member.device->prepare(config);
  if (!prepared)
    return addContext(prepared.takeError(), fmt::format("rank {}", member.rank));
  member.prepared = std::move(*prepared);
  return Error::success();
}

Error Group::prepare() {
  if (!failure().empty())
    return makeError("the group is broken by an earlier launch and must be made anew: {}",
                     failure());
  for (Member &member : members)
    if (Error error = prepare(member))
      return error;
  return Error::success();
}

Error Group::enqueue(unsigned rank, StreamHandle stream) {
  Expected<Member *> member = findMember(rank);
  if (!member)
    return member.takeError();
  if (Error error = prepare())
    return error;
  return (*member)->prepared->start(stream);
}

Error Group::enqueue(ArrayRef<StreamHandle> streams) {
  if (streams.size() != members.size())
    return makeError("expected {} streams, one per rank of this process, but got {}",
                     members.size(), streams.size());
  if (Error error = prepare())
    return error;
  return startAll(streams);
}

Error Group::startAll(ArrayRef<StreamHandle> streams) {
  for (size_t i = 0; i < members.size(); ++i) {
    Error error = members[i].prepared->start(streams[i]);
    if (!error)
      continue;
    error = addContext(std::move(error), fmt::format("rank {}", members[i].rank));
    if (i == 0) // nothing has happened
      return error;
    error = breakWith(std::move(error));
    return joinErrors(std::move(error), release(members[i], streams[i]));
  }
  return Error::success();
}

Error Group::breakWith(Error error) {
  std::string text = toString(std::move(error));
  members.front().exchange->failure->record(text);
  return makeError("{}", text);
}

Error Group::checkWatchdogs() {
  if (contract.watchdogCycles == 0)
    return Error::success();
  Error result = Error::success();
  for (Member &member : members) {
    WatchdogRecord record;
    auto bytes = MutableArrayRef(reinterpret_cast<uint8_t *>(&record), sizeof(record));
    if (Error error = member.device->read(member.exchange->epochs + contract.watchdogOffset, bytes))
      return joinErrors(std::move(result), std::move(error));
    if (record.state != 0)
      result = joinErrors(std::move(result), makeError("{}", record.describe(contract)));
  }
  return result;
}

Error Group::check() {
  Error error = checkWatchdogs();
  return error ? breakWith(std::move(error)) : Error::success();
}

Error Group::launch() {
  if (Error error = prepare())
    return error;
  if (options.poisonOutputs)
    if (Error error = poisonOutputs())
      return error;
  Error result = startAll(std::vector<StreamHandle>(members.size()));
  // Also after a failed start: the ranks that did start must have ended before memory goes away.
  for (Member &member : members)
    result = joinErrors(std::move(result), member.device->synchronize());
  if (!result)
    result = checkWatchdogs();
  return result ? breakWith(std::move(result)) : Error::success();
}

} // namespace mono

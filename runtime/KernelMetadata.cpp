// Finds the NT_AMDGPU_METADATA note and reads one kernel of its MessagePack document.
#include "runtime/KernelMetadata.h"
#include "runtime/CodeObject.h"
#include "runtime/Error.h"
#include "runtime/emulator/decode/MessagePack.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"

using namespace llvm;
using Elf = object::ELF64LEFile;

namespace mono {

/// The document's bytes, or empty when there is no such note.
static Expected<StringRef> findMetadata(const Elf &elf) {
  auto headers = elf.program_headers();
  if (!headers)
    return brokenCodeObject(headers.takeError());
  for (const Elf::Elf_Phdr &header : *headers) {
    if (header.p_type != ELF::PT_NOTE)
      continue;
    Error error = Error::success();
    for (const auto &note : elf.notes(header, error))
      if (note.getName() == "AMDGPU" && note.getType() == ELF::NT_AMDGPU_METADATA) {
        consumeError(std::move(error));
        return note.getDescAsStringRef(std::max<size_t>(header.p_align, 4));
      }
    if (error)
      return brokenCodeObject(std::move(error));
  }
  return StringRef();
}

/// The entry of a map, or null.
static const msgpack::DocNode *lookup(msgpack::DocNode &node, StringRef key) {
  if (!node.isMap())
    return nullptr;
  auto found = node.getMap().find(key);
  return found == node.getMap().end() ? nullptr : &found->second;
}

static uint64_t number(msgpack::DocNode &node, StringRef key) {
  const msgpack::DocNode *field = lookup(node, key);
  if (field && field->getKind() == msgpack::Type::UInt)
    return field->getUInt();
  return field && field->getKind() == msgpack::Type::Int && field->getInt() > 0
             ? static_cast<uint64_t>(field->getInt())
             : 0;
}

static StringRef text(msgpack::DocNode &node, StringRef key) {
  const msgpack::DocNode *field = lookup(node, key);
  return field && field->isString() ? field->getString() : StringRef();
}

static uint64_t explicitBytes(msgpack::DocNode &kernel) {
  const msgpack::DocNode *field = lookup(kernel, ".args");
  uint64_t end = 0;
  if (!field || !field->isArray())
    return end;
  msgpack::DocNode arguments = *field;
  for (msgpack::DocNode argument : arguments.getArray())
    if (!text(argument, ".value_kind").starts_with("hidden_"))
      end = std::max(end, number(argument, ".offset") + number(argument, ".size"));
  return end;
}

static KernelMetadata convert(msgpack::DocNode &kernel) {
  KernelMetadata metadata;
  KernelInfo &info = metadata.info;
  info.vgprs = static_cast<unsigned>(number(kernel, ".vgpr_count"));
  info.agprs = static_cast<unsigned>(number(kernel, ".agpr_count"));
  info.sgprs = static_cast<unsigned>(number(kernel, ".sgpr_count"));
  info.vgprSpills = static_cast<unsigned>(number(kernel, ".vgpr_spill_count"));
  info.sgprSpills = static_cast<unsigned>(number(kernel, ".sgpr_spill_count"));
  info.ldsBytes = number(kernel, ".group_segment_fixed_size");
  info.scratchBytes = number(kernel, ".private_segment_fixed_size");
  info.kernargBytes = number(kernel, ".kernarg_segment_size");
  metadata.explicitKernargBytes = explicitBytes(kernel);
  metadata.maxWorkgroupSize = number(kernel, ".max_flat_workgroup_size");
  return metadata;
}

Expected<KernelMetadata> readKernelMetadata(ArrayRef<uint8_t> codeObject, StringRef kernel) {
  Expected<Elf> elf = openCodeObject(codeObject);
  if (!elf)
    return elf.takeError();
  Expected<StringRef> blob = findMetadata(*elf);
  if (!blob)
    return blob.takeError();
  msgpack::Document document;
  if (blob->empty() || !emu::readMessagePack(*blob, document))
    return makeError("broken code object: it has no readable metadata note");
  const msgpack::DocNode *field = lookup(document.getRoot(), "amdhsa.kernels");
  if (field && field->isArray()) {
    msgpack::DocNode kernels = *field;
    for (msgpack::DocNode candidate : kernels.getArray())
      if (text(candidate, ".name") == kernel)
        return convert(candidate);
  }
  return makeError("the code object has no metadata of a kernel '{}'", kernel);
}

} // namespace mono

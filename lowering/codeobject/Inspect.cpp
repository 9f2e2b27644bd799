// Reads the resources of a finished code object from its metadata note.
#include "lowering/codeobject/CodeObject.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;

namespace mono {

static int64_t integerAt(msgpack::MapDocNode map, StringRef key) {
  auto found = map.find(key);
  if (found == map.end())
    return 0;
  msgpack::DocNode node = found->second;
  if (node.getKind() == msgpack::Type::UInt)
    return node.getUInt();
  return node.getKind() == msgpack::Type::Int ? node.getInt() : 0;
}

static std::vector<KernelResources> readKernels(msgpack::Document &document) {
  std::vector<KernelResources> kernels;
  auto root = document.getRoot().getMap();
  auto list = root.find("amdhsa.kernels");
  if (list == root.end() || !list->second.isArray())
    return kernels;
  for (msgpack::DocNode node : list->second.getArray()) {
    auto map = node.getMap();
    KernelResources k;
    if (auto name = map.find(".name"); name != map.end() && name->second.isString())
      k.name = name->second.getString().str();
    k.vgprs = integerAt(map, ".vgpr_count");
    k.agprs = integerAt(map, ".agpr_count");
    k.sgprs = integerAt(map, ".sgpr_count");
    k.ldsBytes = integerAt(map, ".group_segment_fixed_size");
    k.scratchBytes = integerAt(map, ".private_segment_fixed_size");
    k.vgprSpills = integerAt(map, ".vgpr_spill_count");
    k.sgprSpills = integerAt(map, ".sgpr_spill_count");
    k.kernargBytes = integerAt(map, ".kernarg_segment_size");
    kernels.push_back(std::move(k));
  }
  return kernels;
}

Expected<std::vector<KernelResources>> inspect(ArrayRef<uint8_t> codeObject) {
  StringRef bytes(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  auto file = object::ELF64LEFile::create(bytes);
  if (!file)
    return file.takeError();
  auto headers = file->program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers) {
    if (header.p_type != ELF::PT_NOTE)
      continue;
    Error error = Error::success();
    for (const auto &note : file->notes(header, error)) {
      if (note.getType() != ELF::NT_AMDGPU_METADATA)
        continue;
      msgpack::Document document;
      if (document.readFromBlob(note.getDescAsStringRef(header.p_align), /*Multi=*/false) &&
          document.getRoot().isMap()) {
        consumeError(std::move(error));
        return readKernels(document);
      }
    }
    if (error)
      return error;
  }
  return createStringError(inconvertibleErrorCode(), "the code object has no metadata note");
}

} // namespace mono

// Naming, packing and checking of operand files.
#include "models/tools/TensorFiles.h"
#include "models/GroupTensors.h"
#include "models/tools/TensorDiff.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mono::tools {

static std::string rankName(unsigned rank, StringRef operand) {
  return fmt::format("rank{}/{}", rank, operand);
}

static Error checkTensor(const TensorView &view, const Operand &operand) {
  if (view.dtype != dtypeOf(operand.type.element) || view.shape != fileShapeOf(operand.type))
    return makeError("tensor '{}': expected {} {}, but got {}", view.name,
                     dtypeName(dtypeOf(operand.type.element)),
                     formatShape(fileShapeOf(operand.type)), view.describe());
  return Error::success();
}

/// The layout the file says the tensor has; row-major when it says nothing.
static Expected<Layout> storedLayout(const SafetensorsFile &file, const TensorView &view) {
  auto found = file.metadata().find("layout." + view.name);
  if (found == file.metadata().end())
    return Layout::RowMajor;
  Expected<Layout> layout = parseLayout(found->second);
  if (!layout)
    return addContext(layout.takeError(), "metadata key '" + found->first + "'");
  return layout;
}

static Error loadInput(Group &group, unsigned rank, const Operand &operand,
                       const SafetensorsFile &file) {
  const TensorView *view = file.find(rankName(rank, operand.name));
  if (!view)
    view = file.find(operand.name);
  if (!view)
    return makeError("no input for operand '{}' of rank {}", operand.name, rank);
  if (Error error = checkTensor(*view, operand))
    return error;
  Expected<Layout> layout = storedLayout(file, *view);
  if (!layout)
    return layout.takeError();
  if (*layout == Layout::RowMajor)
    return models::writeRowMajor(group, rank, operand, view->data);
  if (*layout != operand.type.layout)
    return makeError("tensor '{}' is packed as {}, but the operand wants {}", view->name,
                     layoutName(*layout), layoutName(operand.type.layout));
  return group.write(rank, operand.name, view->data);
}

/// Every tensor of the file is an input of some rank.
static Error checkNames(const Manifest &manifest, const SafetensorsFile &file) {
  for (const TensorView &view : file.tensors()) {
    StringRef name = view.name, rank;
    if (name.consume_front("rank"))
      std::tie(rank, name) = name.split('/');
    unsigned number = 0;
    bool ranked = !rank.empty();
    if (!ranked || rank.getAsInteger(10, number))
      name = view.name;
    else if (number >= manifest.ranks)
      return makeError("tensor '{}': expected a rank below {}", view.name, manifest.ranks);
    Expected<const Operand *> operand = manifest.findOperand(name);
    if (!operand)
      return operand.takeError();
    if ((*operand)->access == OperandAccess::Write)
      return makeError("operand '{}' is an output, but the input file has it", name);
  }
  return Error::success();
}

Error loadInputs(Group &group, const SafetensorsFile &file) {
  const Manifest &manifest = group.manifest();
  if (Error error = checkNames(manifest, file))
    return error;
  for (unsigned rank = 0; rank < manifest.ranks; ++rank)
    for (const Operand &operand : manifest.operands)
      if (operand.access != OperandAccess::Write)
        if (Error error = loadInput(group, rank, operand, file))
          return error;
  return Error::success();
}

static TensorView viewOf(std::string name, const models::HostTensor &tensor) {
  return {std::move(name), dtypeOf(tensor.type.element), fileShapeOf(tensor.type), tensor.bytes};
}

static std::vector<TensorView> outputViews(const Manifest &manifest,
                                           ArrayRef<models::RankOutputs> outputs) {
  std::vector<TensorView> tensors;
  for (const Operand &operand : manifest.operands) {
    if (operand.access == OperandAccess::Read)
      continue;
    auto view = [&](std::string name, unsigned rank) {
      return viewOf(std::move(name), outputs[rank].find(operand.name)->second);
    };
    bool equal = llvm::all_of(outputs, [&](const models::RankOutputs &rank) {
      return rank.find(operand.name)->second.bytes == outputs[0].find(operand.name)->second.bytes;
    });
    if (equal)
      tensors.push_back(view(operand.name, 0));
    else
      for (unsigned rank = 0; rank < outputs.size(); ++rank)
        tensors.push_back(view(rankName(rank, operand.name), rank));
  }
  return tensors;
}

std::map<std::string, std::string> metadataOf(const Manifest &manifest) {
  std::map<std::string, std::string> metadata = {{"schedule", manifest.schedule}};
  for (const auto &[name, value] : manifest.params)
    metadata["param." + name] = std::to_string(value);
  for (const Mailbox &mailbox : manifest.mailboxes)
    if (std::optional<unsigned> stage = manifest.firstPoster(mailbox.name))
      metadata[posterKey(mailbox.name)] =
          fmt::format("{} {}", *stage, manifest.stages[*stage].name);
  return metadata;
}

Error saveOutputs(StringRef path, const Manifest &manifest, ArrayRef<models::RankOutputs> outputs,
                  ArrayRef<models::RankOutputs> mailboxes) {
  std::vector<TensorView> tensors = outputViews(manifest, outputs);
  for (unsigned rank = 0; rank < mailboxes.size(); ++rank)
    for (const auto &entry : mailboxes[rank])
      tensors.push_back(viewOf(rankName(rank, "mailbox/" + entry.first().str()), entry.second));
  return writeSafetensors(path, tensors, metadataOf(manifest));
}

} // namespace mono::tools

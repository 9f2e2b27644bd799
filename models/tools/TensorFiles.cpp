// Naming, packing and checking of operand files.
#include "models/tools/TensorFiles.h"
#include "lowering/Nearest.h"
#include "models/GroupTensors.h"
#include "models/tools/FileDiff.h"
#include "models/tools/TensorName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mono::tools {

static Error checkTensor(const TensorView &view, const Operand &operand) {
  if (view.dtype != dtypeOf(operand.type.element) || view.shape != fileShapeOf(operand.type))
    return makeError("tensor '{}': expected {} {}, but got {}", view.name,
                     dtypeName(dtypeOf(operand.type.element)),
                     formatShape(fileShapeOf(operand.type)), view.describe());
  return Error::success();
}

constexpr StringLiteral layoutPrefix = "layout.";

/// The layout the file says the tensor has, under its own name or, for all ranks, that of the
/// operand; row-major when it says nothing.
static Expected<Layout> storedLayout(const SafetensorsFile &file, const TensorView &view) {
  auto found = file.metadata().find((layoutPrefix + view.name).str());
  if (found == file.metadata().end())
    found = file.metadata().find((layoutPrefix + TensorName::parse(view.name).name).str());
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
    return makeError("no input for operand '{}' of rank {}: expected tensor '{}', or '{}' for this "
                     "rank alone",
                     operand.name, rank, operand.name, rankName(rank, operand.name));
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
    auto [name, rank] = TensorName::parse(view.name);
    if (rank && view.name != rankName(*rank, name))
      return makeError("tensor '{}': expected its name as '{}'", view.name, rankName(*rank, name));
    if (rank.value_or(0) >= manifest.ranks)
      return makeError("tensor '{}': expected a rank below {}", view.name, manifest.ranks);
    Expected<const Operand *> operand = manifest.findOperand(name);
    if (!operand) {
      auto known = map_range(manifest.operands, [](const Operand &o) { return StringRef(o.name); });
      return makeError("tensor '{}': {}{}", view.name, toString(operand.takeError()),
                       nearestHint(name, known));
    }
    if ((*operand)->access == OperandAccess::Write)
      return makeError("operand '{}' is an output, but the input file has it", name);
  }
  return Error::success();
}

/// Every layout is that of a tensor of the file: one that is taken for row-major by mistake makes
/// wrong numbers.
static Error checkLayoutKeys(const SafetensorsFile &file) {
  SetVector<StringRef> operands;
  for (const TensorView &view : file.tensors())
    operands.insert(TensorName::parse(view.name).name);
  for (const auto &[key, layout] : file.metadata()) {
    StringRef name = key;
    if (!name.consume_front(layoutPrefix) || operands.contains(name) || file.find(name))
      continue;
    return makeError("metadata key '{}': expected layout.NAME or layout.rankR/NAME of a tensor of "
                     "the file{}; it has operands {}",
                     key, nearestHint(name, operands), join(operands, ", "));
  }
  return Error::success();
}

Error loadInputs(Group &group, const SafetensorsFile &file) {
  const Manifest &manifest = group.manifest();
  if (Error error = checkNames(manifest, file))
    return error;
  if (Error error = checkLayoutKeys(file))
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

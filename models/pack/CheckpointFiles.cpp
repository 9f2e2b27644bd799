// Index, lookup, checks and conversions of checkpoint files.
#include "models/pack/CheckpointFiles.h"
#include "models/BFloat16.h"
#include "models/Mxfp4.h"
#include "runtime/File.h"
#include "runtime/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cassert>
#include <cstring>

using namespace llvm;

namespace mono::models {

static constexpr StringLiteral indexName = "model.safetensors.index.json";
static constexpr StringLiteral singleName = "model.safetensors";

static std::string join(StringRef folder, StringRef name) {
  SmallString<128> path = folder;
  sys::path::append(path, name);
  return path.str().str();
}

Error CheckpointFiles::readIndex(StringRef folder) {
  std::string path = join(folder, indexName);
  if (!sys::fs::exists(path)) {
    if (sys::fs::exists(join(folder, singleName)))
      return Error::success();
    return makeError("{}: expected {} or {}, but there is neither", folder, indexName, singleName);
  }
  Expected<std::unique_ptr<MemoryBuffer>> text = readFile(path);
  if (!text)
    return text.takeError();
  Expected<json::Object> index = parseJsonObject((*text)->getBuffer(), "index");
  if (!index)
    return addContext(index.takeError(), path);
  const json::Object *map = index->getObject("weight_map");
  if (!map)
    return makeError("{}: expected an object 'weight_map'", path);
  for (const auto &[name, value] : *map) {
    std::optional<StringRef> file = value.getAsString();
    if (!file || sys::path::filename(*file) != *file)
      return makeError("{}: weight_map: expected a file of the same folder for tensor '{}'", path,
                       name.str());
    fileOf[name.str()] = file->str();
  }
  return Error::success();
}

/// Null when the checkpoint has no such tensor; error when it should have it and has not.
Expected<const TensorView *> CheckpointFiles::find(StringRef folder, StringRef name) {
  StringRef file = singleName;
  if (!fileOf.empty()) {
    auto entry = fileOf.find(name);
    if (entry == fileOf.end())
      return nullptr;
    file = entry->second;
  }
  auto opened = files.find(file);
  if (opened == files.end()) {
    Expected<SafetensorsFile> mapped = SafetensorsFile::open(join(folder, file));
    if (!mapped)
      return mapped.takeError();
    opened = files.try_emplace(file, std::move(*mapped)).first;
  }
  const TensorView *view = opened->second.find(name);
  if (!view && !fileOf.empty())
    return makeError("{}: expected tensor '{}', which the index says is here", join(folder, file),
                     name);
  return view;
}

void CheckpointFiles::note(StringRef remark) {
  if (!llvm::is_contained(remarks, remark))
    remarks.push_back(remark.str());
}

/// What a tensor may be stored as, in words.
static std::string expectation(const CheckpointTensor &tensor, bool mayWiden, const Shape *plain) {
  std::string text = fmt::format("{} {}", dtypeName(tensor.dtype), formatShape(tensor.shape));
  if (mayWiden)
    text += " or BF16";
  if (plain)
    text += fmt::format(" or BF16 {}", formatShape(*plain));
  return text;
}

Expected<CheckpointFiles::Source> CheckpointFiles::match(StringRef folder,
                                                         const CheckpointTensor &tensor) {
  StringRef name = tensor.name, weight = name;
  bool scale = weight.consume_back("_scale");
  bool shared = tensor.dtype == DType::U8 && name.contains(".shared_experts.");
  bool mayWiden = tensor.dtype == DType::F32 && !name.ends_with("_bias");
  Shape plain = tensor.shape;
  plain.back() *= scale ? int64_t(mxBlock) : 2;

  Expected<const TensorView *> view = find(folder, name);
  if (!view)
    return view.takeError();
  bool ownDtype = *view && (*view)->dtype == tensor.dtype;
  if (ownDtype && (*view)->shape == tensor.shape)
    return Source{*view, Conversion::None};
  if (*view && mayWiden && (*view)->dtype == DType::BF16 && (*view)->shape == tensor.shape) {
    note(fmt::format("{} is BF16: widened to F32", name));
    return Source{*view, Conversion::Widen};
  }
  if (shared && !ownDtype) {
    // A tensor that is not quantised has no scale of its own.
    Expected<const TensorView *> whole = find(folder, weight);
    if (!whole)
      return whole.takeError();
    if (*whole && (*whole)->dtype == DType::BF16 && (*whole)->shape == plain) {
      note("shared experts are BF16: quantised to MXFP4 (round to nearest even)");
      return Source{*whole, scale ? Conversion::QuantiseScales : Conversion::QuantiseCodes};
    }
  }
  if (!*view)
    return makeError("{}: the checkpoint has no tensor '{}' ({} expected)", folder, name,
                     expectation(tensor, mayWiden, shared && !scale ? &plain : nullptr));
  bool plainExpert = tensor.dtype == DType::U8 && (*view)->dtype == DType::BF16;
  return makeError("{}: tensor '{}': expected {}, but got {}{}", folder, name,
                   expectation(tensor, mayWiden, shared && !scale ? &plain : nullptr),
                   (*view)->describe(),
                   plainExpert && !shared ? "; quantise routed experts to MXFP4 first" : "");
}

Expected<std::unique_ptr<CheckpointFiles>>
CheckpointFiles::open(StringRef folder, ArrayRef<CheckpointTensor> tensors) {
  std::unique_ptr<CheckpointFiles> result(new CheckpointFiles);
  if (Error error = result->readIndex(folder))
    return error;
  for (const CheckpointTensor &tensor : tensors) {
    Expected<Source> source = result->match(folder, tensor);
    if (!source)
      return source.takeError();
    result->sources[tensor.name] = *source;
  }
  return result;
}

/// Elements [first, first + count) of a BF16 tensor; data in files have any alignment.
static std::vector<uint16_t> bf16Elements(const TensorView &view, uint64_t first, size_t count) {
  std::vector<uint16_t> values(count);
  std::memcpy(values.data(), &view.data[first * sizeof(uint16_t)], count * sizeof(uint16_t));
  return values;
}

static void widen(const TensorView &view, uint64_t offset, MutableArrayRef<uint8_t> out) {
  std::vector<uint16_t> values =
      bf16Elements(view, offset / sizeof(float), out.size() / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    float value = toFloat(values[i]);
    std::memcpy(&out[i * sizeof(float)], &value, sizeof(float));
  }
}

/// Codes or scales from byte `offset` on, for whole blocks of 32 elements.
static void quantise(const TensorView &view, bool wantScales, uint64_t offset,
                     MutableArrayRef<uint8_t> out) {
  size_t perByte = wantScales ? mxBlock : 2;
  assert(offset * perByte % mxBlock == 0 && out.size() * perByte % mxBlock == 0);
  size_t count = out.size() * perByte;
  std::vector<uint8_t> other(wantScales ? count / 2 : count / mxBlock);
  MutableArrayRef<uint8_t> codes = wantScales ? MutableArrayRef<uint8_t>(other) : out;
  MutableArrayRef<uint8_t> scales = wantScales ? out : MutableArrayRef<uint8_t>(other);
  quantiseMxfp4(bf16Elements(view, offset * perByte, count), codes, scales);
}

void CheckpointFiles::read(const CheckpointTensor &tensor, uint64_t offset,
                           MutableArrayRef<uint8_t> out) const {
  const Source &source = sources.find(tensor.name)->second;
  switch (source.conversion) {
  case Conversion::None:
    copy(source.view->data.slice(offset, out.size()), out.begin());
    return;
  case Conversion::Widen:
    return widen(*source.view, offset, out);
  case Conversion::QuantiseCodes:
    return quantise(*source.view, false, offset, out);
  case Conversion::QuantiseScales:
    return quantise(*source.view, true, offset, out);
  }
}

} // namespace mono::models

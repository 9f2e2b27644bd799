// Strict reader and writer of the safetensors format.
#include "runtime/Safetensors.h"
#include "runtime/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mono {

// The format's own limit on the header.
static constexpr uint64_t maxHeaderBytes = 100'000'000;
static constexpr size_t lengthBytes = 8;
static constexpr size_t maxDimensions = 16;

namespace {
struct DTypeRow {
  DType dtype;
  StringLiteral name;
  unsigned bytes;
};
} // namespace

static constexpr DTypeRow dtypeTable[] = {
    {DType::Bool, "BOOL", 1},      {DType::U8, "U8", 1},          {DType::I8, "I8", 1},
    {DType::F8E5M2, "F8_E5M2", 1}, {DType::F8E4M3, "F8_E4M3", 1}, {DType::F8E8M0, "F8_E8M0", 1},
    {DType::U16, "U16", 2},        {DType::I16, "I16", 2},        {DType::F16, "F16", 2},
    {DType::BF16, "BF16", 2},      {DType::U32, "U32", 4},        {DType::I32, "I32", 4},
    {DType::F32, "F32", 4},        {DType::U64, "U64", 8},        {DType::I64, "I64", 8},
    {DType::F64, "F64", 8},
};

static const DTypeRow &row(DType dtype) {
  return *llvm::find_if(dtypeTable, [&](const DTypeRow &entry) { return entry.dtype == dtype; });
}

StringRef dtypeName(DType dtype) { return row(dtype).name; }
unsigned dtypeBytes(DType dtype) { return row(dtype).bytes; }

DType dtypeOf(ElementType element) {
  switch (element) {
  case ElementType::BF16:
    return DType::BF16;
  case ElementType::F32:
    return DType::F32;
  case ElementType::I32:
    return DType::I32;
  case ElementType::FP4E2M1:
  case ElementType::E8M0:
    return DType::U8;
  case ElementType::FP8E4M3:
    return DType::F8E4M3;
  }
  return DType::F32;
}

Shape fileShapeOf(const TensorType &type) {
  Shape shape = type.shape;
  if (type.element == ElementType::FP4E2M1)
    shape.back() /= 2;
  return shape;
}

std::string TensorView::describe() const {
  return fmt::format("{} {}", dtypeName(dtype), formatShape(shape));
}

/// Bytes of a tensor. Unlike an operand it may be empty, but no product may overflow.
static Expected<uint64_t> tensorBytes(DType dtype, ArrayRef<int64_t> shape) {
  Shape positive;
  bool empty = false;
  for (int64_t dimension : shape) {
    empty |= dimension == 0;
    positive.push_back(std::max<int64_t>(dimension, 1));
  }
  Expected<uint64_t> count = elementCount(positive);
  if (!count)
    return count.takeError();
  return empty ? 0 : *count * dtypeBytes(dtype);
}

/// One entry of the header; `dataBytes` is the length of the data part of the file.
static TensorView readEntry(JsonFields &fields, StringRef name, ArrayRef<uint8_t> data) {
  TensorView view;
  view.name = name.str();
  std::string dtype;
  Shape offsets;
  fields.string("dtype", dtype);
  fields.integers("shape", view.shape, 0, INT64_MAX, maxDimensions);
  fields.integers("data_offsets", offsets, 0, INT64_MAX, 2);
  if (fields.failed())
    return view;
  auto known =
      llvm::find_if(dtypeTable, [&](const DTypeRow &entry) { return entry.name == dtype; });
  if (known == std::end(dtypeTable)) {
    fields.fail(fmt::format("unknown dtype '{}'", dtype));
    return view;
  }
  view.dtype = known->dtype;
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fields.fail(
        fmt::format("expected data_offsets [begin, end], but got {}", formatShape(offsets)));
    return view;
  }
  uint64_t begin = offsets[0], end = offsets[1];
  Expected<uint64_t> bytes = tensorBytes(view.dtype, view.shape);
  if (!bytes)
    fields.fail(toString(bytes.takeError()));
  else if (end > data.size())
    fields.fail(fmt::format("data end at byte {}, but the file holds only {} bytes of data", end,
                            data.size()));
  else if (end - begin != *bytes)
    fields.fail(fmt::format("expected {} bytes ({}), but data_offsets span {}", *bytes,
                            view.describe(), end - begin));
  else
    view.data = data.slice(begin, end - begin);
  return view;
}

/// The views must tile the data part: no overlap, no hole, nothing left over.
static Error checkTiling(ArrayRef<TensorView> sorted, ArrayRef<uint8_t> data) {
  uint64_t next = 0;
  for (const TensorView &view : sorted) {
    uint64_t begin = view.data.data() - data.data();
    if (begin < next)
      return makeError(
          "tensor '{}' begins at byte {} inside the tensor before it, which ends at {}", view.name,
          begin, next);
    if (begin > next)
      return makeError("no tensor owns bytes {} to {} before tensor '{}'", next, begin, view.name);
    next = begin + view.data.size();
  }
  if (next != data.size())
    return makeError("{} bytes of data follow the last tensor", data.size() - next);
  return Error::success();
}

static Error readMetadata(const json::Value &value, std::map<std::string, std::string> &pairs) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return makeError("__metadata__: expected an object");
  for (const auto &[key, item] : *object) {
    std::optional<StringRef> text = item.getAsString();
    if (!text)
      return makeError("__metadata__.{}: expected a string", key.str());
    pairs[key.str()] = text->str();
  }
  return Error::success();
}

static Expected<StringRef> headerText(StringRef file) {
  if (file.size() < lengthBytes)
    return makeError("not a safetensors file: expected at least 8 bytes, but got {}", file.size());
  uint64_t length = support::endian::read64le(file.data());
  if (length > maxHeaderBytes)
    return makeError("not a safetensors file: expected a header of at most {} bytes, but got {}",
                     maxHeaderBytes, length);
  if (length > file.size() - lengthBytes)
    return makeError("truncated file: the header has {} bytes, but only {} are there", length,
                     file.size() - lengthBytes);
  StringRef text = file.substr(lengthBytes, length);
  if (!text.starts_with("{"))
    return makeError("not a safetensors file: expected the header to start with '{{'");
  return text;
}

Expected<SafetensorsFile> SafetensorsFile::parse(std::unique_ptr<MemoryBuffer> buffer) {
  StringRef file = buffer->getBuffer();
  Expected<StringRef> text = headerText(file);
  if (!text)
    return text.takeError();
  Expected<json::Object> header = parseJsonObject(text->rtrim(' '), "header");
  if (!header)
    return header.takeError();
  ArrayRef<uint8_t> data = arrayRefFromStringRef(file.drop_front(lengthBytes + text->size()));

  SafetensorsFile result;
  for (const auto &[key, value] : *header) {
    if (key == "__metadata__") {
      if (Error error = readMetadata(value, result.pairs))
        return error;
      continue;
    }
    std::string path = fmt::format("tensor '{}'", key.str());
    const json::Object *entry = value.getAsObject();
    if (!entry)
      return makeError("{}: expected an object", path);
    JsonFields fields(*entry, path);
    result.views.push_back(readEntry(fields, key.str(), data));
    if (Error error = fields.takeError())
      return error;
  }
  // Empty tensors share their offset with the next one; the end breaks the tie.
  llvm::sort(result.views, [](const TensorView &a, const TensorView &b) {
    return std::make_pair(a.data.data(), a.data.end()) <
           std::make_pair(b.data.data(), b.data.end());
  });
  if (Error error = checkTiling(result.views, data))
    return error;
  for (auto [place, view] : llvm::enumerate(result.views))
    result.places[view.name] = place;
  result.buffer = std::move(buffer);
  return result;
}

Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  Expected<SafetensorsFile> file = parse(std::move(*buffer));
  if (!file)
    return addContext(file.takeError(), path);
  return file;
}

const TensorView *SafetensorsFile::find(StringRef name) const {
  auto found = places.find(name);
  return found == places.end() ? nullptr : &views[found->second];
}

Expected<const TensorView *> SafetensorsFile::get(StringRef name, DType dtype, size_t rank) const {
  const TensorView *view = find(name);
  if (!view)
    return makeError("the file has no tensor '{}'", name);
  if (view->dtype != dtype || view->shape.size() != rank)
    return makeError("tensor '{}': expected {} with {} dimensions, but got {}", name,
                     dtypeName(dtype), rank, view->describe());
  return view;
}

Expected<StringRef> SafetensorsFile::metadata(StringRef key) const {
  auto found = pairs.find(key.str());
  if (found == pairs.end())
    return makeError("the file has no metadata key '{}'", key);
  return StringRef(found->second);
}

namespace {
/// The start of a file, and the bytes of data that must follow.
struct FileStart {
  std::string text;
  uint64_t dataBytes = 0;
};
} // namespace

static Expected<FileStart> formatStart(ArrayRef<TensorView> tensors,
                                       const std::map<std::string, std::string> &metadata) {
  json::Object header;
  if (!metadata.empty()) {
    json::Object pairs;
    for (const auto &[key, value] : metadata)
      pairs[key] = value;
    header["__metadata__"] = std::move(pairs);
  }
  uint64_t offset = 0;
  for (const TensorView &view : tensors) {
    Expected<uint64_t> bytes = tensorBytes(view.dtype, view.shape);
    if (!bytes)
      return addContext(bytes.takeError(), view.name);
    if (header.get(view.name))
      return makeError("tensor '{}' appears twice", view.name);
    uint64_t end = offset + *bytes;
    header[view.name] = json::Object{{"dtype", dtypeName(view.dtype)},
                                     {"shape", json::Array(view.shape)},
                                     {"data_offsets", json::Array{offset, end}}};
    offset = end;
  }
  std::string text = formatv("{0}", json::Value(std::move(header))).str();
  // Spaces after the header keep the data 8-byte aligned in the file.
  text.resize(alignTo(text.size(), 8), ' ');
  char length[lengthBytes];
  support::endian::write64le(length, text.size());
  return FileStart{std::string(length, lengthBytes) + text, offset};
}

static Error checkData(ArrayRef<TensorView> tensors) {
  for (const TensorView &view : tensors) {
    Expected<uint64_t> bytes = tensorBytes(view.dtype, view.shape);
    if (!bytes)
      return addContext(bytes.takeError(), view.name);
    if (*bytes != view.data.size())
      return makeError("tensor '{}': expected {} bytes ({}), but got {}", view.name, *bytes,
                       view.describe(), view.data.size());
  }
  return Error::success();
}

Expected<std::string> formatSafetensors(ArrayRef<TensorView> tensors,
                                        const std::map<std::string, std::string> &metadata) {
  if (Error error = checkData(tensors))
    return error;
  Expected<FileStart> start = formatStart(tensors, metadata);
  if (!start)
    return start.takeError();
  std::string file = std::move(start->text);
  for (const TensorView &view : tensors)
    file.append(reinterpret_cast<const char *>(view.data.data()), view.data.size());
  return file;
}

SafetensorsWriter::SafetensorsWriter(std::string path, TemporaryFile file, uint64_t dataBytes)
    : path(std::move(path)), file(std::move(file)), missing(dataBytes) {}

Error checkSafetensorsTarget(StringRef path) {
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return makeError("{}: expected a regular file, or none, to replace", path);
  StringRef folder = sys::path::parent_path(path);
  if (std::error_code error =
          sys::fs::access(folder.empty() ? "." : folder, sys::fs::AccessMode::Write))
    return makeError("{}: {}", path, error.message());
  return Error::success();
}

Expected<SafetensorsWriter>
SafetensorsWriter::create(StringRef path, ArrayRef<TensorView> tensors,
                          const std::map<std::string, std::string> &metadata) {
  Expected<FileStart> start = formatStart(tensors, metadata);
  if (!start)
    return start.takeError();
  if (Error error = checkSafetensorsTarget(path))
    return std::move(error);
  // Beside its final place, so that the last step is a rename.
  ErrorOr<TemporaryFile> file = TemporaryFile::create(path, "", /*removeOnSignal=*/true);
  if (!file)
    return makeError("{}: {}", path, file.getError().message());
  SafetensorsWriter writer(path.str(), std::move(*file), start->dataBytes);
  if (Error error = writer.write(start->text))
    return error;
  return writer;
}

Error SafetensorsWriter::write(StringRef bytes) {
  std::error_code code = file.write(bytes);
  return code ? makeError("{}: {}", path, code.message()) : Error::success();
}

Error SafetensorsWriter::append(ArrayRef<uint8_t> bytes) {
  if (bytes.size() > missing)
    return makeError("{}: expected at most {} more bytes of data, but got {}", path, missing,
                     bytes.size());
  missing -= bytes.size();
  return write(toStringRef(bytes));
}

Error SafetensorsWriter::finish() {
  if (missing != 0)
    return makeError("{}: expected {} more bytes of data", path, missing);
  std::error_code code = file.keep();
  return code ? makeError("{}: {}", path, code.message()) : Error::success();
}

Error writeSafetensors(StringRef path, ArrayRef<TensorView> tensors,
                       const std::map<std::string, std::string> &metadata) {
  if (Error error = checkData(tensors))
    return addContext(std::move(error), path);
  Expected<SafetensorsWriter> writer = SafetensorsWriter::create(path, tensors, metadata);
  if (!writer)
    return writer.takeError();
  for (const TensorView &view : tensors)
    if (Error error = writer->append(view.data))
      return error;
  return writer->finish();
}

} // namespace mono

// Reading and writing of .safetensors files: 8 bytes header length (little-endian), a JSON header
// with dtype, shape and data_offsets of each tensor, then the data without holes.
#pragma once

#include "runtime/File.h"
#include "runtime/Layout.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mono {

enum class DType {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  F8E8M0,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64
};

/// Name as the format spells it, e.g. "BF16", "F8_E4M3".
llvm::StringRef dtypeName(DType dtype);
/// Bytes of one element.
unsigned dtypeBytes(DType dtype);
/// The dtype that holds an operand's elements. FP4E2M1 and E8M0 are plain bytes (U8), as
/// checkpoints have them.
DType dtypeOf(ElementType element);
/// The shape under which a file holds an operand: its own, but bytes instead of elements in the
/// last dimension of packed FP4E2M1.
Shape fileShapeOf(const TensorType &type);

/// One tensor of a file. `data` points into the file, row-major, of any alignment.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  llvm::ArrayRef<uint8_t> data;

  /// "BF16 [4, 6144]".
  std::string describe() const;
};

/// A file held in memory (mapped where the system can). The views live as long as the file.
class SafetensorsFile {
public:
  /// Maps and checks the file at `path`; errors name the path.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);
  /// Checks `buffer`: header length, JSON, dtypes, shapes, offsets in range, no overlap, no hole,
  /// no bytes left over.
  static llvm::Expected<SafetensorsFile> parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// In the order of the data.
  llvm::ArrayRef<TensorView> tensors() const { return views; }
  /// Null when there is no tensor of that name.
  const TensorView *find(llvm::StringRef name) const;
  /// The tensor of that name, which must have this dtype and rank; error otherwise.
  llvm::Expected<const TensorView *> get(llvm::StringRef name, DType dtype, size_t rank) const;
  const std::map<std::string, std::string> &metadata() const { return pairs; }
  /// Error when the metadata have no such key.
  llvm::Expected<llvm::StringRef> metadata(llvm::StringRef key) const;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<TensorView> views;
  llvm::StringMap<size_t> places; ///< of the names in `views`
  std::map<std::string, std::string> pairs;
};

/// The bytes of a file with these tensors, in this order. Error when a tensor's data do not have
/// the bytes of its shape or a name is used twice.
llvm::Expected<std::string> formatSafetensors(llvm::ArrayRef<TensorView> tensors,
                                              const std::map<std::string, std::string> &metadata);

/// Error unless such a file can be written at `path`, as far as one can tell before: the folder is
/// writable, and there is nothing yet, or a regular file. The file is renamed into its place, which
/// would remove a device or a pipe.
llvm::Error checkSafetensorsTarget(llvm::StringRef path);

/// Writes a file whose data need not be in memory at once: the header first, then the data in the
/// order of the tensors. The file appears complete or, when it is not finished, not at all.
class SafetensorsWriter {
public:
  /// Writes the header for tensors of these names, dtypes and shapes; their `data` are not looked
  /// at. Errors as of checkSafetensorsTarget().
  static llvm::Expected<SafetensorsWriter>
  create(llvm::StringRef path, llvm::ArrayRef<TensorView> tensors,
         const std::map<std::string, std::string> &metadata);
  SafetensorsWriter(SafetensorsWriter &&) = default;
  SafetensorsWriter &operator=(SafetensorsWriter &&) = delete;

  /// Appends the next bytes of data.
  llvm::Error append(llvm::ArrayRef<uint8_t> bytes);
  /// Gives the file its name. Error when data are missing.
  llvm::Error finish();

private:
  SafetensorsWriter(std::string path, TemporaryFile file, uint64_t dataBytes);
  llvm::Error write(llvm::StringRef bytes);

  std::string path;
  TemporaryFile file;
  uint64_t missing; ///< bytes of data still to come
};

/// Writes such a file; it appears complete or not at all.
llvm::Error writeSafetensors(llvm::StringRef path, llvm::ArrayRef<TensorView> tensors,
                             const std::map<std::string, std::string> &metadata);

} // namespace mono

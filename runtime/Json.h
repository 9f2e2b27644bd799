// Reading JSON from files nobody vouches for: bounded nesting, typed fields, and errors that say
// where in the document the fault is.
#pragma once

#include "runtime/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mono {

/// Parses `text`. Nesting deeper than 32 is an error (the parser recurses). `what` names the
/// document in the message.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text, llvm::StringRef what);

/// Parses `text` whose top level must be an object.
llvm::Expected<llvm::json::Object> parseJsonObject(llvm::StringRef text, llvm::StringRef what);

/// Reads the fields of one JSON object. The first fault is kept, later reads do nothing, so a
/// reader function is a plain list of fields with one takeError() at its end.
class JsonFields {
public:
  /// `path` is how messages name this object, e.g. "operands[3]"; empty for the top level.
  JsonFields(const llvm::json::Object &object, std::string path)
      : object(object), path(std::move(path)) {}

  /// Whether the object has the field at all.
  bool has(llvm::StringRef key) const { return object.get(key) != nullptr; }
  /// Reads a non-empty string.
  void string(llvm::StringRef key, std::string &out);
  void boolean(llvm::StringRef key, bool &out);
  /// Reads an integer in [min, max].
  void integer(llvm::StringRef key, int64_t &out, int64_t min, int64_t max);
  /// Unsigned twin of the above.
  void integer(llvm::StringRef key, uint64_t &out, int64_t min, int64_t max);
  void integer(llvm::StringRef key, unsigned &out, int64_t min, int64_t max);
  /// Reads a list of integers in [min, max], at most `maxCount` of them.
  void integers(llvm::StringRef key, llvm::SmallVectorImpl<int64_t> &out, int64_t min, int64_t max,
                size_t maxCount);
  /// Reads a list of non-empty strings.
  void strings(llvm::StringRef key, std::vector<std::string> &out);
  /// Hands the fields of the nested object `key` to `read`.
  void nested(llvm::StringRef key, llvm::function_ref<void(JsonFields &)> read);
  /// Hands the fields of each object in the list `key` to `read`, in order.
  void objects(llvm::StringRef key, llvm::function_ref<void(JsonFields &)> read);
  /// The raw nested object, or null after recording a fault.
  const llvm::json::Object *rawObject(llvm::StringRef key);

  /// Records a fault of this object unless there is one already.
  void fail(std::string text);
  bool failed() const { return !fault.empty(); }
  llvm::Error takeError();

private:
  const llvm::json::Value *get(llvm::StringRef key, llvm::StringRef expected);
  std::string pathOf(llvm::StringRef key) const;
  void wrongKind(llvm::StringRef key, llvm::StringRef expected, const llvm::json::Value &value);
  void adopt(const JsonFields &nested);

  const llvm::json::Object &object;
  std::string path;
  std::string fault;
};

} // namespace mono

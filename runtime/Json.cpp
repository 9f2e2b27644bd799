// Bounded JSON parsing and typed field access.
#include "runtime/Json.h"

using namespace llvm;

namespace mono {

/// The deepest nesting of brackets outside strings; faults of syntax are left to the parser.
static size_t nestingDepth(StringRef text) {
  size_t depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

static StringRef kindName(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Null:
    return "null";
  case json::Value::Boolean:
    return "a boolean";
  case json::Value::Number:
    return "a number";
  case json::Value::String:
    return "a string";
  case json::Value::Array:
    return "a list";
  case json::Value::Object:
    return "an object";
  }
  return "nothing";
}

Expected<json::Value> parseJson(StringRef text, StringRef what) {
  constexpr size_t maxDepth = 32;
  if (size_t depth = nestingDepth(text); depth > maxDepth)
    return makeError("{}: expected JSON nested at most {} deep, but got {}", what, maxDepth, depth);
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return makeError("{}: not valid JSON: {}", what, toString(value.takeError()));
  return value;
}

Expected<json::Object> parseJsonObject(StringRef text, StringRef what) {
  Expected<json::Value> value = parseJson(text, what);
  if (!value)
    return value.takeError();
  json::Object *object = value->getAsObject();
  if (!object)
    return makeError("{}: expected a JSON object, but got {}", what, kindName(*value));
  return std::move(*object);
}

std::string JsonFields::pathOf(StringRef key) const {
  return path.empty() ? key.str() : fmt::format("{}.{}", path, key);
}

void JsonFields::fail(std::string text) {
  if (fault.empty())
    fault = path.empty() ? std::move(text) : fmt::format("{}: {}", path, text);
}

void JsonFields::wrongKind(StringRef key, StringRef expected, const json::Value &value) {
  if (fault.empty())
    fault = fmt::format("{}: expected {}, but got {}", pathOf(key), expected, kindName(value));
}

const json::Value *JsonFields::get(StringRef key, StringRef expected) {
  if (failed())
    return nullptr;
  const json::Value *value = object.get(key);
  if (!value)
    fault = fmt::format("{}: expected {}, but the key is missing", pathOf(key), expected);
  return value;
}

void JsonFields::boolean(StringRef key, bool &out) {
  const json::Value *value = get(key, "a boolean");
  if (!value)
    return;
  if (std::optional<bool> given = value->getAsBoolean())
    out = *given;
  else
    wrongKind(key, "a boolean", *value);
}

void JsonFields::string(StringRef key, std::string &out) {
  const json::Value *value = get(key, "a string");
  if (!value)
    return;
  std::optional<StringRef> text = value->getAsString();
  if (!text)
    return wrongKind(key, "a string", *value);
  if (text->empty())
    return fail(fmt::format("'{}' is an empty string", key));
  out = text->str();
}

void JsonFields::integer(StringRef key, int64_t &out, int64_t min, int64_t max) {
  const json::Value *value = get(key, "an integer");
  if (!value)
    return;
  std::optional<int64_t> number = value->getAsInteger();
  if (!number)
    return wrongKind(key, "an integer", *value);
  if (*number < min || *number > max) {
    fault = fmt::format("{}: expected an integer in [{}, {}], but got {}", pathOf(key), min, max,
                        *number);
    return;
  }
  out = *number;
}

void JsonFields::integer(StringRef key, uint64_t &out, int64_t min, int64_t max) {
  int64_t number = static_cast<int64_t>(out);
  integer(key, number, min, max);
  out = static_cast<uint64_t>(number);
}

void JsonFields::integer(StringRef key, unsigned &out, int64_t min, int64_t max) {
  int64_t number = out;
  integer(key, number, min, max);
  out = static_cast<unsigned>(number);
}

void JsonFields::integers(StringRef key, SmallVectorImpl<int64_t> &out, int64_t min, int64_t max,
                          size_t maxCount) {
  const json::Value *value = get(key, "a list of integers");
  if (!value)
    return;
  const json::Array *list = value->getAsArray();
  if (!list)
    return wrongKind(key, "a list of integers", *value);
  if (list->size() > maxCount)
    return fail(
        fmt::format("{}: expected at most {} numbers, but got {}", key, maxCount, list->size()));
  for (const json::Value &item : *list) {
    std::optional<int64_t> number = item.getAsInteger();
    if (!number)
      return wrongKind(key, "a list of integers", item);
    if (*number < min || *number > max)
      return fail(
          fmt::format("{}: expected integers in [{}, {}], but got {}", key, min, max, *number));
    out.push_back(*number);
  }
}

void JsonFields::strings(StringRef key, std::vector<std::string> &out) {
  const json::Value *value = get(key, "a list of strings");
  if (!value)
    return;
  const json::Array *list = value->getAsArray();
  if (!list)
    return wrongKind(key, "a list of strings", *value);
  for (const json::Value &item : *list) {
    std::optional<StringRef> text = item.getAsString();
    if (!text)
      return wrongKind(key, "a list of strings", item);
    if (text->empty())
      return fail(fmt::format("'{}' has an empty string", key));
    out.push_back(text->str());
  }
}

void JsonFields::adopt(const JsonFields &nested) {
  if (fault.empty())
    fault = nested.fault;
}

const json::Object *JsonFields::rawObject(StringRef key) {
  const json::Value *value = get(key, "an object");
  if (!value)
    return nullptr;
  if (!value->getAsObject())
    wrongKind(key, "an object", *value);
  return value->getAsObject();
}

void JsonFields::nested(StringRef key, function_ref<void(JsonFields &)> read) {
  const json::Object *inner = rawObject(key);
  if (!inner)
    return;
  JsonFields fields(*inner, pathOf(key));
  read(fields);
  adopt(fields);
}

void JsonFields::objects(StringRef key, function_ref<void(JsonFields &)> read) {
  const json::Value *value = get(key, "a list of objects");
  if (!value)
    return;
  const json::Array *list = value->getAsArray();
  if (!list)
    return wrongKind(key, "a list of objects", *value);
  for (size_t i = 0; i < list->size() && !failed(); ++i) {
    const json::Object *inner = (*list)[i].getAsObject();
    if (!inner)
      return wrongKind(key, "a list of objects", (*list)[i]);
    JsonFields fields(*inner, fmt::format("{}[{}]", pathOf(key), i));
    read(fields);
    adopt(fields);
  }
}

Error JsonFields::takeError() {
  if (fault.empty())
    return Error::success();
  return makeError("{}", std::exchange(fault, {}));
}

} // namespace mono

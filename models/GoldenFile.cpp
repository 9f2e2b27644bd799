// Lookups in golden cases, with errors that say what was expected.
#include "models/GoldenFile.h"

using namespace llvm;

namespace mono::models {

Expected<uint64_t> caseNumber(const SafetensorsFile &file, StringRef key, uint64_t most) {
  Expected<StringRef> text = file.metadata(key);
  if (!text)
    return text.takeError();
  uint64_t number = 0;
  if (text->getAsInteger(10, number))
    return makeError("metadata key '{}': expected a number, but got '{}'", key, *text);
  if (number > most)
    return makeError("metadata key '{}': expected at most {}, but got {}", key, most, number);
  return number;
}

Expected<const TensorView *> caseTensor(const SafetensorsFile &file, StringRef name, DType dtype,
                                        const Shape &shape) {
  Expected<const TensorView *> view = file.get(name, dtype, shape.size());
  if (!view)
    return view.takeError();
  if ((*view)->shape != shape)
    return makeError("tensor '{}': expected shape {}, but got {}", name, formatShape(shape),
                     (*view)->describe());
  return view;
}

Expected<std::vector<double>> caseValues(const SafetensorsFile &file, StringRef name,
                                         const Shape &shape) {
  Expected<std::vector<float>> values = tensorValues<float>(file, name, DType::F32, shape);
  if (!values)
    return values.takeError();
  return std::vector<double>(values->begin(), values->end());
}

} // namespace mono::models

// Schedules go through the compiler, code objects straight in.
#include "models/tools/Source.h"
#include "runtime/File.h"
#include "runtime/Manifest.h"

#ifdef MONO_HAVE_COMPILER
#include "lowering/Compile.h"
#endif

using namespace llvm;

namespace mono::tools {

static Error checkParams(ArrayRef<uint8_t> codeObject, const models::Params &params) {
  if (params.empty())
    return Error::success();
  Expected<Manifest> manifest = readManifest(codeObject);
  if (!manifest)
    return manifest.takeError();
  for (const auto &[name, value] : params) {
    const int64_t *compiled = manifest->param(name);
    if (!compiled)
      return makeError("the code object has no parameter '{}'", name);
    if (*compiled != value)
      return makeError("the code object was compiled for {} = {}, but -D says {}", name, *compiled,
                       value);
  }
  return Error::success();
}

static Expected<Source> readCodeObject(StringRef file, const models::Params &params) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(file);
  if (!buffer)
    return buffer.takeError();
  StringRef text = (*buffer)->getBuffer();
  std::vector<uint8_t> bytes(text.bytes_begin(), text.bytes_end());
  if (Error error = checkParams(bytes, params))
    return addContext(std::move(error), file);
  return Source{std::move(bytes), {}};
}

static Expected<Source> compileSchedule(StringRef file, const models::Params &params,
                                        bool markers) {
#ifdef MONO_HAVE_COMPILER
  CompileOptions options;
  options.params = params;
  options.markers = markers;
  Expected<CompileResult> result = compile(file, options);
  if (!result)
    return result.takeError();
  Source source{std::move(result->output), {}};
  for (const ImportedFile &import : result->imports)
    source.imports.push_back(import.path);
  return source;
#else
  return makeError("{}: this build has no compiler, expected FILE.hsaco", file);
#endif
}

Expected<Source> loadSource(StringRef file, const models::Params &params, bool markers) {
  if (file.ends_with(".hsaco"))
    return readCodeObject(file, params);
  if (file.ends_with(".mlir"))
    return compileSchedule(file, params, markers);
  return makeError("{}: expected FILE.mlir or FILE.hsaco", file);
}

} // namespace mono::tools

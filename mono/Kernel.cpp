// Compilation behind the cache. A cached result is found in two steps: what the schedule's text and
// the options decide names a list of the imported files, and their contents name the code object.
// Neither needs MLIR.
#include "mono/Kernel.h"

#include "lowering/Compile.h"
#include "lowering/codeobject/Comgr.h"
#include "mono/BuildId.h"
#include "mono/Status.h"
#include "runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mono::facade {

char StatusError::ID = 0;

static std::shared_ptr<CompiledKernel> makeKernel(std::vector<uint8_t> codeObject,
                                                  Manifest manifest) {
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->codeObject = std::move(codeObject);
  kernel->manifest = std::move(manifest);
  return kernel;
}

Expected<std::shared_ptr<const CompiledKernel>>
CompiledKernel::load(std::vector<uint8_t> codeObject) {
  Expected<Manifest> manifest = readManifest(codeObject);
  if (!manifest)
    return withStatus(MONO_CODE_OBJECT_ERROR, manifest.takeError());
  return makeKernel(std::move(codeObject), std::move(*manifest));
}

namespace {

/// Everything of a compilation's result that is decided by software: the compiler with its LLD, and
/// comgr if that is to link. Empty if two builds of it could not be told apart, or there is none.
std::string toolsId(StringRef linker) {
  const std::string &compiler = compilerBuildId();
  if (compiler.empty() || linker != "comgr")
    return compiler;
  Expected<ComgrIdentity> comgr = identifyComgr();
  if (!comgr) { // the compilation will say so
    consumeError(comgr.takeError());
    return "";
  }
  std::string build = buildIdAt(comgr->code);
  return build.empty() ? "" : fmt::format("{} comgr {} {}", compiler, comgr->version, build);
}

/// The cache as one compilation sees it.
class CachedCompilation {
public:
  CachedCompilation(const MemoryBuffer &source, const CompileSettings &settings, StringRef tools)
      : cache(settings.cache), requestKey(keyOf(source, settings, tools)) {}

  /// The code object of this request, if it is there and no imported file has changed.
  std::shared_ptr<CompiledKernel> find() const {
    std::optional<std::vector<uint8_t>> list = cache.load(requestKey);
    if (!list)
      return nullptr;
    std::optional<std::vector<ImportedFile>> imports = readImports(*list);
    if (!imports)
      return nullptr;
    std::optional<std::vector<uint8_t>> code = cache.load(codeKey(*imports));
    if (!code)
      return nullptr;
    Expected<Manifest> manifest = readManifest(*code);
    if (!manifest) { // not possible unless somebody forges entries
      consumeError(manifest.takeError());
      return nullptr;
    }
    return makeKernel(std::move(*code), std::move(*manifest));
  }

  /// The code object first: a list without it is a miss.
  Error store(ArrayRef<ImportedFile> imports, ArrayRef<uint8_t> codeObject) const {
    if (Error error = cache.store(codeKey(imports), codeObject))
      return error;
    return cache.store(requestKey, listOf(imports));
  }

private:
  static CacheKey keyOf(const MemoryBuffer &source, const CompileSettings &settings,
                        StringRef tools) {
    auto params = settings.params;
    std::sort(params.begin(), params.end());
    KeyBuilder key;
    key.add("imports").add(tools).add("gfx950").add(settings.linker);
    key.add(settings.watchdogCycles).add(int64_t(params.size()));
    for (const auto &[name, value] : params)
      key.add(name).add(value);
    // The name is in the manifest, and its folder says which files are imported.
    key.add(source.getBufferIdentifier()).add(source.getBuffer());
    return key.finish();
  }

  CacheKey codeKey(ArrayRef<ImportedFile> imports) const {
    KeyBuilder key;
    key.add("code object").add(ArrayRef<uint8_t>(requestKey));
    for (const ImportedFile &file : imports)
      key.add(file.path).add(ArrayRef<uint8_t>(file.digest));
    return key.finish();
  }

  /// One path after another, each with a zero behind it.
  static std::vector<uint8_t> listOf(ArrayRef<ImportedFile> imports) {
    std::vector<uint8_t> list;
    for (const ImportedFile &file : imports)
      list.insert(list.end(), file.path.c_str(), file.path.c_str() + file.path.size() + 1);
    return list;
  }

  /// The listed files as they are now; nothing if one can't be read.
  static std::optional<std::vector<ImportedFile>> readImports(ArrayRef<uint8_t> list) {
    std::vector<ImportedFile> imports;
    StringRef rest(reinterpret_cast<const char *>(list.data()), list.size());
    while (!rest.empty()) {
      auto [path, tail] = rest.split('\0');
      rest = tail;
      Expected<std::unique_ptr<MemoryBuffer>> file = readTextFile(path);
      if (!file) { // the compiler will say why
        consumeError(file.takeError());
        return std::nullopt;
      }
      imports.push_back({path.str(), digestOf((*file)->getBuffer())});
    }
    return imports;
  }

  Cache cache;
  CacheKey requestKey;
};

} // namespace

/// Runs the compiler; what it prints becomes the text of the error.
static Expected<CompileResult> runCompiler(std::unique_ptr<MemoryBuffer> source,
                                           const CompileSettings &settings) {
  std::string diagnostics;
  raw_string_ostream stream(diagnostics);
  CompileOptions options;
  options.params = settings.params;
  options.linker = settings.linker;
  options.watchdogCycles = settings.watchdogCycles;
  options.diagnostics = &stream;
  Expected<CompileResult> result = mono::compile(std::move(source), options);
  if (result)
    return result;
  std::string summary = toString(result.takeError());
  StringRef detail = StringRef(diagnostics).rtrim();
  return makeStatusError(MONO_COMPILE_ERROR, "{}{}{}", summary, detail.empty() ? "" : "\n", detail);
}

/// Compiles without looking into the cache.
static Expected<std::shared_ptr<CompiledKernel>> compileNow(std::unique_ptr<MemoryBuffer> source,
                                                            const CompileSettings &settings,
                                                            std::vector<ImportedFile> &imports) {
  Expected<CompileResult> result = runCompiler(std::move(source), settings);
  if (!result)
    return result.takeError();
  Expected<Manifest> manifest = readManifest(result->output);
  if (!manifest)
    return withStatus(MONO_COMPILE_ERROR, manifest.takeError());
  imports = std::move(result->imports);
  return makeKernel(std::move(result->output), std::move(*manifest));
}

Expected<std::shared_ptr<const CompiledKernel>>
CompiledKernel::compile(std::unique_ptr<MemoryBuffer> source, const CompileSettings &settings) {
  std::vector<ImportedFile> imports;
  std::string tools = settings.cache.enabled() ? toolsId(settings.linker) : "";
  if (tools.empty()) {
    auto kernel = compileNow(std::move(source), settings, imports);
    if (!kernel)
      return kernel.takeError();
    (*kernel)->cacheNote =
        settings.cache.enabled() ? "the compiler or comgr has no build id" : settings.cache.reason;
    return *kernel;
  }
  CachedCompilation cached(*source, settings, tools);
  if (std::shared_ptr<CompiledKernel> kernel = cached.find()) {
    kernel->fromCache = true;
    return kernel;
  }
  auto kernel = compileNow(std::move(source), settings, imports);
  if (!kernel)
    return kernel.takeError();
  // A result is a result, with or without a cache.
  if (Error error = cached.store(imports, (*kernel)->codeObject))
    (*kernel)->cacheNote = toString(std::move(error));
  return *kernel;
}

} // namespace mono::facade

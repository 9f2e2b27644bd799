// Parameters, code object, problem and names of a run.
#include "models/tools/Plan.h"

#include "models/Registry.h"
#include "models/tools/Source.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mono::tools {

Expected<std::optional<SafetensorsFile>> openIfNamed(const std::string &path) {
  if (path.empty())
    return std::nullopt;
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  return std::optional<SafetensorsFile>(std::move(*file));
}

bool wantsAllMailboxes(const RunOptions &options) {
  return options.mailboxes == std::vector<std::string>{"all"};
}

namespace {

/// -D values, and for a schedule under a golden case what that asks for and the user did not give.
Expected<models::Params> parameters(const RunOptions &options,
                                    const std::optional<SafetensorsFile> &golden) {
  models::Params params = options.params;
  if (!golden || !StringRef(options.file).ends_with(".mlir"))
    return params;
  // The name inside the file is known only when it is compiled, which takes the parameters.
  const models::Model *model = models::findModelOfFile(options.file);
  if (!model)
    return makeError("no golden cases are known for '{}', only for {}",
                     sys::path::stem(options.file), models::knownModels());
  if (!model->goldenParams)
    return makeError("schedule '{}' has no golden cases", model->schedule);
  Expected<models::Params> wanted = model->goldenParams(*golden);
  if (!wanted)
    return addContext(wanted.takeError(), options.goldenCase);
  for (auto &[name, value] : *wanted)
    if (llvm::none_of(params, [&](const auto &given) { return given.first == name; }))
      params.emplace_back(name, value);
  return params;
}

/// Inputs and reference, when the options ask for a verdict.
Expected<std::unique_ptr<models::Problem>>
makeProblem(const RunOptions &options, const Manifest &manifest,
            const std::optional<SafetensorsFile> &golden) {
  if (!options.verifySeed && !golden)
    return nullptr;
  const models::Model *model = models::findModel(manifest.schedule);
  if (!model)
    return makeError("no reference is known for schedule '{}', only for {}; expected --inputs and "
                     "--outputs, to compare with one of your own",
                     manifest.schedule, models::knownModels());
  if (golden && !model->golden)
    return makeError("schedule '{}' has no golden cases", manifest.schedule);
  if (golden) {
    auto problem = model->golden(manifest, *golden);
    return problem ? std::move(problem) : addContext(problem.takeError(), options.goldenCase);
  }
  if (options.variant.empty())
    return model->random(manifest, *options.verifySeed);
  if (!model->variant)
    return makeError("schedule '{}' has no variants", manifest.schedule);
  return model->variant(manifest, options.variant, *options.verifySeed);
}

/// Every mailbox the options name must be there.
Error checkMailboxes(const RunOptions &options, const Manifest &manifest) {
  if (!wantsAllMailboxes(options))
    for (const std::string &name : options.mailboxes)
      if (Expected<const Mailbox *> found = manifest.findMailbox(name); !found)
        return found.takeError();
  return Error::success();
}

/// A trace is written where it is, which may be a device or a pipe.
Error checkTraceTarget(const std::string &path) {
  StringRef folder = sys::path::parent_path(path);
  std::string written = sys::fs::exists(path) ? path : folder.empty() ? "." : folder.str();
  std::error_code code = sys::fs::access(written, sys::fs::AccessMode::Write);
  if (!code && sys::fs::is_directory(path))
    code = make_error_code(errc::is_a_directory);
  return code ? makeError("can't write '{}': {}", path, code.message()) : Error::success();
}

/// What will be written after the run can be written, as far as one can tell before.
Error checkTargets(const RunOptions &options) {
  for (const std::string &path : {options.outputs, options.dumpFile})
    if (!path.empty())
      if (Error error = checkSafetensorsTarget(path))
        return error;
  return options.trace.empty() ? Error::success() : checkTraceTarget(options.trace);
}

} // namespace

Expected<Plan> makePlan(const RunOptions &options) {
  if (Error error = checkTargets(options))
    return error;
  Expected<std::optional<SafetensorsFile>> golden = openIfNamed(options.goldenCase);
  if (!golden)
    return golden.takeError();
  Expected<models::Params> params = parameters(options, *golden);
  if (!params)
    return params.takeError();
  Expected<Source> source = loadSource(options.file, *params, options.wantsMarkers());
  if (!source)
    return source.takeError();
  std::vector<StringRef> imports(source->imports.begin(), source->imports.end());
  if (Error error = checkDistinct(options.targets(), imports))
    return error;
  Expected<Manifest> manifest = readManifest(source->codeObject);
  if (!manifest)
    return addContext(manifest.takeError(), options.file);
  if (options.ranks && *options.ranks != manifest->ranks)
    return makeError("{} is for {} ranks, but --ranks says {}", options.file, manifest->ranks,
                     *options.ranks);
  auto problem = makeProblem(options, *manifest, *golden);
  if (!problem)
    return problem.takeError();
  if (Error error = checkMailboxes(options, *manifest))
    return error;
  Expected<Dump> dump = Dump::plan(options, *manifest);
  if (!dump)
    return dump.takeError();
  return Plan{std::move(source->codeObject), std::move(*manifest), std::move(*problem),
              std::move(*dump)};
}

} // namespace mono::tools

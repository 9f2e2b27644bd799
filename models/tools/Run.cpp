// The steps of a run in their order.
#include "models/tools/Run.h"
#include "models/GroupTensors.h"
#include "models/Registry.h"
#include "models/tools/Source.h"
#include "models/tools/StatsReport.h"
#include "models/tools/TensorFiles.h"
#include "models/tools/TraceFile.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"
#include "runtime/hip/HipNode.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace llvm;

namespace mono::tools {

namespace {

/// What a finished run leaves for the report.
struct Outcome {
  models::Report report;
  RunTime time;
};

using Outputs = std::vector<models::RankOutputs>;

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

Expected<std::optional<SafetensorsFile>> openIfNamed(const std::string &path) {
  if (path.empty())
    return std::nullopt;
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  return std::optional<SafetensorsFile>(std::move(*file));
}

/// Inputs and reference, when the options ask for a verdict.
Expected<std::unique_ptr<models::Problem>>
makeProblem(const RunOptions &options, const Manifest &manifest,
            const std::optional<SafetensorsFile> &golden) {
  if (!options.verifySeed && !golden)
    return nullptr;
  const models::Model *model = models::findModel(manifest.schedule);
  if (!model)
    return makeError("no reference is known for schedule '{}', only for {}", manifest.schedule,
                     models::knownModels());
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

Error provideInputs(Group &group, models::Problem *problem, const RunOptions &options) {
  if (problem)
    return models::provide(group, *problem, OperandAccess::Read);
  Expected<std::optional<SafetensorsFile>> file = openIfNamed(options.inputs);
  if (!file)
    return file.takeError();
  if (*file)
    return addContext(loadInputs(group, **file), options.inputs);
  for (const Operand &operand : group.manifest().operands)
    if (operand.access != OperandAccess::Write)
      return makeError("operand '{}' needs an input: give --inputs or --verify", operand.name);
  return Error::success();
}

bool sameBytes(const Outputs &a, const Outputs &b) {
  for (size_t rank = 0; rank < a.size(); ++rank)
    for (const auto &entry : a[rank])
      if (entry.second.bytes != b[rank].find(entry.first())->second.bytes)
        return false;
  return true;
}

/// Launches `repeat` times. With a problem, every launch starts from the same operands and the
/// outputs of the first are judged and returned, the others compared with them; without, the
/// outputs of the last launch are returned.
Expected<Outputs> launchAll(Group &group, models::Problem *problem, unsigned repeat,
                            Outcome &outcome) {
  std::optional<Outputs> first;
  unsigned different = 0;
  for (unsigned i = 0; i < repeat; ++i) {
    if (problem)
      if (Error error = models::provide(group, *problem, OperandAccess::Update))
        return error;
    auto start = std::chrono::steady_clock::now();
    if (Error error = group.launch())
      return addContext(std::move(error), fmt::format("launch {}", i));
    outcome.time.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++outcome.time.launches;
    if (!problem && i + 1 < repeat)
      continue;
    Expected<Outputs> outputs = models::readOutputs(group);
    if (!outputs)
      return outputs;
    if (!first)
      first = std::move(*outputs);
    else
      different += !sameBytes(*first, *outputs);
  }
  if (problem) {
    problem->check(*first, outcome.report);
    outcome.report.holds(fmt::format("{} launches bit-equal", repeat), different == 0,
                         different == 0 ? "equal" : fmt::format("{} differ", different), "equal");
  }
  return std::move(*first);
}

/// Statistics are those of the emulator; without one, none were asked for.
void print(const RunOptions &options, const Group &group, emu::Machine *machine,
           const Outcome &outcome) {
  if (options.stats == StatsFormat::Json) {
    json::Object all = statsJson(group, *machine, outcome.time);
    if (!outcome.report.findings().empty())
      all["verdict"] = reportJson(outcome.report);
    outs() << formatv("{0:2}", json::Value(std::move(all))) << '\n';
    return;
  }
  if (!outcome.report.findings().empty())
    printReport(outs(), outcome.report);
  if (options.stats == StatsFormat::Text)
    printStats(outs(), group, *machine, outcome.time);
}

bool wantsAllMailboxes(const RunOptions &options) {
  return options.mailboxes == std::vector<std::string>{"all"};
}

/// Every mailbox the options name must be there.
Error checkMailboxes(const RunOptions &options, const Manifest &manifest) {
  if (!wantsAllMailboxes(options))
    for (const std::string &name : options.mailboxes)
      if (Expected<const Mailbox *> found = manifest.findMailbox(name); !found)
        return found.takeError();
  return Error::success();
}

/// All that is decided before a device is touched.
struct Plan {
  std::vector<uint8_t> codeObject;
  Manifest manifest;
  std::unique_ptr<models::Problem> problem; ///< null when no verdict is asked for
};

Expected<Plan> makePlan(const RunOptions &options) {
  Expected<std::optional<SafetensorsFile>> golden = openIfNamed(options.goldenCase);
  if (!golden)
    return golden.takeError();
  Expected<models::Params> params = parameters(options, *golden);
  if (!params)
    return params.takeError();
  Expected<std::vector<uint8_t>> codeObject =
      loadSource(options.file, *params, options.wantsMarkers());
  if (!codeObject)
    return codeObject.takeError();
  Expected<Manifest> manifest = readManifest(*codeObject);
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
  return Plan{std::move(*codeObject), std::move(*manifest), std::move(*problem)};
}

/// `trace` is null unless the run is recorded or stopped.
emu::Options emulatorOptions(const RunOptions &options, emu::Trace *trace) {
  emu::Options result;
  result.trace = trace;
  result.mfmaOrder = options.mfmaOrder;
  if (options.adversarialSeed) {
    result.coherence = emu::Coherence::adversarial(*options.adversarialSeed);
    result.checks = emu::Checks::thorough();
  }
  cantFail(result.checks.apply(options.checks)); // the command line has been checked
  result.countBankConflicts = result.modelCaches = result.countWorkgroups =
      options.stats != StatsFormat::None;
  return result;
}

Error save(const RunOptions &options, const Plan &plan, Group &group, const Outputs &outputs) {
  if (options.outputs.empty())
    return Error::success();
  Expected<std::vector<std::string>> names = options.mailboxes;
  if (wantsAllMailboxes(options))
    names = models::postedMailboxes(group);
  if (!names)
    return names.takeError();
  Expected<Outputs> mailboxes = models::readMailboxes(group, *names);
  if (!mailboxes)
    return mailboxes.takeError();
  return saveOutputs(options.outputs, plan.manifest, outputs, *mailboxes);
}

Error saveTrace(const std::string &path, const emu::Trace &trace, const Group &group) {
  std::error_code code;
  raw_fd_ostream file(path, code, sys::fs::OF_Text);
  if (code)
    return makeError("can't write '{}': {}", path, code.message());
  writeTrace(file, trace, group);
  file.close();
  if (!file.has_error())
    return Error::success();
  std::string reason = file.error().message();
  file.clear_error();
  return makeError("can't write '{}': {}", path, reason);
}

/// Runs the plan on one device a rank. `machine` is the emulator they belong to, or null. True when
/// there is no verdict or it is good, or when the run stopped where it should.
Expected<bool> runOn(ArrayRef<Device *> devices, emu::Machine *machine, Plan &plan,
                     const RunOptions &options, emu::Trace *trace = nullptr) {
  Expected<Group> group = Group::create(devices, plan.codeObject);
  if (!group)
    return group.takeError();
  if (Error error = provideInputs(*group, plan.problem.get(), options))
    return error;
  if (trace)
    watchMailboxes(*trace, *group);
  Outcome outcome;
  Expected<Outputs> outputs = launchAll(*group, plan.problem.get(), options.repeat, outcome);
  if (!options.trace.empty())
    if (Error error = saveTrace(options.trace, *trace, *group))
      return joinErrors(outputs.takeError(), std::move(error));
  if (!outputs && trace && !trace->stoppedState().empty()) {
    outs() << toString(outputs.takeError()) << '\n' << trace->stoppedState() << '\n';
    return true;
  }
  if (!outputs)
    return outputs.takeError();
  if (Error error = save(options, plan, *group, *outputs))
    return error;
  print(options, *group, machine, outcome);
  return outcome.report.findings().empty() || outcome.report.good();
}

ExitStatus fail(Error error, ExitStatus status = ExitStatus::BadInput) {
  errs() << "monorun: " << toString(std::move(error)) << '\n';
  return status;
}

ExitStatus finish(Expected<bool> good) {
  if (!good)
    return fail(good.takeError());
  return *good ? ExitStatus::Good : ExitStatus::BadInput;
}

/// What the options want of a trace, if they want one.
Error prepareTrace(emu::Trace &trace, const RunOptions &options, const Manifest &manifest) {
  if (!options.wantsMarkers())
    return Error::success();
  if (options.breakAt.empty())
    return checkMarkers(manifest);
  Expected<uint32_t> marker = markerOf(options.breakAt, manifest);
  if (!marker)
    return marker.takeError();
  trace.stopAt(*marker);
  return Error::success();
}

ExitStatus runOnEmulator(const RunOptions &options) {
  Expected<Plan> plan = makePlan(options);
  if (!plan)
    return fail(plan.takeError());
  emu::Trace recorder, *trace = options.wantsMarkers() ? &recorder : nullptr;
  if (Error error = prepareTrace(recorder, options, plan->manifest))
    return fail(std::move(error));
  auto node = EmulatorNode::create(plan->manifest.ranks, emulatorOptions(options, trace));
  if (!node)
    return fail(node.takeError());
  return finish(runOn((*node)->devices(), &(*node)->machine(), *plan, options, trace));
}

ExitStatus noDevice(Error error) {
  return fail(addContext(std::move(error), "no such device"), ExitStatus::NoDevice);
}

ExitStatus runOnHip(const RunOptions &options) {
  // Before anything is compiled: there may be nothing to run it on.
  auto library = hip::HipLibrary::open();
  if (!library)
    return noDevice(library.takeError());
  Expected<Plan> plan = makePlan(options);
  if (!plan)
    return fail(plan.takeError());
  hip::HipSelection selection;
  selection.count = plan->manifest.ranks;
  selection.arch = plan->manifest.target;
  auto node = hip::HipNode::create(std::move(*library), selection);
  if (!node)
    return noDevice(node.takeError());
  return finish(runOn((*node)->devices(), nullptr, *plan, options));
}

} // namespace

ExitStatus run(const RunOptions &options) {
  return options.device == DeviceKind::Hip ? runOnHip(options) : runOnEmulator(options);
}

} // namespace mono::tools

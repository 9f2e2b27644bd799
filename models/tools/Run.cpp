// The steps of a run in their order.
#include "models/tools/Run.h"
#include "models/GroupTensors.h"
#include "models/Registry.h"
#include "models/tools/LaunchProgress.h"
#include "models/tools/Plan.h"
#include "models/tools/Summary.h"
#include "models/tools/TensorFiles.h"
#include "models/tools/TraceFile.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"
#include "runtime/hip/HipNode.h"

#include "llvm/Support/FileSystem.h"

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

Error provideInputs(Group &group, models::Problem *problem, const RunOptions &options,
                    Progress &progress) {
  progress.step("making inputs");
  if (problem)
    return models::provide(group, *problem, OperandAccess::Read,
                           [&](unsigned rank, const Operand &operand) {
                             progress.detail(fmt::format("'{}' of rank {}", operand.name, rank));
                           });
  Expected<std::optional<SafetensorsFile>> file = openIfNamed(options.inputs);
  if (!file)
    return file.takeError();
  if (*file)
    return addContext(loadInputs(group, **file), options.inputs);
  for (const Operand &operand : group.manifest().operands)
    if (operand.access != OperandAccess::Write)
      return makeError("operand '{}' needs an input: give --inputs{}", operand.name,
                       models::findModel(group.manifest().schedule) ? " or --verify" : "");
  return Error::success();
}

bool sameBytes(const Outputs &a, const Outputs &b) {
  for (size_t rank = 0; rank < a.size(); ++rank)
    for (const auto &entry : a[rank])
      if (entry.second.bytes != b[rank].find(entry.first())->second.bytes)
        return false;
  return true;
}

/// Who is told what goes on.
struct Telling {
  Progress progress;
  LaunchProgress launches{progress};

  explicit Telling(bool quiet) : progress(quiet ? nullptr : &errs(), ProgressStyle::ofStderr()) {}
};

/// Launches the group's `number`-th time, from 1, of `all`. `machine`: the emulator's, or null.
Error launch(Group &group, emu::Machine *machine, unsigned number, unsigned all, Telling &telling,
             RunTime &time) {
  telling.progress.step(fmt::format("launch {} of {}", number, all));
  if (machine)
    telling.launches.begin(group, *machine, number);
  auto start = std::chrono::steady_clock::now();
  Error error = group.launch();
  telling.launches.end();
  time.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++time.launches;
  return addContext(std::move(error), fmt::format("launch {}", number));
}

/// Launches `repeat` times. With a problem, every launch starts from the same operands and the
/// outputs of the first are judged and returned, the others compared with them; without, the
/// outputs of the last launch are returned.
Expected<Outputs> launchAll(Group &group, emu::Machine *machine, models::Problem *problem,
                            unsigned repeat, Telling &telling, Outcome &outcome) {
  std::optional<Outputs> first;
  unsigned different = 0;
  for (unsigned i = 0; i < repeat; ++i) {
    if (problem) {
      telling.progress.step(fmt::format("inputs of launch {} of {}", i + 1, repeat));
      if (Error error = models::provide(group, *problem, OperandAccess::Update))
        return error;
    }
    if (Error error = launch(group, machine, i + 1, repeat, telling, outcome.time))
      return error;
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
    telling.progress.step("comparing with the reference");
    problem->check(*first, outcome.report);
    outcome.report.holds(fmt::format("{} launches bit-equal", repeat), different == 0,
                         different == 0 ? "equal" : fmt::format("{} differ", different), "equal");
  }
  return std::move(*first);
}

RunCosts costsOf(const Group &group, emu::Machine *machine, const RunTime &time, double seconds) {
  RunCosts costs{time, seconds, 0, peakMemory()};
  for (unsigned rank = 0; machine && rank < group.ranks(); ++rank)
    costs.instructions += machine->stats(rank).totalInstructions();
  return costs;
}

/// Statistics are those of the emulator; without one, none were asked for.
void print(const RunOptions &options, const Group &group, emu::Machine *machine,
           const models::Report &report, const RunCosts &costs) {
  if (options.stats == StatsFormat::Json) {
    json::Object all = statsJson(group, *machine, costs.launches);
    all["summary"] = summaryJson(costs);
    if (!report.findings().empty())
      all["verdict"] = reportJson(report);
    outs() << formatv("{0:2}", json::Value(std::move(all))) << '\n';
    return;
  }
  if (!report.findings().empty())
    printReport(outs(), report);
  if (options.stats == StatsFormat::Text)
    printStats(outs(), group, *machine, costs.launches);
  if (!options.quiet)
    printSummary(outs(), costs);
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

/// One run, from the options to the exit status.
class Run {
public:
  explicit Run(const RunOptions &options) : options(options), telling(options.quiet) {}
  ExitStatus onEmulator();
  ExitStatus onHip();

private:
  Expected<Plan> plan();
  emu::Options emulatorOptions();
  Error prepareTrace(const Plan &plan);
  Expected<bool> on(ArrayRef<Device *> devices, emu::Machine *machine, Plan &plan);
  Error showStopped(const Plan &plan, Group &group);
  ExitStatus fail(Error error, ExitStatus status = ExitStatus::BadInput);
  ExitStatus noDevice(Error error);
  ExitStatus finish(Expected<bool> good);

  const RunOptions &options;
  Telling telling;
  emu::Trace recorder;
  emu::Trace *trace = nullptr; ///< the recorder, if the run is recorded or stopped
};

Expected<Plan> Run::plan() {
  telling.progress.step("reading " + options.file);
  return makePlan(options);
}

emu::Options Run::emulatorOptions() {
  emu::Options result;
  if (!options.quiet)
    result.onProgress = [this](uint64_t executed) { telling.launches.told(executed); };
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

/// What the options want of a trace, if they want one.
Error Run::prepareTrace(const Plan &plan) {
  if (!options.wantsMarkers())
    return Error::success();
  trace = &recorder;
  if (auto stop = plan.dump.stop())
    recorder.stopAt(*stop);
  if (options.breakAt.empty())
    return checkMarkers(plan.manifest);
  Expected<uint32_t> marker = markerOf(options.breakAt, plan.manifest);
  if (!marker)
    return marker.takeError();
  recorder.stopAt({.marker = *marker, .rank = options.rank});
  return Error::success();
}

/// The run has stopped where it should.
Error Run::showStopped(const Plan &plan, Group &group) {
  const emu::Trace::Stopped &stopped = *recorder.stopped();
  if (!options.breakAt.empty())
    outs() << fmt::format("stopped where task {} begins: rank {}, workgroup {}, {}\n",
                          options.breakAt, stopped.rank, stopped.workgroup, stopped.registers);
  return plan.dump.write(outs(), group, &stopped);
}

/// Runs the plan on one device a rank. `machine` is the emulator they belong to, or null. True when
/// there is no verdict or it is good, or when the run stopped where it should.
Expected<bool> Run::on(ArrayRef<Device *> devices, emu::Machine *machine, Plan &plan) {
  Expected<Group> group = Group::create(devices, plan.codeObject);
  if (!group)
    return group.takeError();
  if (Error error = provideInputs(*group, plan.problem.get(), options, telling.progress))
    return error;
  if (trace)
    watchMailboxes(*trace, *group);
  Outcome outcome;
  Expected<Outputs> outputs =
      launchAll(*group, machine, plan.problem.get(), options.repeat, telling, outcome);
  telling.progress.finish();
  // What can't be written is said at the end, so that it takes nothing else along.
  Error written =
      options.trace.empty() ? Error::success() : saveTrace(options.trace, *trace, *group);
  if (!outputs && trace && trace->stopped()) {
    consumeError(outputs.takeError()); // says that it stopped
    if (Error error = joinErrors(showStopped(plan, *group), std::move(written)))
      return error;
    return true;
  }
  // After a launch that failed mailboxes say the most.
  written = joinErrors(std::move(written), plan.dump.write(outs(), *group, nullptr));
  if (!outputs)
    return joinErrors(outputs.takeError(), std::move(written));
  RunCosts costs = costsOf(*group, machine, outcome.time, telling.progress.seconds());
  print(options, *group, machine, outcome.report, costs);
  if (Error error = joinErrors(std::move(written), save(options, plan, *group, *outputs)))
    return error;
  return outcome.report.findings().empty() || outcome.report.good();
}

ExitStatus Run::fail(Error error, ExitStatus status) {
  telling.progress.finish();
  errs() << "monorun: error: " << toString(std::move(error)) << '\n';
  return status;
}

ExitStatus Run::finish(Expected<bool> good) {
  if (!good)
    return fail(good.takeError());
  return *good ? ExitStatus::Good : ExitStatus::BadInput;
}

ExitStatus Run::noDevice(Error error) {
  return fail(addContext(std::move(error), "no such device"), ExitStatus::NoDevice);
}

ExitStatus Run::onEmulator() {
  Expected<Plan> found = plan();
  if (!found)
    return fail(found.takeError());
  if (Error error = prepareTrace(*found))
    return fail(std::move(error));
  auto node = EmulatorNode::create(found->manifest.ranks, emulatorOptions());
  if (!node)
    return fail(node.takeError());
  return finish(on((*node)->devices(), &(*node)->machine(), *found));
}

ExitStatus Run::onHip() {
  // Before anything is compiled: there may be nothing to run it on.
  auto library = hip::HipLibrary::open();
  if (!library)
    return noDevice(library.takeError());
  Expected<Plan> found = plan();
  if (!found)
    return fail(found.takeError());
  hip::HipSelection selection;
  selection.count = found->manifest.ranks;
  selection.arch = found->manifest.target;
  auto node = hip::HipNode::create(std::move(*library), selection);
  if (!node)
    return noDevice(node.takeError());
  return finish(on((*node)->devices(), nullptr, *found));
}

} // namespace

ExitStatus run(const RunOptions &options) {
  Run run(options);
  return options.device == DeviceKind::Hip ? run.onHip() : run.onEmulator();
}

} // namespace mono::tools

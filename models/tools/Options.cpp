// Option definitions and the checks between them.
#include "models/tools/Options.h"
#include "lowering/ParamValue.h"
#include "runtime/Error.h"
#include "runtime/emulator/Checks.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mono::tools {

namespace {

/// The options. Built after takeOverNames(), so not as globals.
struct CommandLine {
  cl::OptionCategory category{"monorun options"};
  cl::list<std::string> files{cl::Positional, cl::desc("FILE.mlir|FILE.hsaco"), cl::cat(category)};
  cl::list<std::string> defines{"D", cl::Prefix, cl::value_desc("NAME=INT"),
                                cl::desc("parameter of the schedule"), cl::cat(category)};
  cl::opt<std::string> device{"device", cl::init("emu"), cl::value_desc("emu|hip"),
                              cl::desc("where to run (default emu)"), cl::cat(category)};
  cl::opt<unsigned> ranks{"ranks", cl::value_desc("N"),
                          cl::desc("expected number of ranks (default: what the kernel needs)"),
                          cl::cat(category)};
  cl::opt<std::string> inputs{"inputs", cl::value_desc("F.safetensors"),
                              cl::desc("operands: NAME for all ranks, rankR/NAME for one; "
                                       "row-major, packed by monorun unless the metadata "
                                       "say layout.NAME (docs/guide.md, section 6)"),
                              cl::cat(category)};
  cl::opt<std::string> outputs{"outputs", cl::value_desc("F.safetensors"),
                               cl::desc("where outputs are written: NAME if all ranks agree, else "
                                        "rankR/NAME"),
                               cl::cat(category)};
  cl::list<std::string> mailboxes{"mailboxes", cl::CommaSeparated, cl::value_desc("NAME,...|all"),
                                  cl::desc("mailboxes to write to the outputs, as they are after "
                                           "the last launch: rankR/mailbox/NAME"),
                                  cl::cat(category)};
  cl::opt<unsigned> repeat{"repeat", cl::init(1), cl::value_desc("N"),
                           cl::desc("launches, without any reset between them"), cl::cat(category)};
  cl::opt<std::string> verify{"verify", cl::ValueOptional, cl::value_desc("SEED"),
                              cl::desc("run on random inputs and compare with the reference"),
                              cl::cat(category)};
  cl::opt<std::string> variant{"variant", cl::value_desc("NAME"),
                               cl::desc("random inputs at an edge, for --verify"),
                               cl::cat(category)};
  cl::opt<std::string> goldenCase{"case", cl::value_desc("CASE.safetensors"),
                                  cl::desc("run a golden case and compare"), cl::cat(category)};
  cl::opt<std::string> coherence{"coherence", cl::init("fast"),
                                 cl::value_desc("fast|adversarial:SEED"),
                                 cl::desc("memory model of the emulator"), cl::cat(category)};
  cl::opt<std::string> checks{"checks", cl::value_desc("[-]NAME,...|all|none"),
                              cl::desc("checks of the emulator to switch on, or off with '-'"),
                              cl::cat(category)};
  cl::opt<std::string> mfmaOrder{"mfma-order", cl::init("0"), cl::value_desc("SEED"),
                                 cl::desc("order of the emulator's sums in matrix instructions"),
                                 cl::cat(category)};
  cl::opt<std::string> stats{"stats",
                             cl::ValueOptional,
                             cl::init("none"),
                             cl::value_desc("text|json"),
                             cl::desc("print what the run did"),
                             cl::cat(category)};
  cl::opt<std::string> trace{"trace", cl::value_desc("F.json"),
                             cl::desc("write a timeline for ui.perfetto.dev"), cl::cat(category)};
  cl::opt<std::string> breakAt{"break", cl::value_desc("STAGE:TASK"),
                               cl::desc("stop where the task begins and print registers"),
                               cl::cat(category)};
  cl::list<std::string> dump{"dump", cl::CommaSeparated,
                             cl::value_desc("MAILBOX|REGION@STAGE:TASK,..."),
                             cl::desc("show mailboxes at the end of the run, or regions of LDS "
                                      "behind one task (REGION alone: where --break stops)"),
                             cl::cat(category)};
  cl::opt<std::string> dumpFile{"dump-to", cl::value_desc("F.safetensors"),
                                cl::desc("write what --dump names instead of printing it"),
                                cl::cat(category)};
  cl::opt<unsigned> rank{"rank", cl::value_desc("R"),
                         cl::desc("the only rank to --dump (regions: default 0) or to --break in "
                                  "(default: the first that comes there)"),
                         cl::cat(category)};
  cl::opt<bool> quiet{"quiet", cl::desc("no progress on stderr, no summary"), cl::cat(category)};
};

/// libLLVM brings options of its own, --stats among them; asking for the list registers them, and
/// those in the way of ours are taken off it.
void takeOverNames() {
  DenseMap<StringRef, cl::Option *> &known = cl::getRegisteredOptions();
  for (StringRef name : {"stats"})
    if (cl::Option *option = known.lookup(name))
      option->removeArgument();
}

Error parseDefine(StringRef text, RunOptions &options) {
  auto param = parseParam(text);
  if (!param)
    return makeError("-D: expected NAME=INT, but got '{}'", text);
  options.params.push_back(std::move(*param));
  return Error::success();
}

Error parseDevice(StringRef text, RunOptions &options) {
  if (text != "emu" && text != "hip")
    return makeError("--device: expected emu or hip, but got '{}'", text);
  options.device = text == "emu" ? DeviceKind::Emulator : DeviceKind::Hip;
  return Error::success();
}

Error parseStats(StringRef text, RunOptions &options) {
  if (text == "none")
    return Error::success();
  if (!text.empty() && text != "text" && text != "json")
    return makeError("--stats: expected text or json, but got '{}'", text);
  options.stats = text == "json" ? StatsFormat::Json : StatsFormat::Text;
  return Error::success();
}

Error parseVerify(StringRef text, RunOptions &options) {
  uint64_t seed = 1;
  if (!text.empty() && text.getAsInteger(10, seed))
    return makeError("--verify: expected a seed, but got '{}'", text);
  options.verifySeed = seed;
  return Error::success();
}

Error parseCoherence(StringRef text, RunOptions &options) {
  if (text == "fast")
    return Error::success();
  uint64_t seed = 0;
  StringRef number = text;
  if (!number.consume_front("adversarial:") || number.getAsInteger(10, seed))
    return makeError("--coherence: expected fast or adversarial:SEED, but got '{}'", text);
  options.adversarialSeed = seed;
  return Error::success();
}

Error parseChecks(StringRef text, RunOptions &options) {
  if (Error error = emu::Checks().apply(text))
    return addContext(std::move(error), "--checks");
  options.checks = text.str();
  return Error::success();
}

Error parseMfmaOrder(StringRef text, RunOptions &options) {
  if (text.getAsInteger(10, options.mfmaOrder))
    return makeError("--mfma-order: expected a seed, but got '{}'", text);
  return Error::success();
}

Error parseDump(StringRef text, RunOptions &options) {
  auto [name, place] = text.split('@');
  if (name.empty() || (text.contains('@') && !place.contains(':')))
    return makeError("--dump: expected MAILBOX or REGION@STAGE:TASK, but got '{}'", text);
  StringRef before = options.dumpPlace();
  if (!before.empty() && !place.empty() && before != place)
    return makeError("--dump: expected one place to stop at, but got '{}' and '{}'", before, place);
  options.dump.push_back({name.str(), place.str()});
  return Error::success();
}

/// What --dump asks for, and what goes with it only.
Error checkDump(const RunOptions &options) {
  if (options.dump.empty() && !options.dumpFile.empty())
    return makeError("--dump-to says where to write what is shown: expected --dump");
  if (options.dump.empty() && options.breakAt.empty() && options.rank)
    return makeError("--rank says what to show of, or where to stop: expected --dump or --break");
  if (options.dumpPlace().empty())
    return Error::success();
  if (!options.breakAt.empty())
    return makeError("--dump=REGION@STAGE:TASK and --break each say where to stop: give one of "
                     "them");
  if (options.device != DeviceKind::Emulator)
    return makeError("regions of LDS are shown by the emulator: expected --device=emu");
  return Error::success();
}

/// What a run that is stopped never comes to.
Error checkStop(const RunOptions &options) {
  if (options.breakAt.empty() && options.dumpPlace().empty())
    return Error::success();
  StringRef stop = options.breakAt.empty() ? "--dump=REGION@STAGE:TASK" : "--break";
  if (!options.outputs.empty())
    return makeError("--outputs is written at the end of a run, but {} stops it before: give one "
                     "of them",
                     stop);
  if (options.stats != StatsFormat::None)
    return makeError("--stats is about a whole run, but {} stops it before: give one of them",
                     stop);
  return Error::success();
}

/// Options that make no sense together.
Error checkTogether(const CommandLine &line, const RunOptions &options) {
  if (Error error = checkDump(options))
    return error;
  if (Error error = checkStop(options))
    return error;
  int sources =
      options.verifySeed.has_value() + !options.inputs.empty() + !options.goldenCase.empty();
  if (sources > 1)
    return makeError("--inputs, --verify and --case each provide the inputs: give one of them");
  if (!options.variant.empty() && !options.verifySeed)
    return makeError("--variant is about random inputs: expected --verify");
  if (!options.mailboxes.empty() && options.outputs.empty())
    return makeError("--mailboxes says what else to write: expected --outputs");
  for (const auto *file : {&line.inputs, &line.outputs, &line.goldenCase, &line.trace})
    if (file->getNumOccurrences() && file->empty())
      return makeError("--{}: expected the name of a file", file->ArgStr);
  if (options.repeat == 0)
    return makeError("--repeat: expected at least 1, but got 0");
  if (options.wantsMarkers() && options.device != DeviceKind::Emulator)
    return makeError("--trace and --break are about the emulator: expected --device=emu");
  if (options.adversarialSeed && options.device != DeviceKind::Emulator)
    return makeError("--coherence is about the emulator: expected --device=emu");
  if (!options.checks.empty() && options.device != DeviceKind::Emulator)
    return makeError("--checks is about the emulator: expected --device=emu");
  if (line.mfmaOrder.getNumOccurrences() && options.device != DeviceKind::Emulator)
    return makeError("--mfma-order is about the emulator: expected --device=emu");
  if (options.stats != StatsFormat::None && options.device != DeviceKind::Emulator)
    return makeError("--stats is about the emulator: expected --device=emu");
  return Error::success();
}

Expected<RunOptions> convert(const CommandLine &line) {
  RunOptions options;
  bool isNameless = line.files.size() == 1 && line.files.front().empty();
  if (line.files.size() != 1 || isNameless)
    return makeError("expected one FILE.mlir or FILE.hsaco to run, but got {} (see --help)",
                     isNameless ? "''" : std::to_string(line.files.size()));
  options.file = line.files.front();
  options.inputs = line.inputs;
  options.outputs = line.outputs;
  options.mailboxes.assign(line.mailboxes.begin(), line.mailboxes.end());
  options.goldenCase = line.goldenCase;
  options.variant = line.variant;
  options.repeat = line.repeat;
  options.trace = line.trace;
  options.breakAt = line.breakAt;
  if (line.ranks.getNumOccurrences())
    options.ranks = line.ranks;
  options.dumpFile = line.dumpFile;
  if (line.rank.getNumOccurrences())
    options.rank = line.rank;
  options.quiet = line.quiet;
  for (const std::string &name : line.dump)
    if (Error error = parseDump(name, options))
      return error;
  for (const std::string &define : line.defines)
    if (Error error = parseDefine(define, options))
      return error;
  if (Error error = parseDevice(line.device, options))
    return error;
  if (Error error = parseStats(line.stats, options))
    return error;
  if (Error error = parseCoherence(line.coherence, options))
    return error;
  if (Error error = parseChecks(line.checks, options))
    return error;
  if (Error error = parseMfmaOrder(line.mfmaOrder, options))
    return error;
  if (line.verify.getNumOccurrences())
    if (Error error = parseVerify(line.verify, options))
      return error;
  if (Error error = checkTogether(line, options))
    return error;
  if (Error error =
          checkDistinct(options.targets(), {options.file, options.inputs, options.goldenCase}))
    return error;
  return options;
}

} // namespace

StringRef RunOptions::dumpPlace() const {
  for (const DumpName &name : dump)
    if (!name.place.empty())
      return name.place;
  return "";
}

std::variant<RunOptions, ExitStatus> parseCommandLine(int argc, char **argv) {
  takeOverNames();
  // Never destroyed: the linker inside the compiler walks the list of all options again.
  static CommandLine &line = *new CommandLine;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << "monorun " MONO_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, "runs a compiled schedule on all its ranks\n",
                                   &errs()))
    return ExitStatus::Usage;
  Expected<RunOptions> options = convert(line);
  if (options)
    return std::move(*options);
  errs() << "monorun: error: " << toString(options.takeError()) << '\n';
  return ExitStatus::Usage;
}

} // namespace mono::tools

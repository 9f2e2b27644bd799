// The compiler's command line.
#include "dialect/Nearest.h"
#include "lowering/Compile.h"
#include "lowering/Manifest.h"
#include "lowering/ParamValue.h"
#include "lowering/Report.h"
#include "lowering/ReportArena.h"
#include "lowering/Rules.h"
#include "lowering/Targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

/// Exit statuses, the same for every tool (README).
enum Exit { kGood = 0, kWrongInput = 1, kUsage = 2 };

namespace {
/// As the parser of LLVM, but an unknown value is answered with those there are.
template <typename T> class EnumParser : public cl::parser<T> {
public:
  using cl::parser<T>::parser;

  bool parse(cl::Option &option, StringRef, StringRef text, T &value) {
    for (const auto &known : this->Values)
      if (known.Name == text) {
        value = known.V.getValue();
        return false;
      }
    auto names = map_to_vector(this->Values, [](const auto &known) { return known.Name; });
    erase_if(names, [](StringRef name) { return name.empty(); });
    return option.error("expected one of " + join(names, ", ") + ", but got '" + text + "'" +
                        mono::nearestHint(text, names));
  }
};
} // namespace

static cl::OptionCategory inputs("Schedule");
static cl::OptionCategory outputs("Output");
static cl::OptionCategory messages("Checks, reports and messages");
static cl::list<std::string> files(cl::Positional, cl::desc("FILE (- for stdin)"), cl::cat(inputs));
static cl::list<std::string> defines("D", cl::desc("Value of a parameter"),
                                     cl::value_desc("NAME=INT"), cl::Prefix, cl::cat(inputs));
static cl::opt<std::string> output(
    "o",
    cl::desc("Output file; - for stdout. Without it code goes to FILE.hsaco or FILE.o in the "
             "current folder, text, and what comes from stdin, to stdout"),
    cl::value_desc("OUT"), cl::cat(outputs));
static cl::opt<mono::Emit, false, EnumParser<mono::Emit>>
    emit("emit", cl::desc("What to produce"), cl::init(mono::Emit::Hsaco),
         cl::values(clEnumValN(mono::Emit::Mono, "mono", "the bound schedule"),
                    clEnumValN(mono::Emit::Placed, "placed", "with LDS and mailbox addresses"),
                    clEnumValN(mono::Emit::Device, "device", "per-thread code in one gpu.func"),
                    clEnumValN(mono::Emit::Rocdl, "rocdl", "LLVM and ROCDL dialects"),
                    clEnumValN(mono::Emit::Llvm, "llvm", "LLVM IR after O3"),
                    clEnumValN(mono::Emit::Asm, "asm", "gfx950 assembly"),
                    clEnumValN(mono::Emit::Obj, "obj", "relocatable object"),
                    clEnumValN(mono::Emit::Hsaco, "hsaco", "code object (default)")),
         cl::cat(outputs));
static cl::opt<bool> check("check", cl::desc("Run the checks only"), cl::cat(messages));
enum class ReportKind { None, Text, Json, Html, Svg };
static cl::opt<ReportKind, false, EnumParser<ReportKind>>
    report("report", cl::desc("Print stages, memory and resources"), cl::ValueOptional,
           cl::init(ReportKind::None),
           cl::values(clEnumValN(ReportKind::Text, "", ""),
                      clEnumValN(ReportKind::Text, "text", "for people"),
                      clEnumValN(ReportKind::Json, "json", "for programs"),
                      clEnumValN(ReportKind::Html, "html", "a page for browsers"),
                      clEnumValN(ReportKind::Svg, "svg", "picture of LDS")),
           cl::cat(messages));
static cl::opt<std::string> linker("linker", cl::desc("lld or comgr"), cl::init("lld"),
                                   cl::cat(outputs));
static cl::opt<uint64_t> watchdog("watchdog",
                                  cl::desc("Bound every wait and record the first that fails"),
                                  cl::value_desc("CYCLES"), cl::init(0), cl::cat(outputs));
static cl::opt<std::string> depfile("depfile",
                                    cl::desc("Write what was read as a rule for make or ninja"),
                                    cl::value_desc("FILE"), cl::cat(outputs));
static cl::opt<bool> markers("markers", cl::desc("Say at run time which task begins, for traces"),
                             cl::cat(outputs));
static cl::opt<bool> warningsAreErrors("Werror", cl::desc("Treat warnings as errors"),
                                       cl::cat(messages));
static cl::opt<bool> timing("time", cl::desc("Print what each pass took"), cl::cat(messages));

static cl::opt<std::string>
    explain("explain", cl::ValueOptional, cl::value_desc("RULE"),
            cl::desc("Print what a rule of the checks says, with an example"), cl::cat(messages));

static Exit fail(Exit status, const Twine &message) {
  WithColor::error(errs(), "monoc") << message << '\n';
  return status;
}

/// Reads the -D options; false after a message.
static bool readDefines(mono::CompileOptions &options) {
  for (StringRef define : defines) {
    auto param = mono::parseParam(define);
    if (!param) {
      fail(kUsage, "expected -D NAME=INT, but got '-D " + define + "'");
      return false;
    }
    options.params.push_back(std::move(*param));
  }
  return true;
}

/// A message about options of which one would silently win; kGood when there are none.
static Exit checkTogether() {
  if (report.getNumOccurrences() && emit.getNumOccurrences())
    return fail(kUsage, "--report and --emit each say what to print: give one of them");
  if (check && report.getNumOccurrences())
    return fail(kUsage, "--check makes no code to report on: give one of them");
  if (check && emit.getNumOccurrences())
    return fail(kUsage, "--check ends before --emit prints anything: give one of them");
  if (check && output.getNumOccurrences())
    return fail(kUsage, "--check writes nothing: expected it without -o");
  return kGood;
}

/// A message about a file that would be written over and the status given; kGood when there is
/// none.
static Exit checkTargets(StringRef written, StringRef dependencies, ArrayRef<StringRef> sources,
                         Exit status) {
  Error error = mono::checkDistinct({{"-o", written}, {"--depfile", dependencies}}, sources);
  return error ? fail(status, toString(std::move(error))) : kGood;
}

/// `attn_out_router.mlir` -> `attn_out_router.hsaco` in the current directory; text goes to stdout,
/// and so does everything when there is no name to make one of.
static std::string defaultOutput(StringRef input) {
  bool isText =
      report != ReportKind::None || (emit != mono::Emit::Hsaco && emit != mono::Emit::Obj);
  if (isText || input == "-")
    return "-";
  SmallString<128> name = sys::path::filename(input);
  sys::path::replace_extension(name, emit == mono::Emit::Obj ? "o" : "hsaco");
  return name.str().str();
}

static Exit writeOutput(const std::string &path, const mono::Bytes &bytes) {
  std::error_code code;
  ToolOutputFile file(path, code, sys::fs::OF_None);
  if (code)
    return fail(kWrongInput, "can't write '" + path + "': " + code.message());
  file.os().write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  file.os().flush();
  if (file.os().has_error()) {
    file.os().clear_error();
    return fail(kWrongInput, "can't write '" + path + "'");
  }
  file.keep();
  return kGood;
}

/// `name` as a word of a makefile.
static std::string makeWord(StringRef name) {
  std::string word;
  for (char c : name) {
    if (StringRef(" #:").contains(c))
      word += '\\';
    word += c;
    if (c == '$')
      word += c;
  }
  return word;
}

/// The rule `OUTPUT: schedule and imports`; what came from stdin is no file.
static Exit writeDependencies(const std::string &path, StringRef output, StringRef schedule,
                              const mono::CompileResult &result) {
  auto names = map_to_vector(result.imports, [](const auto &file) { return StringRef(file.path); });
  names.append({output, schedule});
  for (StringRef name : names)
    if (name.contains('\n'))
      return fail(kUsage, "--depfile: a makefile has no way to write '" + name + "'");
  std::string rule = makeWord(output) + ":";
  if (schedule != "-")
    rule += " " + makeWord(schedule);
  for (const mono::ImportedFile &import : result.imports)
    rule += " \\\n  " + makeWord(import.path);
  rule += '\n';
  return writeOutput(path, mono::Bytes(rule.begin(), rule.end()));
}

static Expected<std::string> reportOf(ReportKind kind, const mono::CompileResult &result) {
  switch (kind) {
  case ReportKind::Svg:
    return mono::arenaSvg(result.arena);
  case ReportKind::Json:
    return mono::reportJson(result);
  case ReportKind::Html:
    return mono::reportHtml(result);
  default:
    return mono::reportText(result);
  }
}

static Exit writeReport(ReportKind kind, const std::string &path,
                        const mono::CompileResult &result) {
  Expected<std::string> text = reportOf(kind, result);
  if (!text)
    return fail(kWrongInput, toString(text.takeError()));
  return writeOutput(path, mono::Bytes(text->begin(), text->end()));
}

/// Compiles the file, or what comes from stdin, whose imports are relative to the current folder.
static Expected<mono::CompileResult> compileInput(const std::string &schedule,
                                                  const mono::CompileOptions &options) {
  if (schedule != "-")
    return mono::compile(schedule, options);
  auto text = MemoryBuffer::getSTDIN();
  if (!text)
    return createStringError(text.getError(), "can't read stdin: " + text.getError().message());
  return mono::compile(std::move(*text), options);
}

/// The page of one rule, or the first lines of all pages.
static Exit printRule(StringRef name) {
  if (name.empty()) {
    for (const mono::Rule &rule : mono::rules())
      outs() << StringRef(rule.page).ltrim("# ").split('\n').first << '\n';
    return kGood;
  }
  if (const mono::Rule *rule = mono::findRule(name)) {
    outs() << rule->page;
    return kGood;
  }
  auto names = map_range(mono::rules(), [](const mono::Rule &rule) { return rule.name; });
  return fail(kUsage, "there is no rule '" + name + "'" + mono::nearestHint(name, names) +
                          " (--explain lists them)");
}

/// --explain=RULE, or --explain RULE.
static Exit explainRule() {
  std::vector<std::string> names = files;
  if (!explain.empty())
    names.insert(names.begin(), explain);
  if (names.size() > 1)
    return fail(kUsage, "--explain: expected one rule, but got '" + join(names, "', '") + "'");
  return printRule(names.empty() ? StringRef() : names.front());
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions({&inputs, &outputs, &messages});
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << mono::toolVersion() << " (LLVM " << LLVM_VERSION_STRING << ", target gfx950)\n";
  });
  if (!cl::ParseCommandLineOptions(
          argc, argv, "monoc: compiles a schedule file to a gfx950 code object\n", &errs()))
    return kUsage;
  if (explain.getNumOccurrences())
    return explainRule();
  if (files.empty() || files.front().empty())
    return fail(kUsage, "expected a schedule file (monoc FILE, see --help)");
  if (files.size() > 1)
    return fail(kUsage, "expected one schedule file, but got '" + join(files, "', '") + "'");
  if (linker != "lld" && linker != "comgr")
    return fail(kUsage, "expected --linker=lld or --linker=comgr, but got '" + linker + "'");

  if (Exit status = checkTogether())
    return status;

  mono::CompileOptions options;
  if (!readDefines(options))
    return kUsage;
  options.linker = linker;
  if (watchdog > INT64_MAX)
    return fail(kUsage, "expected --watchdog of at most " + Twine(INT64_MAX) + " cycles");
  options.watchdogCycles = static_cast<int64_t>(watchdog.getValue());
  options.emit = report != ReportKind::None ? mono::Emit::Hsaco : emit;
  options.costs = report != ReportKind::None;
  options.checkOnly = check;
  options.time = timing;
  options.warningsAreErrors = warningsAreErrors;
  options.markers = markers;
  // LLD parses its own command line with the same library and resets all options on the way.
  const std::string schedule = files.front(), dependencies = depfile;
  const std::string path = output.empty() ? defaultOutput(schedule) : output;
  const ReportKind reportKind = report;
  const std::string written = options.checkOnly ? "" : path;
  if (Exit status = checkTargets(written, dependencies, StringRef(schedule), kUsage))
    return status;
  auto result = compileInput(schedule, options);
  if (!result)
    return fail(kWrongInput, toString(result.takeError()));
  auto imports =
      map_to_vector(result->imports, [](const auto &file) { return StringRef(file.path); });
  if (Exit status = checkTargets(written, dependencies, imports, kWrongInput))
    return status;
  if (!dependencies.empty())
    if (Exit status = writeDependencies(dependencies, path, schedule, *result))
      return status;
  if (options.checkOnly)
    return kGood;
  if (reportKind != ReportKind::None)
    return writeReport(reportKind, path, *result);
  return writeOutput(path, result->output);
}

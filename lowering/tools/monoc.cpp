// The compiler's command line.
#include "lowering/Compile.h"
#include "lowering/Manifest.h"
#include "lowering/Report.h"
#include "lowering/ReportArena.h"
#include "lowering/Rules.h"
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

static cl::OptionCategory category("monoc options");
static cl::opt<std::string> input(cl::Positional, cl::desc("FILE"), cl::cat(category));
static cl::list<std::string> defines("D", cl::desc("Value of a parameter"),
                                     cl::value_desc("NAME=INT"), cl::Prefix, cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Output file; - for stdout"),
                                   cl::value_desc("OUT"), cl::cat(category));
static cl::opt<mono::Emit>
    emit("emit", cl::desc("What to produce"), cl::init(mono::Emit::Hsaco),
         cl::values(clEnumValN(mono::Emit::Mono, "mono", "the bound schedule"),
                    clEnumValN(mono::Emit::Placed, "placed", "with LDS and mailbox addresses"),
                    clEnumValN(mono::Emit::Device, "device", "per-thread code in one gpu.func"),
                    clEnumValN(mono::Emit::Rocdl, "rocdl", "LLVM and ROCDL dialects"),
                    clEnumValN(mono::Emit::Llvm, "llvm", "LLVM IR after O3"),
                    clEnumValN(mono::Emit::Asm, "asm", "gfx950 assembly"),
                    clEnumValN(mono::Emit::Obj, "obj", "relocatable object"),
                    clEnumValN(mono::Emit::Hsaco, "hsaco", "code object (default)")),
         cl::cat(category));
static cl::opt<bool> check("check", cl::desc("Run the checks only"), cl::cat(category));
enum class ReportKind { None, Text, Json, Svg };
static cl::opt<ReportKind> report("report", cl::desc("Print stages, memory and resources"),
                                  cl::ValueOptional, cl::init(ReportKind::None),
                                  cl::values(clEnumValN(ReportKind::Text, "", ""),
                                             clEnumValN(ReportKind::Text, "text", "for people"),
                                             clEnumValN(ReportKind::Json, "json", "for programs"),
                                             clEnumValN(ReportKind::Svg, "svg", "picture of LDS")),
                                  cl::cat(category));
static cl::opt<std::string> linker("linker", cl::desc("lld or comgr"), cl::init("lld"),
                                   cl::cat(category));
static cl::opt<uint64_t> watchdog("watchdog",
                                  cl::desc("Bound every wait and record the first that fails"),
                                  cl::value_desc("CYCLES"), cl::init(0), cl::cat(category));
static cl::opt<bool> timing("time", cl::desc("Print what each pass took"), cl::cat(category));

static cl::opt<std::string>
    explain("explain", cl::ValueOptional, cl::value_desc("RULE"),
            cl::desc("Print what a rule of the checks says, with an example"), cl::cat(category));

static Exit fail(Exit status, const Twine &message) {
  WithColor::error(errs(), "monoc") << message << '\n';
  return status;
}

/// Reads the -D options; false after a message.
static bool readDefines(mono::CompileOptions &options) {
  for (StringRef define : defines) {
    auto [name, text] = define.split('=');
    int64_t value;
    if (name.empty() || text.getAsInteger(10, value)) {
      fail(kUsage, "expected -D NAME=INT, but got '-D " + define + "'");
      return false;
    }
    options.params.emplace_back(name.str(), value);
  }
  return true;
}

/// `attn_out_router.mlir` -> `attn_out_router.hsaco` in the current directory; text goes to stdout.
static std::string defaultOutput() {
  if (emit != mono::Emit::Hsaco && emit != mono::Emit::Obj)
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

static Exit printReport(ReportKind kind, const mono::CompileResult &result) {
  if (kind == ReportKind::Svg) {
    outs() << mono::arenaSvg(result.arena);
    return kGood;
  }
  auto text = kind == ReportKind::Json ? mono::reportJson(result) : mono::reportText(result);
  if (!text)
    return fail(kWrongInput, toString(text.takeError()));
  outs() << *text;
  return kGood;
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
  const mono::Rule *nearest = mono::nearestRule(name);
  return fail(kUsage, "there is no rule '" + name + "'; " +
                          (nearest ? "did you mean '" + nearest->name + "'?"
                                   : Twine("--explain without a name lists them")));
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << mono::toolVersion() << " (LLVM " << LLVM_VERSION_STRING << ", target gfx950)\n";
  });
  if (!cl::ParseCommandLineOptions(
          argc, argv, "monoc: compiles a schedule file to a gfx950 code object\n", &errs()))
    return kUsage;
  if (explain.getNumOccurrences())
    return printRule(explain);
  if (input.empty())
    return fail(kUsage, "expected a schedule file (monoc FILE, see --help)");
  if (linker != "lld" && linker != "comgr")
    return fail(kUsage, "expected --linker=lld or --linker=comgr, but got '" + linker + "'");

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
  // LLD parses its own command line with the same library and resets all options on the way.
  const std::string path = output.empty() ? defaultOutput() : output;
  const ReportKind reportKind = report;
  auto result = mono::compile(std::string(input), options);
  if (!result)
    return fail(kWrongInput, toString(result.takeError()));
  if (options.checkOnly)
    return kGood;
  if (reportKind != ReportKind::None)
    return printReport(reportKind, *result);
  return writeOutput(path, result->output);
}

// monobench [NAME]... [--device=emu|hip] [--json=F]: compile time and emulator speed, or what
// launches take on eight GPUs. A NAME is a group or a benchmark, e.g. "compile" or "emulator/valu";
// without any, all run.
#include "bench/Benchmarks.h"
#include "runtime/Error.h"
#include "runtime/hip/HipNode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <benchmark/benchmark.h>

#include <fstream>

using namespace llvm;

namespace {

enum ExitStatus { Good = 0, Failed = 1, Usage = 2, NoDevice = 3 };

constexpr StringLiteral usage =
    "usage: monobench [NAME]... [--device=emu|hip] [--json=F]\n"
    "  NAME  compile, cache, check, emulator, launch, or with --device=hip hip; or one benchmark\n"
    "        such as emulator/valu\n";

struct Options {
  std::vector<std::string> names;
  std::string device = "emu", json;
  bool help = false;
};

Expected<Options> parse(int argc, char **argv) {
  Options options;
  for (StringRef argument : ArrayRef(argv, argc).drop_front()) {
    if (argument == "--help")
      options.help = true;
    else if (argument.consume_front("--device="))
      options.device = argument.str();
    else if (argument.consume_front("--json="))
      options.json = argument.str();
    else if (argument.starts_with("-"))
      return mono::makeError("unknown option '{}'", argument);
    else
      options.names.push_back(argument.str());
  }
  if (options.device != "emu" && options.device != "hip")
    return mono::makeError("--device: expected emu or hip, but got '{}'", options.device);
  return options;
}

/// Google Benchmark's own flags for our options.
std::vector<std::string> libraryFlags(const Options &options) {
  std::vector<std::string> flags = {"monobench"};
  std::string filter;
  for (const std::string &name : options.names)
    filter += (filter.empty() ? "" : "|") + Regex::escape(name);
  if (!filter.empty())
    flags.push_back("--benchmark_filter=^(" + filter + ")(/|$)");
  if (!options.json.empty()) {
    flags.push_back("--benchmark_out=" + options.json);
    flags.push_back("--benchmark_out_format=json");
  }
  return flags;
}

/// Model of the host's processor, as Linux names it.
std::string processorModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (auto [key, value] = StringRef(line).split(':'); key.trim() == "model name")
      return value.trim().str();
  return "unknown";
}

/// What every number needs beside it; printed, and part of the JSON file.
void describeRun(const std::string &gpu) {
  benchmark::AddCustomContext("monobench_version", MONO_VERSION);
  benchmark::AddCustomContext("processor",
                              processorModel() + " (" + sys::getHostCPUName().str() + ")");
  benchmark::AddCustomContext("gpu", gpu);
}

/// The GPUs by name and library, or why there is none.
Expected<std::string> describeGpus() {
  auto node = mono::hip::HipNode::create({});
  if (!node)
    return node.takeError();
  return fmt::format("{}, {}, HIP {}", (*node)->device(0).properties().name,
                     (*node)->library().name(), (*node)->library().version());
}

void registerBenchmarks(bool onGpus) {
  if (onGpus)
    return mono::bench::registerHip();
  mono::bench::registerCompile();
  mono::bench::registerCache();
  mono::bench::registerCheck();
  mono::bench::registerEmulator();
  mono::bench::registerLaunch();
}

/// Whether a benchmark ended in an error: Google Benchmark 1.8 has another name for it.
template <typename Run> bool hasFailed(const Run &run) {
  if constexpr (requires { run.error_occurred; })
    return run.error_occurred;
  else
    return run.skipped == decltype(run.skipped)::SkippedWithError;
}

/// The usual report on the console, and how many benchmarks ended in an error.
class CountingReporter : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context &context) override { return usual->ReportContext(context); }
  void ReportRuns(const std::vector<Run> &runs) override {
    failures += llvm::count_if(runs, [](const Run &run) { return hasFailed(run); });
    usual->ReportRuns(runs);
  }
  void Finalize() override { usual->Finalize(); }

  size_t failures = 0;

private:
  std::unique_ptr<benchmark::BenchmarkReporter> usual{benchmark::CreateDefaultDisplayReporter()};
};

ExitStatus runBenchmarks(const Options &options) {
  std::string gpu = "emulated";
  if (options.device == "hip") {
    Expected<std::string> found = describeGpus();
    if (!found) {
      errs() << "monobench: error: no such device: " << toString(found.takeError()) << '\n';
      return NoDevice;
    }
    gpu = *found;
  }
  registerBenchmarks(options.device == "hip");
  std::vector<std::string> flags = libraryFlags(options);
  std::vector<char *> pointers;
  for (std::string &flag : flags)
    pointers.push_back(flag.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  describeRun(gpu);
  CountingReporter reporter;
  if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0) {
    errs() << "monobench: error: no benchmark of that name\n" << usage;
    return Usage;
  }
  if (reporter.failures == 0)
    return Good;
  errs() << "monobench: error: " << reporter.failures << " of the benchmarks failed, see above\n";
  return Failed;
}

} // namespace

int main(int argc, char **argv) {
  Expected<Options> options = parse(argc, argv);
  if (!options) {
    errs() << "monobench: error: " << toString(options.takeError()) << '\n' << usage;
    return Usage;
  }
  if (options->help) {
    outs() << usage;
    return Good;
  }
  return runBenchmarks(*options);
}

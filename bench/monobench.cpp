// monobench [NAME]... [--device=emu|hip] [--json=F]: compile time and emulator speed. A NAME is a
// group or a benchmark, e.g. "compile" or "emulator/valu"; without any, all run.
#include "bench/Benchmarks.h"
#include "runtime/Error.h"
#include "runtime/hip/HipProbe.h"

#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <benchmark/benchmark.h>

#include <fstream>

using namespace llvm;

namespace {

enum ExitStatus { Good = 0, BadInput = 1, Usage = 2, NoDevice = 3 };

constexpr StringLiteral usage =
    "usage: monobench [NAME]... [--device=emu|hip] [--json=F]\n"
    "  NAME  compile, check, emulator, launch, or one benchmark such as emulator/valu\n";

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
void describeRun() {
  benchmark::AddCustomContext("monobench_version", MONO_VERSION);
  benchmark::AddCustomContext("processor", processorModel() + " (" + sys::getHostCPUName().str() +
                                               "), the GPU is emulated");
}

ExitStatus runBenchmarks(const Options &options) {
  mono::bench::registerCompile();
  mono::bench::registerCheck();
  mono::bench::registerEmulator();
  mono::bench::registerLaunch();
  std::vector<std::string> flags = libraryFlags(options);
  std::vector<char *> pointers;
  for (std::string &flag : flags)
    pointers.push_back(flag.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  describeRun();
  if (benchmark::RunSpecifiedBenchmarks() > 0)
    return Good;
  errs() << "monobench: no benchmark of that name\n" << usage;
  return Usage;
}

} // namespace

int main(int argc, char **argv) {
  Expected<Options> options = parse(argc, argv);
  if (!options) {
    errs() << "monobench: " << toString(options.takeError()) << '\n' << usage;
    return Usage;
  }
  if (options->help) {
    outs() << usage;
    return Good;
  }
  if (options->device == "hip") {
    errs() << "monobench: no such device: " << mono::hip::probe().message
           << "; no benchmark runs on HIP yet\n";
    return NoDevice;
  }
  return runBenchmarks(*options);
}

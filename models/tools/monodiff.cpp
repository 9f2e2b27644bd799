// monodiff A.safetensors B.safetensors: where the results of two runs differ, and by how much; or
// whether a result is within a bar of a reference.
#include "models/tools/FileDiff.h"
#include "runtime/Error.h"

#include "llvm/Support/CommandLine.h"

#include <cmath>

using namespace llvm;

namespace {

/// As diff and cmp have it.
enum class DiffStatus { Same = 0, Different = 1, Trouble = 2 };

struct CommandLine {
  cl::OptionCategory category{"monodiff options"};
  cl::list<std::string> files{cl::Positional, cl::desc("A.safetensors B.safetensors"),
                              cl::cat(category)};
  cl::opt<bool> all{"all", cl::desc("list tensors that are the same, too"), cl::cat(category)};
  cl::opt<bool> common{"common", cl::desc("leave out tensors that only one file has"),
                       cl::cat(category)};
  cl::opt<std::string> bar{
      "bar", cl::value_desc("X"),
      cl::desc("B is a reference: rows of floats may be off by X, ||a - b|| / ||b||; integers are "
               "the same. Types may differ: F32 or F64 against BF16"),
      cl::cat(category)};
};

Expected<mono::tools::DiffOptions> convert(const CommandLine &line) {
  if (line.files.size() != 2)
    return mono::makeError("expected two files to compare, but got {} (see --help)",
                           line.files.size());
  mono::tools::DiffOptions options{.all = line.all, .common = line.common};
  if (line.bar.getNumOccurrences()) {
    double bar = 0;
    if (StringRef(line.bar).getAsDouble(bar) || !std::isfinite(bar) || bar < 0)
      return mono::makeError("--bar: expected a number from 0 on, but got '{}'",
                             line.bar.getValue());
    options.bar = bar;
  }
  return options;
}

Expected<bool> run(const CommandLine &line) {
  Expected<mono::tools::DiffOptions> options = convert(line);
  if (!options)
    return options.takeError();
  auto a = mono::SafetensorsFile::open(line.files[0]),
       b = mono::SafetensorsFile::open(line.files[1]);
  if (!a || !b)
    return joinErrors(a ? Error::success() : a.takeError(), b ? Error::success() : b.takeError());
  Expected<bool> same = mono::tools::diffFiles(outs(), *a, *b, *options);
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error(); // one that nobody saw ends the process, with the status of a difference
  if (!same || !error)
    return same;
  return mono::makeError("can't write to stdout: {}", error.message());
}

DiffStatus statusOf(Expected<bool> same) {
  if (same)
    return *same ? DiffStatus::Same : DiffStatus::Different;
  errs() << "monodiff: error: " << toString(same.takeError()) << '\n';
  return DiffStatus::Trouble;
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << "monodiff " MONO_VERSION "\n"; });
  bool parsed = cl::ParseCommandLineOptions(
      argc, argv,
      "compares two files that monorun --outputs wrote, tensor by tensor, or one with a "
      "reference\n\n"
      "exit status: 0 the same, or within --bar, 1 different, 2 not to be compared\n",
      &errs());
  return static_cast<int>(parsed ? statusOf(run(line)) : DiffStatus::Trouble);
}

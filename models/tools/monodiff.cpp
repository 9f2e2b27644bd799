// monodiff A.safetensors B.safetensors: where the results of two runs differ, and by how much.
#include "models/tools/TensorDiff.h"

#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace {

/// As diff and cmp have it.
enum class DiffStatus { Same = 0, Different = 1, Trouble = 2 };

int finish(DiffStatus status) { return static_cast<int>(status); }

} // namespace

int main(int argc, char **argv) {
  cl::OptionCategory category("monodiff options");
  cl::opt<std::string> a(cl::Positional, cl::Required, cl::desc("A.safetensors"),
                         cl::cat(category));
  cl::opt<std::string> b(cl::Positional, cl::Required, cl::desc("B.safetensors"),
                         cl::cat(category));
  cl::opt<bool> all("all", cl::desc("list tensors that are the same, too"), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << "monodiff " MONO_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "compares two files that monorun --outputs wrote, tensor by tensor\n\n"
          "exit status: 0 the same, 1 different, 2 not to be compared\n",
          &errs()))
    return finish(DiffStatus::Trouble);
  auto left = mono::SafetensorsFile::open(a), right = mono::SafetensorsFile::open(b);
  if (!left || !right) {
    Error error = joinErrors(left ? Error::success() : left.takeError(),
                             right ? Error::success() : right.takeError());
    errs() << "monodiff: " << toString(std::move(error)) << '\n';
    return finish(DiffStatus::Trouble);
  }
  bool same = mono::tools::diffFiles(outs(), *left, *right, {.all = all});
  return finish(same ? DiffStatus::Same : DiffStatus::Different);
}

// monopack KERNEL.hsaco --checkpoint=FOLDER --layer=N --out=FOLDER: the weights of one layer of a
// checkpoint, cut and packed for each rank of a kernel.
#include "models/pack/CheckpointFiles.h"
#include "models/pack/PackLayer.h"
#include "models/tools/Options.h"
#include "runtime/File.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mono;
using mono::tools::ExitStatus;

namespace {

struct CommandLine {
  cl::OptionCategory category{"monopack options"};
  cl::opt<std::string> kernel{cl::Positional, cl::Required, cl::desc("KERNEL.hsaco"),
                              cl::cat(category)};
  cl::opt<std::string> checkpoint{"checkpoint", cl::Required, cl::value_desc("FOLDER"),
                                  cl::desc("safetensors files with Hugging Face names"),
                                  cl::cat(category)};
  cl::opt<unsigned> layer{"layer", cl::Required, cl::value_desc("N"),
                          cl::desc("layer of the model"), cl::cat(category)};
  cl::opt<std::string> out{"out", cl::Required, cl::value_desc("FOLDER"),
                           cl::desc("where layerN.rankR.safetensors are written"),
                           cl::cat(category)};
  cl::list<unsigned> ranks{"rank", cl::value_desc("R"), cl::desc("pack only this rank"),
                           cl::cat(category)};
};

Expected<Manifest> manifestOf(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> file = readFile(path);
  if (!file)
    return file.takeError();
  StringRef bytes = (*file)->getBuffer();
  Expected<Manifest> manifest = readManifest({bytes.bytes_begin(), bytes.size()});
  if (!manifest)
    return addContext(manifest.takeError(), path);
  return manifest;
}

void printProgress(const models::PackProgress &progress) {
  constexpr double megabyte = 1e6;
  StringRef what = progress.operand.empty() ? StringRef("done") : StringRef(progress.operand);
  errs() << fmt::format("rank {}: {:.1f} of {:.1f} MB, {}\n", progress.rank,
                        double(progress.doneBytes) / megabyte, double(progress.allBytes) / megabyte,
                        what);
}

Error packRanks(const CommandLine &line) {
  Expected<Manifest> manifest = manifestOf(line.kernel);
  if (!manifest)
    return manifest.takeError();
  auto tensors = models::layerTensorsOf(*manifest, line.layer);
  if (!tensors)
    return addContext(tensors.takeError(), line.kernel);
  auto checkpoint = models::CheckpointFiles::open(line.checkpoint, *tensors);
  if (!checkpoint)
    return checkpoint.takeError();
  for (const std::string &note : (*checkpoint)->notes())
    errs() << "note: " << note << '\n';
  if (std::error_code error = sys::fs::create_directories(line.out))
    return makeError("{}: {}", line.out.getValue(), error.message());
  SmallVector<unsigned> ranks(line.ranks.begin(), line.ranks.end());
  if (ranks.empty())
    ranks = to_vector(seq(manifest->ranks));
  for (unsigned rank : ranks) {
    SmallString<128> path = StringRef(line.out);
    sys::path::append(path, fmt::format("layer{}.rank{}.safetensors", line.layer.getValue(), rank));
    if (Error error =
            models::packLayer(*manifest, line.layer, **checkpoint, rank, path, printProgress))
      return error;
    outs() << path << '\n';
  }
  return Error::success();
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << "monopack " MONO_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, "packs a layer's weights for a kernel\n", &errs()))
    return static_cast<int>(ExitStatus::Usage);
  if (Error error = packRanks(line)) {
    errs() << "monopack: error: " << toString(std::move(error)) << '\n';
    return static_cast<int>(ExitStatus::BadInput);
  }
  return static_cast<int>(ExitStatus::Good);
}

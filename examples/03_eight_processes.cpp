// One rank a process: starts itself eight times, and the eight processes meet, exchange their
// mailboxes and launch an all-reduce three times. Needs HIP, or the emulated HIP library named by
// MONO_HIP_LIBRARY.
#include "examples/Example.h"
#include "lowering/Compile.h"
#include "runtime/Error.h"
#include "runtime/hip/HipNode.h"
#include "runtime/ipc/Rendezvous.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace mono;
using namespace mono::examples;

static constexpr unsigned ranks = 8;

// ---- one rank ----------------------------------------------------------------------------------

/// In launch l, rank r contributes (r + 1) (l + 1) in every element.
static llvm::Error launchThrice(Group &group, unsigned rank) {
  std::string line = fmt::format("rank {} has", rank);
  for (unsigned launch = 0; launch < 3; ++launch) {
    std::vector<float> x(256, static_cast<float>((rank + 1) * (launch + 1)));
    if (llvm::Error error = writeFloats(group, rank, "x", x))
      return error;
    if (llvm::Error error = group.launch())
      return error;
    auto y = readFloats(group, rank, "y", 256);
    if (!y)
      return y.takeError();
    line += fmt::format(" {}", y->back());
  }
  std::printf("%s\n", line.c_str());
  return llvm::Error::success();
}

static llvm::Error runRank(const char *schedule, const std::string &meetingPoint, unsigned rank) {
  CompileOptions options;
  options.params = {{"R", ranks}};
  auto code = compileFile(schedule, options);
  if (!code)
    return code.takeError();
  hip::HipSelection selection;
  selection.first = rank;
  auto node = hip::HipNode::create(selection);
  if (!node)
    return node.takeError();
  auto meeting = ipc::Rendezvous::create({meetingPoint, rank, ranks});
  if (!meeting)
    return meeting.takeError();
  auto group = Group::join((*node)->device(0), *code, *meeting);
  if (!group)
    return group.takeError();
  if (llvm::Error error = launchThrice(*group, rank))
    return error;
  // No rank gives its mailboxes back while another may still post to them.
  return meeting->allGather({}).takeError();
}

// ---- all of them -------------------------------------------------------------------------------

static llvm::Error runAll(const char *program, const char *schedule) {
  llvm::SmallString<128> folder;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("eight-processes", folder))
    return makeError("{}", code.message());
  std::string meetingPoint = (folder + "/meet").str();
  std::vector<llvm::sys::ProcessInfo> children;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    std::string number = std::to_string(rank);
    children.push_back(
        llvm::sys::ExecuteNoWait(program, {program, schedule, meetingPoint, number}, std::nullopt));
  }
  unsigned good = 0;
  for (const llvm::sys::ProcessInfo &child : children)
    good += llvm::sys::Wait(child, std::nullopt).ReturnCode == 0;
  llvm::sys::fs::remove_directories(folder);
  std::printf("%u of %u ranks ended well\n", good, ranks);
  return good == ranks ? llvm::Error::success() : makeError("a rank failed");
}

int main(int argc, char **argv) {
  unsigned rank = 0;
  if (const char *schedule = scheduleArgument(argc, argv))
    return finish(runAll(argv[0], schedule));
  if (argc == 4 && !llvm::StringRef(argv[3]).getAsInteger(10, rank) && rank < ranks)
    return finish(runRank(argv[1], argv[2], rank));
  return usage("03_eight_processes 06_all_reduce.mlir");
}

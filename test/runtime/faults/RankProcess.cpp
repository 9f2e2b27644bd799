// What a rank does in its process.
#include "test/runtime/faults/RankProcess.h"
#include "runtime/Error.h"
#include "runtime/hip/HipNode.h"
#include "runtime/ipc/Rendezvous.h"
#include "test/runtime/faults/SumKernel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <csignal>
#include <thread>

using namespace llvm;
using namespace std::chrono_literals;

namespace mono::test {

static std::string markOf(const RankArguments &arguments, unsigned rank) {
  return fmt::format("{}/failed.{}", arguments.folder, rank);
}

/// Tells a rank that is late that this one has given up.
static void leaveMark(const RankArguments &arguments) {
  std::error_code code;
  raw_fd_ostream(markOf(arguments, arguments.rank), code);
}

static Error waitForMarks(const RankArguments &arguments) {
  auto limit = std::chrono::steady_clock::now() + 60s;
  for (unsigned rank = 0; rank < sumRanks; ++rank)
    while (rank != arguments.rank && !sys::fs::exists(markOf(arguments, rank))) {
      if (std::chrono::steady_clock::now() > limit)
        return makeError("expected rank {} to give up", rank);
      std::this_thread::sleep_for(5ms);
    }
  return Error::success();
}

static Error misbehave(const RankArguments &arguments) {
  if (arguments.fault == "killed")
    raise(SIGKILL);
  if (arguments.fault == "late")
    std::this_thread::sleep_for(500ms);
  if (arguments.fault == "too-late")
    return waitForMarks(arguments);
  return Error::success();
}

static Error launchTwice(Group &group, unsigned rank) {
  for (unsigned launch = 0; launch < 2; ++launch) {
    if (Error error = writeTerms(group, rank, launch))
      return error;
    if (Error error = group.launch())
      return error;
    if (Error error = checkSums(group, rank, launch))
      return error;
  }
  return Error::success();
}

/// A second kernel on the mailboxes of the first: each in both slots, after itself and the other.
static Error takeTurns(Group &first, Device &device, ipc::Rendezvous &meeting,
                       const RankArguments &arguments) {
  auto code = MemoryBuffer::getFile(arguments.code + ".second");
  if (!code)
    return makeError("{}.second: {}", arguments.code, code.getError().message());
  auto second = Group::join(device, arrayRefFromStringRef((*code)->getBuffer()), meeting,
                            {.sharedWith = &first});
  if (!second)
    return second.takeError();
  for (Group *group : {&*second, &first, &*second, &*second, &first})
    if (Error error = launchTwice(*group, arguments.rank))
      return error;
  return Error::success();
}

/// Everything of a group, from the meeting to the end. `spoil` comes before the launches.
static Error runGroup(const RankArguments &arguments, Device &device, StringRef meetingPoint,
                      function_ref<Error()> spoil) {
  auto code = MemoryBuffer::getFile(arguments.code);
  if (!code)
    return makeError("{}: {}", arguments.code, code.getError().message());
  auto meeting = ipc::Rendezvous::create(
      {fmt::format("{}/{}", arguments.folder, meetingPoint), arguments.rank, sumRanks, 60s});
  if (!meeting)
    return meeting.takeError();
  auto group = Group::join(device, arrayRefFromStringRef((*code)->getBuffer()), *meeting);
  if (!group)
    return group.takeError();
  if (Error error = spoil())
    return error;
  if (Error error = launchTwice(*group, arguments.rank)) {
    std::string text = toString(std::move(error));
    // It stays broken.
    std::string again = toString(group->launch());
    if (!StringRef(again).contains(text))
      return makeError("expected a broken group, but got: {}", again);
    return makeError("{}", text);
  }
  if (arguments.fault == "shares")
    if (Error error = takeTurns(*group, device, *meeting, arguments))
      return error;
  // No rank gives its mailboxes back while another may still post to them.
  return meeting->allGather({}).takeError();
}

Error runRank(const RankArguments &arguments) {
  hip::HipSelection selection;
  selection.first = arguments.rank;
  auto node = hip::HipNode::create(selection);
  if (!node)
    return node.takeError();
  Device &device = (*node)->device(0);
  if (arguments.fault != "replacement") {
    Error error = runGroup(arguments, device, "meet", [&] { return misbehave(arguments); });
    if (!error && arguments.fault != "too-late") {
      outs() << "good\n";
      return Error::success();
    }
    outs() << toString(std::move(error)) << '\n';
    leaveMark(arguments);
  }
  if (Error error = runGroup(arguments, device, "again", [] { return Error::success(); }))
    return error;
  outs() << "recovered\n";
  return Error::success();
}

} // namespace mono::test

// Tests that play all ranks of a group, each in a thread of its own.
#pragma once

#include "runtime/ipc/Rendezvous.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <thread>

namespace mono::test {

/// A test with a socket path of its own.
class RanksTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("mono", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path() const { return (folder + "/meet").str(); }
  ipc::RendezvousOptions options(unsigned rank, unsigned ranks) const {
    return {path(), rank, ranks, timeout};
  }
  void setTimeout(std::chrono::milliseconds value) { timeout = value; }
  ipc::Deadline soon() const { return std::chrono::steady_clock::now() + timeout; }

  /// Runs `work` for every rank at once; the message of each, "" for success.
  std::vector<std::string> onRanks(unsigned ranks, llvm::function_ref<llvm::Error(unsigned)> work) {
    std::vector<std::string> errors(ranks);
    std::vector<std::thread> threads;
    for (unsigned rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { errors[rank] = llvm::toString(work(rank)); });
    for (std::thread &thread : threads)
      thread.join();
    return errors;
  }

private:
  llvm::SmallString<128> folder;
  std::chrono::milliseconds timeout{20'000};
};

} // namespace mono::test

// Rounds between ranks, each a thread here: all get the same, and all hear of every failure in
// time.
#include "runtime/ipc/Rendezvous.h"
#include "test/runtime/ipc/Ranks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <fstream>
#include <latch>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace mono;
using namespace mono::ipc;
using namespace mono::test;
using namespace std::chrono;

namespace {

class RendezvousTest : public RanksTest {};

Payload bytes(llvm::StringRef text) { return {text.bytes_begin(), text.bytes_end()}; }

TEST_F(RendezvousTest, AllGetAllInTheOrderOfRanks) {
  std::vector<std::string> errors = onRanks(8, [&](unsigned rank) -> llvm::Error {
    auto meeting = Rendezvous::create(options(rank, 8));
    if (!meeting)
      return meeting.takeError();
    for (unsigned round = 0; round < 50; ++round) {
      auto all = meeting->allGather(Payload(1000 * rank, static_cast<uint8_t>(rank + round)));
      if (!all)
        return all.takeError();
      for (unsigned from = 0; from < 8; ++from)
        EXPECT_EQ((*all)[from], Payload(1000 * from, static_cast<uint8_t>(from + round)));
    }
    return llvm::Error::success();
  });
  EXPECT_EQ(errors, std::vector<std::string>(8));
  EXPECT_FALSE(llvm::sys::fs::exists(path())) << "the socket stays behind";
}

TEST_F(RendezvousTest, OneRankMeetsItself) {
  auto meeting = Rendezvous::create(options(0, 1));
  ASSERT_TRUE(bool(meeting)) << llvm::toString(meeting.takeError());
  auto all = meeting->allGather(bytes("x"));
  ASSERT_TRUE(bool(all));
  EXPECT_EQ(*all, std::vector<Payload>{bytes("x")});
}

TEST_F(RendezvousTest, OptionsAreChecked) {
  auto error = [&](unsigned rank, unsigned ranks) {
    return llvm::toString(Rendezvous::create(options(rank, ranks)).takeError());
  };
  EXPECT_EQ(error(0, 0), "expected 1 to 64 ranks, but got 0");
  EXPECT_EQ(error(0, 65), "expected 1 to 64 ranks, but got 65");
  EXPECT_EQ(error(8, 8), "expected a rank below 8, but got 8");
  RendezvousOptions longPath = options(0, 2);
  longPath.path = std::string(108, 'x');
  std::string text = llvm::toString(Rendezvous::create(longPath).takeError());
  EXPECT_NE(text.find("expected a socket path of 1 to 107 bytes, but got 108"), std::string::npos);
}

TEST_F(RendezvousTest, AMissingRankIsAnErrorInTime) {
  // Long enough for both threads to come on a busy machine, and far below what a hang takes.
  setTimeout(seconds(3));
  auto start = steady_clock::now();
  std::vector<std::string> errors =
      onRanks(2, [&](unsigned rank) { return Rendezvous::create(options(rank, 3)).takeError(); });
  EXPECT_LT(steady_clock::now() - start, seconds(60));
  for (const std::string &error : errors)
    EXPECT_NE(error.find("2 of 3 ranks have come: timed out"), std::string::npos) << error;
}

TEST_F(RendezvousTest, WithoutRankZeroNobodyMeets) {
  setTimeout(milliseconds(50));
  std::string error = llvm::toString(Rendezvous::create(options(1, 2)).takeError());
  EXPECT_NE(error.find("timed out waiting for rank 0 to listen there"), std::string::npos) << error;
}

TEST_F(RendezvousTest, TwoOfOneRankAreAnErrorOnAll) {
  const unsigned ranks[] = {0, 1, 1};
  std::vector<std::string> errors = onRanks(
      3, [&](unsigned index) { return Rendezvous::create(options(ranks[index], 3)).takeError(); });
  for (const std::string &error : errors)
    EXPECT_NE(error.find("two processes say that they are rank 1"), std::string::npos) << error;
}

TEST_F(RendezvousTest, AnotherNumberOfRanksIsAnErrorOnAll) {
  const unsigned ranks[] = {2, 4};
  std::vector<std::string> errors = onRanks(
      2, [&](unsigned rank) { return Rendezvous::create(options(rank, ranks[rank])).takeError(); });
  for (const std::string &error : errors)
    EXPECT_NE(error.find("rank 1 expects 4 ranks, but rank 0 2"), std::string::npos) << error;
}

/// The late rank comes when the others have given up.
TEST_F(RendezvousTest, ALateRankIsNamedOnAll) {
  setTimeout(seconds(3));
  std::latch givenUp(2);
  std::vector<std::string> errors = onRanks(3, [&](unsigned rank) -> llvm::Error {
    auto meeting = Rendezvous::create(options(rank, 3));
    if (!meeting) {
      givenUp.count_down(rank != 2);
      return meeting.takeError();
    }
    if (rank == 2)
      givenUp.wait();
    llvm::Error error = meeting->allGather({}).takeError();
    if (rank != 2)
      givenUp.count_down();
    return error;
  });
  for (const std::string &error : errors)
    EXPECT_EQ(error, "rank 2: timed out");
}

TEST_F(RendezvousTest, ARankThatLeavesIsNamedOnAll) {
  std::vector<std::string> errors = onRanks(3, [&](unsigned rank) -> llvm::Error {
    auto meeting = Rendezvous::create(options(rank, 3));
    if (!meeting || rank == 1)
      return meeting.takeError();
    llvm::Error first = meeting->allGather({}).takeError();
    // Once broken, always broken, and at once.
    std::string second = llvm::toString(meeting->allGather({}).takeError());
    EXPECT_EQ(second, "the rendezvous is broken: rank 1: it has left");
    return first;
  });
  EXPECT_EQ(errors[0], "rank 1: it has left");
  EXPECT_EQ(errors[2], "rank 1: it has left");
}

/// The part of a rank, played by hand: it posts to each of `rounds` rounds, reads the answers but
/// for the last one, and leaves.
void leaveWithoutTheAnswer(llvm::StringRef path, unsigned rank, unsigned ranks, unsigned rounds,
                           Deadline limit) {
  Socket root = llvm::cantFail(Socket::connectTo(path, limit));
  auto send = [&](MessageKind kind, uint32_t round) {
    llvm::cantFail(root.send(encodeHeader({kind, rank, ranks, round, 0}), limit));
  };
  send(MessageKind::Join, 0);
  for (unsigned round = 0; round < rounds; ++round) {
    send(MessageKind::Post, round);
    Payload header(headerBytes);
    if (round + 1 == rounds)
      return;
    llvm::cantFail(root.receive(header, limit));
    Payload payload(llvm::cantFail(parseHeader(header)).bytes);
    llvm::cantFail(root.receive(payload, limit));
  }
}

class LostRankTest : public RendezvousTest {
protected:
  /// Runs `call` on ranks 0 and 1 when rank 2 has posted and left without the answer.
  std::vector<std::string>
  besideALostRank(llvm::function_ref<llvm::Error(unsigned, Rendezvous &)> call) {
    return onRanks(3, [&](unsigned rank) -> llvm::Error {
      if (rank == 2) {
        leaveWithoutTheAnswer(path(), 2, 3, 2, soon());
        return llvm::Error::success();
      }
      auto meeting = Rendezvous::create(options(rank, 3));
      if (!meeting)
        return meeting.takeError();
      std::this_thread::sleep_for(milliseconds(200)); // until rank 2 has left
      return call(rank, *meeting);
    });
  }
};

/// Rank 1 has its answer when rank 2 can't be told: it hears why in its next call.
TEST_F(LostRankTest, CannotBeToldAndIsNamedOnAll) {
  std::vector<std::string> errors =
      besideALostRank([](unsigned rank, Rendezvous &meeting) -> llvm::Error {
        llvm::Error first = meeting.allGather({}).takeError();
        EXPECT_EQ(bool(first), rank == 0);
        return first ? std::move(first) : meeting.allGather({}).takeError();
      });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 2: it has left", "rank 2: it has left", ""}));
}

/// Rank 0 has heard all, so it succeeds like rank 1; both hear of rank 2 afterwards.
TEST_F(LostRankTest, IsAllThatAConfirmationMisses) {
  std::vector<std::string> errors =
      besideALostRank([](unsigned, Rendezvous &meeting) -> llvm::Error {
        if (llvm::Error error = meeting.confirm())
          return error;
        std::string next = llvm::toString(meeting.confirm());
        EXPECT_NE(next.find("rank 2: it has left"), std::string::npos) << next;
        return llvm::Error::success();
      });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST_F(RendezvousTest, ARankMissingInAConfirmationIsNamedOnAll) {
  std::vector<std::string> errors = onRanks(3, [&](unsigned rank) -> llvm::Error {
    auto meeting = Rendezvous::create(options(rank, 3));
    return meeting && rank != 2 ? meeting->confirm() : meeting.takeError();
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 2: it has left", "rank 2: it has left", ""}));
}

TEST_F(RendezvousTest, TooLargeAContributionIsRefused) {
  auto meeting = Rendezvous::create(options(0, 1));
  ASSERT_TRUE(bool(meeting));
  EXPECT_EQ(llvm::toString(meeting->allGather(Payload(65537)).takeError()),
            "expected at most 65536 bytes of rank 0, but got 65537");
}

// ---- what else may be at the path or come to it ------------------------------------------------

TEST_F(RendezvousTest, ADeadSocketIsReplaced) {
  {
    auto dead = Socket::listenAt(path());
    ASSERT_TRUE(bool(dead));
  }
  ASSERT_TRUE(llvm::sys::fs::exists(path()));
  std::vector<std::string> errors =
      onRanks(2, [&](unsigned rank) { return Rendezvous::create(options(rank, 2)).takeError(); });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST_F(RendezvousTest, ALivingSocketIsRespected) {
  auto other = Socket::listenAt(path());
  ASSERT_TRUE(bool(other));
  std::string error = llvm::toString(Rendezvous::create(options(0, 2)).takeError());
  EXPECT_NE(error.find("another group is meeting there"), std::string::npos) << error;
}

/// The second root looks whether somebody listens; the first does not take that for a rank.
TEST_F(RendezvousTest, ASecondRootDoesNotDisturbTheFirst) {
  std::string second;
  std::vector<std::string> errors = onRanks(2, [&](unsigned rank) -> llvm::Error {
    if (rank == 1) {
      while (!llvm::sys::fs::exists(path()))
        std::this_thread::yield();
      // Until it listens, there is a moment in which the socket looks dead.
      llvm::cantFail(Socket::connectTo(path(), soon()));
      second = llvm::toString(Rendezvous::create(options(0, 2)).takeError());
    }
    return Rendezvous::create(options(rank, 2)).takeError();
  });
  EXPECT_NE(second.find("another group is meeting there"), std::string::npos) << second;
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

/// Somebody listens, but takes nobody in.
TEST_F(RendezvousTest, AFullQueueIsALivingSocket) {
  int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy_n(path().c_str(), path().size(), address.sun_path);
  auto *generic = reinterpret_cast<const sockaddr *>(&address);
  ASSERT_EQ(::bind(listener, generic, sizeof address), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  setTimeout(milliseconds(100));
  std::vector<Socket> waiting;
  while (true) {
    auto next = Socket::connectTo(path(), soon());
    if (!next) {
      llvm::consumeError(next.takeError());
      break;
    }
    waiting.push_back(std::move(*next));
  }
  auto start = steady_clock::now();
  std::string error = llvm::toString(Rendezvous::create(options(0, 2)).takeError());
  EXPECT_NE(error.find("another group is meeting there"), std::string::npos) << error;
  EXPECT_LT(steady_clock::now() - start, seconds(3));
  ::close(listener);
}

TEST_F(RendezvousTest, AFileIsRespected) {
  std::ofstream(path()) << "mine";
  std::string error = llvm::toString(Rendezvous::create(options(0, 2)).takeError());
  EXPECT_NE(error.find("there is something that is no socket"), std::string::npos) << error;
  std::string kept;
  std::ifstream(path()) >> kept;
  EXPECT_EQ(kept, "mine");
}

TEST_F(RendezvousTest, OnlyThisUserMayConnect) {
  auto listener = Socket::listenAt(path());
  ASSERT_TRUE(bool(listener));
  struct stat facts = {};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

/// What rank 0 says when a stranger sends these bytes instead of joining, and then waits or leaves.
class StrangerTest : public RendezvousTest {
protected:
  std::string rootError(const Payload &message, bool leaves) {
    std::string error;
    std::thread root(
        [&] { error = llvm::toString(Rendezvous::create(options(0, 2)).takeError()); });
    {
      auto stranger = Socket::connectTo(path(), soon());
      EXPECT_TRUE(bool(stranger)) << llvm::toString(stranger.takeError());
      llvm::consumeError(stranger->send(message, soon()));
      if (!leaves)
        root.join();
    }
    if (leaves)
      root.join();
    return error;
  }
  Payload message(Header header, const Payload &payload = {}) {
    auto head = encodeHeader(header);
    Payload all(head.begin(), head.end());
    all.insert(all.end(), payload.begin(), payload.end());
    return all;
  }
};

TEST_F(StrangerTest, CannotHoldUpOrConfuseTheRoot) {
  setTimeout(milliseconds(300));
  auto says = [&](const Payload &sent, bool leaves, llvm::StringRef expected) {
    std::string error = rootError(sent, leaves);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  };
  says({}, false, "a process that connected: timed out");
  // Those that leave before they have said who they are were no ranks.
  says({}, true, "1 of 2 ranks have come: timed out");
  says(Payload(31, 'm'), true, "1 of 2 ranks have come: timed out");
  says(Payload(64, 'x'), false, "not a rendezvous message");
  says(message({MessageKind::Post, 1, 2, 0, 0}), false,
       "expected a process to say which rank it is");
  says(message({MessageKind::Join, 0, 2, 0, 0}), false, "two processes say that they are rank 0");
  // Joins, and then does not keep to the protocol.
  Payload join = message({MessageKind::Join, 1, 2, 0, 0});
  auto thenSends = [&](Header header) {
    Payload all = join, next = message(header);
    all.insert(all.end(), next.begin(), next.end());
    return all;
  };
  says(join, false, "rank 1: timed out");
  says(thenSends({MessageKind::Join, 1, 2, 0, 0}), false, "rank 1: expected its contribution");
  says(thenSends({MessageKind::Post, 1, 2, 7, 0}), false,
       "but got a message of kind 2 and round 7");
  says(thenSends({MessageKind::Post, 0, 2, 0, 0}), false, "from rank 0 of 2");
  says(thenSends({MessageKind::Post, 1, 2, 0, 5}), false, "rank 1: timed out");
}

TEST_F(StrangerTest, CannotConfuseALeaf) {
  setTimeout(milliseconds(300));
  auto leafError = [&](const Payload &answer) {
    auto listener = Socket::listenAt(path());
    EXPECT_TRUE(bool(listener));
    std::string error;
    std::thread leaf(
        [&] { error = llvm::toString(Rendezvous::create(options(1, 2)).takeError()); });
    auto connection = listener->accept(soon());
    EXPECT_TRUE(bool(connection));
    llvm::consumeError(connection->send(answer, soon()));
    leaf.join();
    llvm::sys::fs::remove(path());
    return error;
  };
  auto says = [&](const Payload &answer, llvm::StringRef expected) {
    std::string error = leafError(answer);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  };
  says({}, "rank 0: timed out");
  says(Payload(32, 0), "not a rendezvous message");
  says(message({MessageKind::Post, 0, 2, 0, 0}),
       "expected the contributions of 2 ranks to round 0");
  says(message({MessageKind::Gathered, 0, 2, 3, 0}), "round 3");
  says(message({MessageKind::Gathered, 0, 2, 0, 3}, {1, 2, 3}), "but they are longer");
  says(message({MessageKind::Abort, 0, 2, 0, 4}, bytes("gone")), "gone");
}

} // namespace

// A star: rank 0, the root, hears all others, the leaves, and tells all of them.
#include "runtime/ipc/Rendezvous.h"
#include "runtime/Error.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

#include <unistd.h>

using namespace llvm;
using namespace std::chrono;

namespace mono::ipc {

/// How much longer a leaf waits than the root: the root knows who is missing and says so.
static constexpr milliseconds leafGrace{1000};

Deadline Rendezvous::deadline() const {
  return steady_clock::now() + options.timeout + (options.rank == 0 ? milliseconds(0) : leafGrace);
}

static Expected<std::pair<Header, Payload>> receiveMessage(const Socket &from, Deadline limit) {
  std::array<uint8_t, headerBytes> bytes;
  if (Error error = from.receive(bytes, limit))
    return error;
  Expected<Header> header = parseHeader(bytes);
  if (!header)
    return header.takeError();
  Payload payload(header->bytes);
  if (Error error = from.receive(payload, limit))
    return error;
  return std::pair(*header, std::move(payload));
}

Error Rendezvous::send(const Socket &to, MessageKind kind, ArrayRef<uint8_t> payload,
                       Deadline limit) const {
  Header header{kind, options.rank, options.ranks, round, static_cast<uint32_t>(payload.size())};
  if (Error error = to.send(encodeHeader(header), limit))
    return error;
  return to.send(payload, limit);
}

// ---- meeting -----------------------------------------------------------------------------------

Expected<Rendezvous> Rendezvous::create(const RendezvousOptions &options) {
  if (options.ranks < 1 || options.ranks > maxRanks)
    return makeError("expected 1 to {} ranks, but got {}", maxRanks, options.ranks);
  if (options.rank >= options.ranks)
    return makeError("expected a rank below {}, but got {}", options.ranks, options.rank);
  Rendezvous meeting(options);
  if (Error error = options.rank == 0 ? meeting.meetAsRoot() : meeting.meetAsLeaf())
    return addContext(std::move(error), options.path);
  // Round 0 carries nothing: it tells the leaves that all have come.
  if (auto all = meeting.allGather({}); !all)
    return addContext(all.takeError(), options.path);
  return meeting;
}

/// Takes a connection in; after an error the caller still has it. HasLeft: it never was a rank.
Error Rendezvous::admit(Socket &connection, Deadline limit) {
  auto message = receiveMessage(connection, limit);
  if (!message && message.errorIsA<HasLeft>())
    return message.takeError();
  if (!message)
    return addContext(message.takeError(), "a process that connected");
  const Header &header = message->first;
  if (header.kind != MessageKind::Join)
    return makeError("expected a process to say which rank it is, but it did not");
  if (header.ranks != options.ranks)
    return makeError("rank {} expects {} ranks, but rank 0 {}", header.rank, header.ranks,
                     options.ranks);
  if (header.rank == 0 || peers[header.rank])
    return makeError("two processes say that they are rank {}", header.rank);
  peers[header.rank] = std::move(connection);
  return Error::success();
}

Error Rendezvous::meetAsRoot() {
  peers.resize(options.ranks);
  if (options.ranks == 1)
    return Error::success();
  Deadline limit = deadline();
  Expected<Socket> listener = Socket::listenAt(options.path);
  if (!listener)
    return listener.takeError();
  scope_exit remove([&] { ::unlink(options.path.c_str()); });
  for (unsigned missing = options.ranks - 1; missing; --missing) {
    Error error = admitNext(*listener, limit);
    if (!error)
      continue;
    std::string reason =
        toString(addContext(std::move(error), fmt::format("{} of {} ranks have come",
                                                          options.ranks - missing, options.ranks)));
    abort(reason);
    return makeError("{}", reason);
  }
  return Error::success();
}

/// The next process that says which rank it is. Another root that finds out whether somebody
/// listens here leaves without a word.
Error Rendezvous::admitNext(const Socket &listener, Deadline limit) {
  while (true) {
    Expected<Socket> connection = listener.accept(limit);
    if (!connection)
      return connection.takeError();
    Error error = admit(*connection, limit);
    if (error.isA<HasLeft>()) {
      consumeError(std::move(error));
      continue;
    }
    if (error) // whoever was not let in is told as well
      peers.push_back(std::move(*connection));
    return error;
  }
}

Error Rendezvous::meetAsLeaf() {
  Deadline limit = deadline();
  Expected<Socket> root = Socket::connectTo(options.path, limit);
  if (!root)
    return root.takeError();
  peers.push_back(std::move(*root));
  return addContext(send(peers[0], MessageKind::Join, {}, limit), "rank 0");
}

// ---- rounds ------------------------------------------------------------------------------------

Expected<std::vector<Payload>> Rendezvous::allGather(ArrayRef<uint8_t> contribution) {
  if (!broken.empty())
    return makeError("the rendezvous is broken: {}", broken);
  if (contribution.size() > maxContribution)
    return makeError("expected at most {} bytes of rank {}, but got {}", maxContribution,
                     options.rank, contribution.size());
  auto all = options.rank == 0 ? gatherAsRoot(contribution) : gatherAsLeaf(contribution);
  if (!all)
    return breakWith(all.takeError());
  ++round;
  return all;
}

Error Rendezvous::breakWith(Error error) {
  broken = toString(std::move(error));
  // Leaving is what tells the others.
  peers.clear();
  return makeError("{}", broken);
}

/// The root's word decides: once it has heard all it may not fail any more, since some have its
/// answer. Before, nobody has.
Error Rendezvous::confirm() {
  if (options.rank != 0 || !broken.empty())
    return allGather({}).takeError();
  auto all = hearAll({});
  if (!all)
    return breakWith(all.takeError());
  if (Error error = tellAll(*all))
    consumeError(breakWith(std::move(error)));
  ++round;
  return Error::success();
}

Error Rendezvous::collectFrom(unsigned peer, std::vector<Payload> &contributions, Deadline limit) {
  auto message = receiveMessage(peers[peer], limit);
  if (!message)
    return message.takeError();
  auto &[header, payload] = *message;
  if (header.kind != MessageKind::Post || header.rank != peer || header.ranks != options.ranks ||
      header.round != round)
    return makeError(
        "expected its contribution to round {}, but got a message of kind {} and round "
        "{} from rank {} of {}",
        round, static_cast<uint32_t>(header.kind), header.round, header.rank, header.ranks);
  contributions[peer] = std::move(payload);
  return Error::success();
}

/// Hears all leaves; every leaf that fails is named.
Error Rendezvous::collect(std::vector<Payload> &contributions) {
  Deadline limit = deadline();
  for (unsigned peer = 1; peer < options.ranks; ++peer)
    if (Error error = collectFrom(peer, contributions, limit))
      return addContext(std::move(error), fmt::format("rank {}", peer));
  return Error::success();
}

void Rendezvous::abort(StringRef reason) {
  reason = reason.take_front(maxContribution);
  // Whoever cannot be told finds out when the sockets close.
  for (const Socket &peer : peers)
    if (peer)
      consumeError(send(peer, MessageKind::Abort, arrayRefFromStringRef(reason), deadline()));
}

/// The contributions of all; an error has been told to all.
Expected<std::vector<Payload>> Rendezvous::hearAll(ArrayRef<uint8_t> contribution) {
  std::vector<Payload> contributions(options.ranks);
  contributions[0] = contribution.vec();
  if (Error error = collect(contributions)) {
    std::string reason = toString(std::move(error));
    abort(reason);
    return makeError("{}", reason);
  }
  return contributions;
}

/// A leaf that can't be told is named to the others; those before it hear of it in their next call.
Error Rendezvous::tellAll(ArrayRef<Payload> contributions) {
  Payload all = encodeGathered(contributions);
  Deadline limit = deadline();
  for (unsigned peer = 1; peer < options.ranks; ++peer) {
    Error error = send(peers[peer], MessageKind::Gathered, all, limit);
    if (!error)
      continue;
    std::string reason = fmt::format("rank {}: {}", peer, toString(std::move(error)));
    peers[peer] = Socket(); // it may have half of the message
    abort(reason);
    return makeError("{}", reason);
  }
  return Error::success();
}

Expected<std::vector<Payload>> Rendezvous::gatherAsRoot(ArrayRef<uint8_t> contribution) {
  auto contributions = hearAll(contribution);
  if (!contributions)
    return contributions;
  if (Error error = tellAll(*contributions))
    return error;
  return contributions;
}

Expected<std::vector<Payload>> Rendezvous::gatherAsLeaf(ArrayRef<uint8_t> contribution) {
  Deadline limit = deadline();
  // A failure to send is told better by what the root has sent: why it left.
  consumeError(send(peers[0], MessageKind::Post, contribution, limit));
  auto message = receiveMessage(peers[0], limit);
  if (!message)
    return addContext(message.takeError(), "rank 0");
  auto &[header, payload] = *message;
  if (header.kind == MessageKind::Abort)
    return makeError("{}", toStringRef(payload));
  if (header.kind != MessageKind::Gathered || header.rank != 0 || header.ranks != options.ranks ||
      header.round != round)
    return makeError(
        "rank 0: expected the contributions of {} ranks to round {}, but got a message "
        "of kind {} and round {} of {} ranks",
        options.ranks, round, static_cast<uint32_t>(header.kind), header.round, header.ranks);
  auto contributions = parseGathered(payload, options.ranks);
  return contributions ? std::move(contributions) : addContext(contributions.takeError(), "rank 0");
}

} // namespace mono::ipc

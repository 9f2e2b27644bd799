// Where the processes of a group meet: rounds in which every rank contributes bytes and gets those
// of all ranks (docs/rendezvous.md).
#pragma once

#include "runtime/ipc/Socket.h"
#include "runtime/ipc/Wire.h"

#include <vector>

namespace mono::ipc {

struct RendezvousOptions {
  /// A Unix socket path, the same for all ranks and for no other group at the same time. Rank 0
  /// makes it, and removes it when all have come.
  std::string path;
  unsigned rank = 0;
  unsigned ranks = 1;
  /// Longest wait of one call.
  std::chrono::milliseconds timeout{30'000};
};

/// One rank's place. All ranks must make the same calls in the same order. When a call fails on one
/// rank, it fails on all by the deadline at the latest, and every later call fails too; only a rank
/// that has its answer already hears of it in its next call.
class Rendezvous {
public:
  /// Waits until all ranks have come. Errors: a rank that does not come in time, two of one number,
  /// a different number of ranks, anything that is no message of this protocol.
  static llvm::Expected<Rendezvous> create(const RendezvousOptions &options);
  Rendezvous(Rendezvous &&) = default;
  Rendezvous &operator=(Rendezvous &&) = default;

  unsigned rank() const { return options.rank; }
  unsigned ranks() const { return options.ranks; }

  /// The contributions of all ranks, in the order of ranks, the same on all. At most
  /// maxContribution bytes each.
  llvm::Expected<std::vector<Payload>> allGather(llvm::ArrayRef<uint8_t> contribution);

  /// Ends something that all ranks have done together: success means that all have come to this
  /// call, and that rank 0 has succeeded too. A rank that misses the answer of rank 0 is as good as
  /// gone: it fails alone, and the others hear of it in their next call.
  llvm::Error confirm();

private:
  explicit Rendezvous(RendezvousOptions options) : options(std::move(options)) {}
  Deadline deadline() const;
  llvm::Error meetAsRoot();
  llvm::Error admitNext(const Socket &listener, Deadline limit);
  llvm::Error admit(Socket &connection, Deadline limit);
  llvm::Error meetAsLeaf();
  llvm::Error collect(std::vector<Payload> &contributions);
  llvm::Error collectFrom(unsigned peer, std::vector<Payload> &contributions, Deadline limit);
  void abort(llvm::StringRef reason);
  llvm::Error tellAll(llvm::ArrayRef<Payload> contributions);
  llvm::Expected<std::vector<Payload>> hearAll(llvm::ArrayRef<uint8_t> contribution);
  llvm::Expected<std::vector<Payload>> gatherAsRoot(llvm::ArrayRef<uint8_t> contribution);
  llvm::Expected<std::vector<Payload>> gatherAsLeaf(llvm::ArrayRef<uint8_t> contribution);
  llvm::Error breakWith(llvm::Error error);
  llvm::Error send(const Socket &to, MessageKind kind, llvm::ArrayRef<uint8_t> payload,
                   Deadline limit) const;

  RendezvousOptions options;
  /// Of the root one per rank, its own empty; of a leaf only [0], the root.
  std::vector<Socket> peers;
  uint32_t round = 0;
  std::string broken; ///< why nothing works any more
};

} // namespace mono::ipc

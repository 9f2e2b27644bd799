// Unix stream sockets between processes of one user, with a deadline on everything.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

struct sockaddr_un;

namespace mono::ipc {

using Deadline = std::chrono::steady_clock::time_point;

/// The other end is gone.
class HasLeft : public llvm::ErrorInfo<HasLeft> {
public:
  static char ID;
  void log(llvm::raw_ostream &out) const override { out << "it has left"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// A connected or listening socket; closes itself. Moves only.
class Socket {
public:
  Socket() = default;
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket();
  explicit operator bool() const { return descriptor >= 0; }

  /// Listens at `path`, which only this user may connect to. A socket that a dead process left
  /// there is replaced; anything else that is there is an error.
  static llvm::Expected<Socket> listenAt(llvm::StringRef path);
  /// Connects to `path`; until the deadline, waits for somebody to listen there.
  static llvm::Expected<Socket> connectTo(llvm::StringRef path, Deadline deadline);
  /// The next connection; error when its other end is another user's.
  llvm::Expected<Socket> accept(Deadline deadline) const;

  /// Sends or receives all the bytes, or fails: at the deadline, or (HasLeft) when the other end is
  /// gone.
  llvm::Error send(llvm::ArrayRef<uint8_t> bytes, Deadline deadline) const;
  llvm::Error receive(llvm::MutableArrayRef<uint8_t> bytes, Deadline deadline) const;

private:
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  static llvm::Expected<Socket> open();
  static llvm::Error removeStale(llvm::StringRef path, const sockaddr_un &address);
  llvm::Error checkPeer() const;
  llvm::Error wait(short events, Deadline deadline) const;

  int descriptor = -1;
};

} // namespace mono::ipc

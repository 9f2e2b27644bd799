// Non-blocking sockets and poll().
#include "runtime/ipc/Socket.h"
#include "runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace std::chrono;

namespace mono::ipc {

/// How often a process asks whether its peer listens yet.
static constexpr milliseconds retryInterval{5};

char HasLeft::ID;

static Error systemError(StringRef what) {
  int code = errno;
  return makeError("{}: {}", what, std::strerror(code));
}

static Expected<sockaddr_un> makeAddress(StringRef path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return makeError("expected a socket path of 1 to {} bytes, but got {}",
                     sizeof address.sun_path - 1, path.size());
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

static const sockaddr *generic(const sockaddr_un &address) {
  return reinterpret_cast<const sockaddr *>(&address);
}

Socket::~Socket() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Expected<Socket> Socket::open() {
  int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0)
    return systemError("socket");
  return Socket(descriptor);
}

// ---- listening ---------------------------------------------------------------------------------

/// Removes a socket nobody listens at any more. Does not wait: where the queue of connections is
/// full, somebody listens.
Error Socket::removeStale(StringRef path, const sockaddr_un &address) {
  struct stat facts = {};
  if (::lstat(address.sun_path, &facts) != 0 || !S_ISSOCK(facts.st_mode))
    return makeError("{}: there is something that is no socket", path);
  Expected<Socket> probe = open();
  if (!probe)
    return probe.takeError();
  if (::connect(probe->descriptor, generic(address), sizeof address) == 0 || errno != ECONNREFUSED)
    return makeError("{}: another group is meeting there", path);
  return ::unlink(address.sun_path) == 0 ? Error::success() : systemError(path);
}

Expected<Socket> Socket::listenAt(StringRef path) {
  Expected<sockaddr_un> address = makeAddress(path);
  if (!address)
    return address.takeError();
  Expected<Socket> socket = open();
  if (!socket)
    return socket.takeError();
  int fd = socket->descriptor;
  if (::bind(fd, generic(*address), sizeof *address) != 0) {
    if (errno != EADDRINUSE)
      return systemError(path);
    if (Error error = removeStale(path, *address))
      return error;
    if (::bind(fd, generic(*address), sizeof *address) != 0)
      return systemError(path);
  }
  // Nobody can connect before listen(), so there is no moment with wider permissions.
  if (::chmod(address->sun_path, S_IRUSR | S_IWUSR) != 0 || ::listen(fd, SOMAXCONN) != 0)
    return systemError(path);
  return socket;
}

Error Socket::checkPeer() const {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return systemError("SO_PEERCRED");
  if (peer.uid != ::geteuid())
    return makeError("expected a process of user {}, but user {} is at the other end", ::geteuid(),
                     peer.uid);
  return Error::success();
}

Expected<Socket> Socket::accept(Deadline deadline) const {
  while (true) {
    if (Error error = wait(POLLIN, deadline))
      return error;
    Socket connection(::accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      if (Error error = connection.checkPeer())
        return error;
      return connection;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      return systemError("accept");
  }
}

// ---- connecting --------------------------------------------------------------------------------

Expected<Socket> Socket::connectTo(StringRef path, Deadline deadline) {
  Expected<sockaddr_un> address = makeAddress(path);
  if (!address)
    return address.takeError();
  while (true) {
    Expected<Socket> socket = open();
    if (!socket)
      return socket.takeError();
    if (::connect(socket->descriptor, generic(*address), sizeof *address) == 0) {
      if (Error error = socket->checkPeer())
        return error;
      return socket;
    }
    // Not there yet, not listening yet, or its queue is full.
    if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
      return systemError(path);
    if (steady_clock::now() >= deadline)
      return makeError("{}: timed out waiting for rank 0 to listen there", path);
    std::this_thread::sleep_for(retryInterval);
  }
}

// ---- transfer ----------------------------------------------------------------------------------

Error Socket::wait(short events, Deadline deadline) const {
  while (true) {
    auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
    pollfd entry = {descriptor, events, 0};
    int ready = ::poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (ready > 0)
      return Error::success();
    if (ready < 0 && errno != EINTR)
      return systemError("poll");
    if (steady_clock::now() >= deadline)
      return makeError("timed out");
  }
}

Error Socket::send(ArrayRef<uint8_t> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    ssize_t done = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done > 0)
      bytes = bytes.drop_front(done);
    else if (errno == EAGAIN || errno == EINTR) {
      if (Error error = wait(POLLOUT, deadline))
        return error;
    } else
      return errno == EPIPE || errno == ECONNRESET ? make_error<HasLeft>() : systemError("send");
  }
  return Error::success();
}

Error Socket::receive(MutableArrayRef<uint8_t> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    ssize_t done = ::recv(descriptor, bytes.data(), bytes.size(), 0);
    if (done > 0)
      bytes = bytes.drop_front(done);
    else if (done == 0 || errno == ECONNRESET)
      return make_error<HasLeft>();
    else if (errno == EAGAIN || errno == EINTR) {
      if (Error error = wait(POLLIN, deadline))
        return error;
    } else
      return systemError("recv");
  }
  return Error::success();
}

} // namespace mono::ipc

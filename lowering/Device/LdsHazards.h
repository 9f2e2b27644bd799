// Which LDS accesses and receives since the last barrier another wavefront could still be at:
// decides where a barrier is needed, and that there is none elsewhere.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mono {

class LdsHazards {
public:
  /// True if a barrier must come before an access to these bytes.
  bool conflicts(int64_t offset, int64_t bytes, bool write) const {
    for (const Pending &p : pending)
      if ((write || p.write) && offset < p.offset + p.bytes && p.offset < offset + bytes)
        return true;
    return false;
  }

  void record(int64_t offset, int64_t bytes, bool write) {
    Pending access{offset, bytes, write};
    if (!llvm::is_contained(pending, access))
      pending.push_back(access);
  }

  /// True if a receive has been emitted since the last barrier.
  bool waiting() const { return anyReceive; }

  void recordReceive() { anyReceive = true; }

  void barrier() {
    pending.clear();
    anyReceive = false;
  }

  /// After code that may or may not have run (a stage this workgroup has no task of): its barriers
  /// do not count, its accesses do.
  void mergeSkipped(const LdsHazards &before) {
    for (const Pending &p : before.pending)
      record(p.offset, p.bytes, p.write);
    anyReceive |= before.anyReceive;
  }

private:
  struct Pending {
    int64_t offset, bytes;
    bool write;
    bool operator==(const Pending &other) const = default;
  };
  llvm::SmallVector<Pending> pending;
  bool anyReceive = false;
};

} // namespace mono

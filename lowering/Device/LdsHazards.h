// Which LDS accesses since the last barrier another wavefront could still be at: decides where a
// barrier is needed, and that there is none elsewhere.
#pragma once

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
    pending.push_back({offset, bytes, write});
  }

  void barrier() { pending.clear(); }

  /// After code that may or may not have run (a stage this workgroup has no task of): its barriers
  /// do not count, its accesses do.
  void mergeSkipped(const LdsHazards &before) {
    pending.append(before.pending.begin(), before.pending.end());
  }

private:
  struct Pending {
    int64_t offset, bytes;
    bool write;
  };
  llvm::SmallVector<Pending> pending;
};

} // namespace mono

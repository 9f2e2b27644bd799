// Which LDS accesses and receives since the last barrier another wavefront could still be at:
// decides where a barrier is needed, and that there is none elsewhere.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mono {

/// Bytes of LDS.
struct LdsRange {
  int64_t offset, bytes;

  bool overlaps(LdsRange other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
  bool operator==(const LdsRange &other) const = default;
};

class LdsHazards {
public:
  struct Access {
    LdsRange range;
    bool write;
    bool operator==(const Access &other) const = default;
  };

  /// True if a barrier must come before this access.
  bool conflicts(Access access) const {
    return llvm::any_of(pending, [&](const Access &earlier) {
      return (access.write || earlier.write) && access.range.overlaps(earlier.range);
    });
  }

  void record(Access access) {
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

  /// Adds what is pending on another way to this point: around code that may not have run (a stage
  /// this workgroup has no task of), whose barriers do not count and whose accesses do, or from the
  /// end of a loop to its start. Returns whether that was news.
  bool merge(const LdsHazards &other) {
    size_t before = pending.size();
    bool newReceive = other.anyReceive && !anyReceive;
    for (const Access &access : other.pending)
      record(access);
    anyReceive |= other.anyReceive;
    return newReceive || pending.size() > before;
  }

private:
  llvm::SmallVector<Access> pending;
  bool anyReceive = false;
};

} // namespace mono

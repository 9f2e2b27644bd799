// Who owns which elements of a memory: the common tool of the checks on posts and stores.
#pragma once

#include "lowering/Check/Boxes.h"

namespace mono {

/// Elements of one memory with the executions that fill them. Filled with add(), sealed once, then
/// asked.
class Cover {
public:
  void add(const Execution &owner);

  /// Two owners of one element.
  struct Clash {
    Execution earlier, later; ///< in the order they were added
    int64_t element;
  };
  /// Ends the filling. The clash of the first owner that claims what another has, if any; without
  /// one the questions below can be asked.
  std::optional<Clash> seal();

  /// The first element of [first, end) that nobody owns.
  std::optional<int64_t> firstGap(int64_t first, int64_t end) const;

  /// Visits the owners of [first, end) in rising order of what they own, as index among the added
  /// and first element of the range that is theirs.
  void forEachOwner(int64_t first, int64_t end,
                    llvm::function_ref<void(int64_t index, int64_t element)> visit) const;

  llvm::ArrayRef<Execution> owners() const { return added; }

private:
  struct Run {
    int64_t first, end;
    int64_t owner; ///< index into `added`
  };
  /// The first run that ends after `element`.
  std::vector<Run>::const_iterator find(int64_t element) const;

  std::vector<Execution> added;
  std::vector<Run> runs; ///< sorted and disjoint once sealed
};

} // namespace mono

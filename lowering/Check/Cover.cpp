// Sorted runs of owned elements.
#include "lowering/Check/Cover.h"

using namespace mlir;

namespace mono {

void Cover::add(const Execution &owner) {
  int64_t index = added.size();
  added.push_back(owner);
  owner.forEachRun([&](int64_t first, int64_t end) { runs.push_back({first, end, index}); });
}

std::optional<Cover::Clash> Cover::seal() {
  llvm::sort(runs, [](const Run &a, const Run &b) {
    return std::tuple(a.first, a.owner) < std::tuple(b.first, b.owner);
  });
  std::optional<Clash> result;
  int64_t resultOwner = added.size();
  // `widest` reaches furthest among the runs so far: whoever meets any of them meets it.
  for (size_t i = 1, widest = 0; i < runs.size(); ++i) {
    auto [low, high] = std::minmax(runs[widest].owner, runs[i].owner);
    if (runs[i].first < runs[widest].end && high < resultOwner) {
      resultOwner = high;
      result = Clash{added[low], added[high], runs[i].first};
    }
    if (runs[i].end > runs[widest].end)
      widest = i;
  }
  return result;
}

std::vector<Cover::Run>::const_iterator Cover::find(int64_t element) const {
  return llvm::partition_point(runs, [&](const Run &run) { return run.end <= element; });
}

std::optional<int64_t> Cover::firstGap(int64_t first, int64_t end) const {
  for (auto run = find(first); first < end; first = run->end, ++run)
    if (run == runs.end() || run->first > first)
      return first;
  return std::nullopt;
}

void Cover::forEachOwner(int64_t first, int64_t end,
                         function_ref<void(int64_t, int64_t)> visit) const {
  for (auto run = find(first); run != runs.end() && run->first < end; ++run)
    visit(run->owner, std::max(first, run->first));
}

} // namespace mono

// Pairing of tensors, measures and the table.
#include "models/tools/TensorDiff.h"
#include "models/tools/Elements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

using namespace llvm;

namespace mono::tools {

std::string posterKey(StringRef mailbox) { return "posted_by." + mailbox.str(); }

/// Takes one pair of elements with different bits into account.
static void note(TensorDiff &diff, DType dtype, const uint8_t *a, const uint8_t *b) {
  double x = elementValue(dtype, a), y = elementValue(dtype, b);
  if (std::isnan(x) && std::isnan(y))
    return;
  double distance = std::abs(x - y);
  bool isFinite = std::isfinite(distance);
  double larger = std::max(std::abs(x), std::abs(y));
  diff.maxAbs = std::max(diff.maxAbs, isFinite ? distance : HUGE_VAL);
  diff.maxRel = std::max(diff.maxRel, !isFinite ? HUGE_VAL : larger > 0 ? distance / larger : 0);
  if (isFloat(dtype) && !std::isnan(x) && !std::isnan(y)) {
    int64_t from = floatOrder(dtype, a), to = floatOrder(dtype, b);
    diff.maxUlp = std::max(diff.maxUlp, from > to ? uint64_t(from) - uint64_t(to)
                                                  : uint64_t(to) - uint64_t(from));
  }
}

TensorDiff diffTensors(const TensorView &a, const TensorView &b) {
  unsigned bytes = dtypeBytes(a.dtype);
  TensorDiff diff{.elements = a.data.size() / bytes};
  if (a.data == b.data)
    return diff;
  for (uint64_t n = 0; n < diff.elements; ++n) {
    const uint8_t *x = &a.data[n * bytes], *y = &b.data[n * bytes];
    if (std::memcmp(x, y, bytes) == 0)
      continue;
    if (diff.differing++ == 0)
      diff.first = n;
    note(diff, a.dtype, x, y);
  }
  return diff;
}

namespace {

/// A tensor of either file or of both.
struct Pair {
  std::string name;
  const TensorView *a, *b; ///< null where there is none
  size_t number = 0;       ///< in the order of the files
  std::optional<unsigned> stage = std::nullopt;
  std::string stageName = {};

  /// In the table: mailboxes by stage, then the others.
  auto place() const { return std::tuple(!stage, stage.value_or(0), number); }
};

constexpr StringLiteral mailboxPart = "mailbox/";

/// "rank3/x" as "rank3/" and "x"; a name without a rank as "" and itself.
std::pair<StringRef, StringRef> splitRank(StringRef name) {
  StringRef rest = name;
  unsigned rank = 0;
  if (rest.consume_front("rank") && !rest.consumeInteger(10, rank) && rest.consume_front("/"))
    return {name.drop_back(rest.size()), rest};
  return {"", name};
}

/// The tensor of that name, or the one that serves all ranks.
const TensorView *findFor(const SafetensorsFile &file, StringRef name) {
  const TensorView *found = file.find(name);
  return found ? found : file.find(splitRank(name).second);
}

class FileDiff {
public:
  FileDiff(raw_ostream &out, const SafetensorsFile &a, const SafetensorsFile &b,
           const DiffOptions &options)
      : out(out), a(a), b(b), options(options) {}

  bool run() {
    printMetadata();
    std::vector<Pair> pairs = pairTensors();
    for (const Pair &pair : pairs)
      compare(pair);
    printEnd(pairs);
    return differing == 0;
  }

private:
  /// Parameters and schedules that are not the same in both; they may explain the rest.
  void printMetadata() {
    std::set<std::string> keys;
    for (const SafetensorsFile *file : {&a, &b})
      for (const auto &[key, value] : file->metadata())
        if (key == "schedule" || StringRef(key).starts_with("param."))
          keys.insert(key);
    auto text = [](const SafetensorsFile &file, const std::string &key) {
      auto found = file.metadata().find(key);
      return found == file.metadata().end() ? std::string("not given") : found->second;
    };
    for (const std::string &key : keys)
      if (text(a, key) != text(b, key))
        out << fmt::format("{}: {} in A, {} in B\n", key, text(a, key), text(b, key));
  }

  /// Where a file says that mailboxes come from.
  void readPoster(const SafetensorsFile &file, Pair &pair) const {
    StringRef name = splitRank(pair.name).second;
    if (!name.consume_front(mailboxPart))
      return;
    auto found = file.metadata().find(posterKey(name));
    if (found == file.metadata().end())
      return;
    StringRef text = found->second;
    unsigned number = 0;
    if (text.consumeInteger(10, number))
      return;
    pair.stage = number;
    pair.stageName = text.ltrim().str();
  }

  /// Names of `from`; those for all ranks are left out where the other file has them by rank.
  void addNames(const SafetensorsFile &from, const SafetensorsFile &other,
                std::set<std::string> &seen, std::vector<Pair> &pairs) const {
    StringSet<> byRank;
    for (const TensorView &view : other.tensors())
      if (auto [rank, name] = splitRank(view.name); !rank.empty())
        byRank.insert(name);
    for (const TensorView &view : from.tensors()) {
      if (byRank.contains(view.name) || !seen.insert(view.name).second)
        continue;
      Pair pair{view.name, findFor(a, view.name), findFor(b, view.name), pairs.size()};
      readPoster(b, pair);
      readPoster(a, pair);
      pairs.push_back(std::move(pair));
    }
  }

  std::vector<Pair> pairTensors() const {
    std::vector<Pair> pairs;
    std::set<std::string> seen;
    addNames(a, b, seen, pairs);
    addNames(b, a, seen, pairs);
    llvm::sort(pairs, [](const Pair &x, const Pair &y) { return x.place() < y.place(); });
    return pairs;
  }

  void printHead() {
    if (!std::exchange(headPrinted, true))
      out << fmt::format("{:<28} {:<24} {:>20} {:>18} {:>12} {:>12} {:>9} {:>9} {:>9}\n", "tensor",
                         "type", "differing", "first at", "A", "B", "max abs", "max rel",
                         "max ulp");
  }

  void differs(const Pair &pair) {
    ++differing;
    if (!first)
      first = pair;
  }

  void compare(const Pair &pair) {
    if (!pair.a || !pair.b) {
      out << fmt::format("{:<28} only in {}: {}\n", pair.name, pair.a ? "A" : "B",
                         (pair.a ? pair.a : pair.b)->describe());
      return differs(pair);
    }
    if (pair.a->dtype != pair.b->dtype || pair.a->shape != pair.b->shape) {
      out << fmt::format("{:<28} {} in A, but {} in B\n", pair.name, pair.a->describe(),
                         pair.b->describe());
      return differs(pair);
    }
    TensorDiff diff = diffTensors(*pair.a, *pair.b);
    if (diff.differing)
      differs(pair);
    if (diff.differing || options.all)
      printLine(pair, diff);
  }

  void printLine(const Pair &pair, const TensorDiff &diff) {
    printHead();
    std::string line = fmt::format("{:<28} {:<24} {:>20}", pair.name, pair.a->describe(),
                                   fmt::format("{} of {}", diff.differing, diff.elements));
    if (diff.differing) {
      DType dtype = pair.a->dtype;
      size_t at = diff.first * dtypeBytes(dtype);
      line += fmt::format(" {:>18} {:>12} {:>12} {:>9.2e} {:>9.2e} {:>9}",
                          formatIndex(pair.a->shape, diff.first),
                          formatElement(dtype, &pair.a->data[at]),
                          formatElement(dtype, &pair.b->data[at]), diff.maxAbs, diff.maxRel,
                          isFloat(dtype) ? std::to_string(diff.maxUlp) : std::string("-"));
    }
    out << line << '\n';
  }

  void printEnd(ArrayRef<Pair> pairs) {
    out << fmt::format("{} of {} tensors differ\n", differing, pairs.size());
    if (first && first->stage)
      out << fmt::format("the first stage whose mailbox differs is '{}' ({})\n", first->stageName,
                         first->name);
    else if (first && any_of(pairs, [](const Pair &pair) { return pair.stage.has_value(); }))
      out << "no mailbox differs\n";
    else if (first)
      out << "no mailboxes to tell the stage by: monorun --outputs=F --mailboxes=all writes them\n";
  }

  raw_ostream &out;
  const SafetensorsFile &a, &b;
  const DiffOptions &options;
  bool headPrinted = false;
  size_t differing = 0;
  std::optional<Pair> first;
};

} // namespace

bool diffFiles(raw_ostream &out, const SafetensorsFile &a, const SafetensorsFile &b,
               const DiffOptions &options) {
  return FileDiff(out, a, b, options).run();
}

} // namespace mono::tools

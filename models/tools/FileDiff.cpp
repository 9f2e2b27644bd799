// Pairing of tensors, the table and the verdict.
#include "models/tools/FileDiff.h"
#include "models/tools/Elements.h"
#include "models/tools/TensorDiff.h"
#include "models/tools/TensorName.h"
#include "runtime/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <set>
#include <tuple>

using namespace llvm;

namespace mono::tools {

std::string posterKey(StringRef mailbox) { return "posted_by." + mailbox.str(); }

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
  bool isInBoth() const { return a && b; }
  bool hasOneType() const { return a->dtype == b->dtype; }
  /// "BF16 [4, 6144]", or "BF16, F64 [4, 6144]" of comparable ones.
  std::string type() const {
    if (!isInBoth() || hasOneType())
      return (a ? a : b)->describe();
    return fmt::format("{}, {}", dtypeName(a->dtype), b->describe());
  }
};

constexpr StringLiteral mailboxPart = "mailbox/";

/// The tensor of that name, or the one that serves all ranks.
const TensorView *findFor(const SafetensorsFile &file, StringRef name) {
  const TensorView *found = file.find(name);
  return found ? found : file.find(TensorName::parse(name).name);
}

/// The names in either file or in both, in the order of the table.
class Pairing {
public:
  static std::vector<Pair> of(const SafetensorsFile &a, const SafetensorsFile &b) {
    Pairing pairing(a, b);
    pairing.addNames(a, b);
    pairing.addNames(b, a);
    llvm::sort(pairing.pairs, [](const Pair &x, const Pair &y) { return x.place() < y.place(); });
    return std::move(pairing.pairs);
  }

private:
  Pairing(const SafetensorsFile &a, const SafetensorsFile &b) : a(a), b(b) {}

  /// Where a file says that mailboxes come from.
  static void readPoster(const SafetensorsFile &file, Pair &pair) {
    StringRef name = TensorName::parse(pair.name).name;
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

  /// Names of `from`; those for all ranks are left out where the other file has them by rank only.
  void addNames(const SafetensorsFile &from, const SafetensorsFile &other) {
    StringSet<> byRank;
    for (const TensorView &view : other.tensors())
      if (auto [name, rank] = TensorName::parse(view.name); rank)
        byRank.insert(name);
    for (const TensorView &view : from.tensors()) {
      bool onlyByRank = byRank.contains(view.name) && !other.find(view.name);
      if (onlyByRank || !seen.insert(view.name).second)
        continue;
      Pair pair{view.name, findFor(a, view.name), findFor(b, view.name), pairs.size()};
      readPoster(b, pair);
      readPoster(a, pair);
      pairs.push_back(std::move(pair));
    }
  }

  const SafetensorsFile &a, &b;
  std::set<std::string> seen;
  std::vector<Pair> pairs;
};

class FileDiff {
public:
  FileDiff(raw_ostream &out, const SafetensorsFile &a, const SafetensorsFile &b,
           const DiffOptions &options)
      : out(out), a(a), b(b), options(options), pairs(Pairing::of(a, b)) {
    for (const Pair &pair : pairs) {
      nameWidth = std::max(nameWidth, pair.name.size());
      typeWidth = std::max(typeWidth, pair.type().size());
    }
  }

  Expected<bool> run() {
    if (none_of(pairs, [](const Pair &pair) { return pair.isInBoth(); }))
      return makeError("no tensor of A is in B, too: nothing to compare");
    printMetadata();
    for (const Pair &pair : pairs)
      compare(pair);
    printEnd();
    return differing == 0 && (options.common || onlyInA + onlyInB == 0);
  }

private:
  /// Parameters and schedules that are not the same in both; they may explain the rest. A file that
  /// names none was not written by monorun.
  void printMetadata() {
    auto keysOf = [](const SafetensorsFile &file) {
      std::set<std::string> keys;
      for (const auto &[key, value] : file.metadata())
        if (key == "schedule" || StringRef(key).starts_with("param."))
          keys.insert(key);
      return keys;
    };
    std::set<std::string> keys = keysOf(a), keysOfB = keysOf(b);
    if (keys.empty() || keysOfB.empty())
      return;
    keys.merge(keysOfB);
    auto text = [](const SafetensorsFile &file, const std::string &key) {
      auto found = file.metadata().find(key);
      return found == file.metadata().end() ? std::string("not given") : found->second;
    };
    for (const std::string &key : keys)
      if (text(a, key) != text(b, key))
        out << fmt::format("{}: {} in A, {} in B\n", key, text(a, key), text(b, key));
  }

  void printHead() {
    if (!std::exchange(headPrinted, true))
      out << fmt::format("{:<{}} {:<{}} {:>20} {:>18} {:>12} {:>12} {:>9} {:>9} {:>9} {:>9}{}\n",
                         "tensor", nameWidth, "type", typeWidth, "differing", "first at", "A", "B",
                         "max abs", "max rel", "max ulp", "row L2", options.bar ? "  verdict" : "");
  }

  void differs(const Pair &pair) {
    ++differing;
    if (!first)
      first = &pair;
  }

  void compare(const Pair &pair) {
    if (!pair.isInBoth())
      return noteOnlyInOne(pair);
    if (!areComparable(*pair.a, *pair.b)) {
      out << fmt::format("{:<{}} {} in A, but {} in B\n", pair.name, nameWidth, pair.a->describe(),
                         pair.b->describe());
      return differs(pair);
    }
    TensorDiff diff = diffTensors(*pair.a, *pair.b);
    bool good = isGood(pair, diff);
    if (!good)
      differs(pair);
    if (!good || options.all || options.bar)
      printLine(pair, diff, good);
  }

  void noteOnlyInOne(const Pair &pair) {
    ++(pair.a ? onlyInA : onlyInB);
    if (!options.common)
      out << fmt::format("{:<{}} only in {}: {}\n", pair.name, nameWidth, pair.a ? "A" : "B",
                         pair.type());
  }

  bool isGood(const Pair &pair, const TensorDiff &diff) const {
    if (options.bar && isFloat(pair.a->dtype))
      return diff.maxRowL2 <= *options.bar;
    return diff.differing == 0 && (options.bar || pair.hasOneType());
  }

  void printLine(const Pair &pair, const TensorDiff &diff, bool good) {
    printHead();
    auto element = [&](const TensorView &view) {
      return diff.differing
                 ? formatElement(view.dtype, &view.data[diff.first * dtypeBytes(view.dtype)])
                 : std::string("-");
    };
    bool hasUlps = pair.hasOneType() && isFloat(pair.a->dtype);
    out << fmt::format("{:<{}} {:<{}} {:>20} {:>18} {:>12} {:>12} {:>9.2e} {:>9.2e} {:>9} {:>9.2e}",
                       pair.name, nameWidth, pair.type(), typeWidth,
                       fmt::format("{} of {}", diff.differing, diff.elements),
                       diff.differing ? formatIndex(pair.a->shape, diff.first) : std::string("-"),
                       element(*pair.a), element(*pair.b), diff.maxAbs, diff.maxRel,
                       hasUlps ? std::to_string(diff.maxUlp) : std::string("-"), diff.maxRowL2);
    if (options.bar)
      out << (good ? "  good" : "  bad");
    out << '\n';
  }

  void printEnd() {
    size_t compared = pairs.size() - onlyInA - onlyInB;
    out << fmt::format("{} of {} tensors {}", differing, compared,
                       options.bar ? fmt::format("are beyond the bar of {:.1e}", *options.bar)
                                   : std::string("differ"));
    for (auto [count, file] : {std::pair(onlyInA, "A"), std::pair(onlyInB, "B")})
      if (count)
        out << fmt::format(", {} only in {}", count, file);
    out << '\n';
    if (first)
      printFirst();
  }

  /// The stage where what differs begins.
  void printFirst() {
    const char *how = options.bar ? "is beyond the bar" : "differs";
    if (first->stage)
      out << fmt::format("the first stage whose mailbox {} is '{}' ({})\n", how, first->stageName,
                         first->name);
    else if (any_of(pairs, [](const Pair &pair) { return pair.stage && pair.isInBoth(); }))
      out << fmt::format("no mailbox {}\n", how);
    else
      out << "no mailboxes in both to tell the stage by: monorun --outputs=F --mailboxes=all "
             "writes them\n";
  }

  raw_ostream &out;
  const SafetensorsFile &a, &b;
  const DiffOptions &options;
  std::vector<Pair> pairs;
  size_t nameWidth = 28, typeWidth = 24;
  bool headPrinted = false;
  size_t differing = 0, onlyInA = 0, onlyInB = 0;
  const Pair *first = nullptr; ///< of those that differ
};

} // namespace

Expected<bool> diffFiles(raw_ostream &out, const SafetensorsFile &a, const SafetensorsFile &b,
                         const DiffOptions &options) {
  return FileDiff(out, a, b, options).run();
}

} // namespace mono::tools

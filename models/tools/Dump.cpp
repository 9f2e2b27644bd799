// Finding, reading and showing of mailboxes and regions.
#include "models/tools/Dump.h"
#include "lowering/Nearest.h"
#include "models/tools/Elements.h"
#include "models/tools/TensorFiles.h"
#include "models/tools/TraceFile.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace llvm;

namespace mono::tools {

/// One tensor to show.
struct Dump::Item {
  std::string name;    ///< in files
  std::string heading; ///< for people
  DType dtype = DType::U8;
  Shape shape;
  std::vector<uint8_t> bytes;
  std::vector<bool> known; ///< by element; the others were never posted or written

  /// What else the file says of it.
  std::string moreName;
  DType moreDtype = DType::Bool;
  Shape moreShape;
  std::vector<uint8_t> moreBytes;
};

// ---- finding

static Error checkSize(const Mailbox &mailbox) {
  constexpr uint64_t mostBytes = 64 << 20;
  if (mailbox.slotBytes() <= mostBytes)
    return Error::success();
  return makeError("mailbox '{}': expected at most {} bytes per slot for --dump, but got {}",
                   mailbox.name, mostBytes, mailbox.slotBytes());
}

/// Regions are known only of code objects that say which task begins; of a schedule one is made if
/// the run has to stop somewhere.
static Error noSuchName(StringRef name, const RunOptions &options, const Manifest &manifest) {
  if (options.wantsMarkers())
    if (Error error = checkMarkers(manifest))
      return error;
  std::vector<StringRef> names;
  for (const Mailbox &mailbox : manifest.mailboxes)
    names.push_back(mailbox.name);
  for (const Region &region : manifest.regions)
    names.push_back(region.name);
  std::string known = nearestHint(name, names) + "; it has ";
  known += names.empty() ? "none" : join(names, ", ");
  if (options.wantsMarkers())
    return makeError("kernel '{}' has no mailbox or region '{}'{}", manifest.kernel, name, known);
  return makeError("kernel '{}' has no mailbox '{}'{}; a region is shown behind a task: expected "
                   "--dump={}@STAGE:TASK for one",
                   manifest.kernel, name, known, name);
}

/// The region matters in the stage.
static Error checkLife(const Region &region, const Manifest &manifest, StringRef place) {
  StringRef stage = place.rsplit(':').first;
  StringRef first = manifest.stages[region.firstStage].name;
  StringRef last = manifest.stages[region.lastStage].name;
  auto number = unsigned(find_if(manifest.stages, [&](const Stage &s) { return s.name == stage; }) -
                         manifest.stages.begin());
  if (region.firstStage <= number && number <= region.lastStage)
    return Error::success();
  return makeError("region '{}' is used from stage '{}' to stage '{}': in stage '{}' its bytes may "
                   "be another's",
                   region.name, first, last, stage);
}

Expected<Dump> Dump::plan(const RunOptions &options, const Manifest &manifest) {
  Dump dump;
  dump.rank = options.rank;
  dump.file = options.dumpFile;
  if (options.rank && *options.rank >= manifest.ranks)
    return makeError("--rank: expected a rank below {}, but got {}", manifest.ranks, *options.rank);
  for (const DumpName &wanted : options.dump) {
    auto isNamed = [&](const auto &item) { return item.name == wanted.name; };
    if (auto mailbox = find_if(manifest.mailboxes, isNamed); mailbox != manifest.mailboxes.end()) {
      if (!wanted.place.empty())
        return makeError(
            "mailbox '{}' is shown at the end of the run: expected --dump={} without a "
            "place",
            wanted.name, wanted.name);
      if (Error error = checkSize(*mailbox))
        return error;
      dump.mailboxes.push_back(*mailbox);
      continue;
    }
    auto region = find_if(manifest.regions, isNamed);
    if (region == manifest.regions.end())
      return noSuchName(wanted.name, options, manifest);
    StringRef where = wanted.place.empty() ? options.breakAt : wanted.place;
    if (where.empty())
      return makeError(
          "region '{}': expected where to stop for it, --dump={}@STAGE:TASK or --break",
          wanted.name, wanted.name);
    Expected<uint32_t> marker = markerOf(where, manifest);
    if (!marker)
      return marker.takeError();
    if (Error error = checkLife(*region, manifest, where))
      return error;
    dump.regions.push_back(*region);
    dump.marker = *marker;
    if (!wanted.place.empty())
      dump.place = wanted.place;
  }
  return dump;
}

std::optional<emu::Trace::Stop> Dump::stop() const {
  if (place.empty())
    return std::nullopt;
  return emu::Trace::Stop{marker, rank.value_or(0), /*behind=*/true};
}

// ---- reading

static std::string describe(const TensorType &type) {
  return fmt::format("{} {}", elementName(type.element), formatShape(type.shape));
}

/// "all of launch 2", "12 words of launch 2, 4 of none".
static std::string describeTags(ArrayRef<uint32_t> tags) {
  std::map<uint32_t, size_t> counts;
  for (uint32_t tag : tags)
    ++counts[tag];
  auto launch = [](uint32_t tag) { return tag ? fmt::format("launch {}", tag) : "none"; };
  if (counts.size() == 1)
    return fmt::format("all of {}", launch(counts.begin()->first));
  constexpr size_t mostListed = 4;
  std::string text;
  size_t listed = 0;
  for (auto [tag, count] : reverse(counts)) {
    if (++listed > mostListed)
      return text + " and others";
    text += fmt::format("{}{}{} of {}", text.empty() ? "" : ", ", count,
                        text.empty() ? " words" : "", launch(tag));
  }
  return text;
}

Error Dump::addMailbox(Group &group, unsigned rank, const Mailbox &mailbox,
                       std::vector<Item> &items) const {
  for (unsigned number = 0; number < mailbox.slots; ++number) {
    auto slot = group.readSlot(rank, mailbox.name, number);
    if (!slot)
      return slot.takeError();
    Item item;
    item.name = fmt::format("rank{}/mailbox/{}/slot{}", rank, mailbox.name, number);
    item.heading =
        fmt::format("mailbox '{}' of rank {}, slot {} of {}: {}, {}", mailbox.name, rank, number,
                    mailbox.slots, describe(mailbox.type), describeTags(slot->tags));
    item.dtype = dtypeOf(mailbox.type.element);
    item.shape = fileShapeOf(mailbox.type);
    item.bytes = std::move(slot->payload);
    unsigned perWord = 4 / dtypeBytes(item.dtype);
    for (size_t n = 0; n < item.bytes.size() / dtypeBytes(item.dtype); ++n)
      item.known.push_back(slot->tags[n / perWord] != 0);
    item.moreName = item.name + "/launch";
    item.moreDtype = DType::U32;
    item.moreShape = {int64_t(slot->tags.size())};
    ArrayRef<uint8_t> tags(reinterpret_cast<const uint8_t *>(slot->tags.data()),
                           slot->tags.size() * sizeof(uint32_t));
    item.moreBytes = tags.vec();
    items.push_back(std::move(item));
  }
  return Error::success();
}

/// Whether a task of the workgroup that writes the region has run; what lies there otherwise is
/// another region's. True of old code objects, which do not say who writes.
bool Dump::hasWritten(const Region &region, const Manifest &manifest, uint64_t workgroup) const {
  unsigned stopStage = marker >> manifest.markerTaskBits;
  unsigned stopTask = marker & ((1u << manifest.markerTaskBits) - 1);
  auto hasRun = [&](int64_t number) {
    const Stage &stage = manifest.stages[number];
    uint64_t firstTask = (workgroup + manifest.ctas - stage.base % manifest.ctas) % manifest.ctas;
    if (number != stopStage)
      return number < stopStage && firstTask < stage.tasks;
    return place.empty() ? firstTask < stopTask : firstTask <= stopTask;
  };
  return region.writers.empty() || any_of(region.writers, hasRun);
}

Dump::Item Dump::regionItem(const Region &region, const Manifest &manifest,
                            const emu::Trace::Stopped &stopped) const {
  bool anyWritten = hasWritten(region, manifest, stopped.workgroup);
  Item item;
  item.name = fmt::format("rank{}/region/{}", stopped.rank, region.name);
  std::string when =
      place.empty() ? std::string("where it stopped") : fmt::format("behind task {}", place);
  item.heading = fmt::format("region '{}' of rank {}, workgroup {}, {}: {}, rows of {} bytes from "
                             "byte {} of LDS on{}",
                             region.name, stopped.rank, stopped.workgroup, when,
                             describe(region.type), region.rowBytes, region.offset,
                             anyWritten ? "" : "; this workgroup has not written it");
  item.dtype = dtypeOf(region.type.element);
  item.shape = fileShapeOf(region.type);
  unsigned elementBytes = dtypeBytes(item.dtype);
  for (uint64_t row = 0; row < region.rows(); ++row)
    for (uint64_t n = 0; n < region.payloadRowBytes(); n += elementBytes) {
      uint64_t at = region.offset + row * region.rowBytes + n;
      item.bytes.insert(item.bytes.end(), &stopped.lds[at], &stopped.lds[at] + elementBytes);
      bool written = anyWritten;
      for (unsigned byte = 0; byte < elementBytes; ++byte)
        written &= stopped.ldsWritten[at + byte];
      item.known.push_back(written);
    }
  item.moreName = item.name + "/written";
  item.moreShape = item.shape;
  item.moreBytes.assign(item.known.begin(), item.known.end());
  return item;
}

Expected<std::vector<Dump::Item>> Dump::collect(Group &group,
                                                const emu::Trace::Stopped *stopped) const {
  std::vector<Item> items;
  for (const Mailbox &mailbox : mailboxes)
    for (unsigned number = 0; number < group.ranks(); ++number)
      if (rank.value_or(number) == number)
        if (Error error = addMailbox(group, number, mailbox, items))
          return error;
  if (stopped)
    for (const Region &region : regions)
      items.push_back(regionItem(region, group.manifest(), *stopped));
  return items;
}

// ---- showing

Error Dump::write(raw_ostream &out, Group &group, const emu::Trace::Stopped *stopped) const {
  Expected<std::vector<Item>> items = collect(group, stopped);
  if (!items)
    return items.takeError();
  std::vector<TensorView> tensors;
  for (const Item &item : *items) {
    TensorView view{item.name, item.dtype, item.shape, item.bytes};
    tensors.push_back(view);
    tensors.push_back({item.moreName, item.moreDtype, item.moreShape, item.moreBytes});
    if (!file.empty())
      continue;
    out << item.heading << '\n';
    if (is_contained(item.known, true))
      printElements(out, view, [&](uint64_t n) { return item.known[n]; });
  }
  return file.empty() ? Error::success()
                      : writeSafetensors(file, tensors, metadataOf(group.manifest()));
}

} // namespace mono::tools

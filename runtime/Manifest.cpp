// Parsing and checking of manifest text. What concerns the ELF around it is in CodeObject.cpp.
#include "runtime/Manifest.h"

#include "runtime/Gfx950.h"
#include "runtime/Json.h"
#include "runtime/Watchdog.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

using namespace llvm;

namespace mono {

// Bounds of what any schedule can ask for: more than HBM holds, and 8 GPUs a node.
static constexpr int64_t maxBytes = int64_t(1) << 40;
static constexpr int64_t maxCtas = 1 << 20;
static constexpr int64_t maxThreads = gfx950::maxWorkgroupSize;
static constexpr int64_t maxRanks = 8;
static constexpr int64_t maxLdsBytes = gfx950::ldsBytes;
static constexpr size_t maxDimensions = 8;

/// Reads a string that must be one of `names` and sets `out` to the value at the same place.
template <typename T>
static void readEnum(JsonFields &fields, StringRef key, T &out,
                     std::initializer_list<std::pair<const char *, T>> names) {
  std::string text, legal;
  fields.string(key, text);
  if (fields.failed())
    return;
  for (auto [name, value] : names) {
    if (text == name) {
      out = value;
      return;
    }
    legal += fmt::format("{}{}", legal.empty() ? "" : ", ", name);
  }
  fields.fail(fmt::format("{}: expected one of {}, but got '{}'", key, legal, text));
}

static void readTensorType(JsonFields &fields, TensorType &type) {
  fields.integers("shape", type.shape, 1, maxBytes, maxDimensions);
  readEnum<ElementType>(fields, "element", type.element,
                        {{"bf16", ElementType::BF16},
                         {"f32", ElementType::F32},
                         {"i32", ElementType::I32},
                         {"f4E2M1FN", ElementType::FP4E2M1},
                         {"f8E8M0FNU", ElementType::E8M0},
                         {"f8E4M3FN", ElementType::FP8E4M3}});
}

static void checkType(JsonFields &fields, const TensorType &type) {
  if (fields.failed())
    return;
  if (Error error = type.check())
    fields.fail(toString(std::move(error)));
}

static Operand readOperand(JsonFields &fields) {
  Operand operand;
  uint64_t bytes = 0;
  std::string layout;
  fields.string("name", operand.name);
  readEnum<OperandAccess>(fields, "access", operand.access,
                          {{"read", OperandAccess::Read},
                           {"write", OperandAccess::Write},
                           {"update", OperandAccess::Update}});
  readEnum<Role>(fields, "role", operand.role,
                 {{"weight", Role::Weight}, {"activation", Role::Activation}});
  readTensorType(fields, operand.type);
  fields.string("layout", layout);
  fields.integer("bytes", bytes, 1, maxBytes);
  if (fields.failed())
    return operand;
  if (Expected<Layout> parsed = parseLayout(layout))
    operand.type.layout = *parsed;
  else
    fields.fail(toString(parsed.takeError()));
  checkType(fields, operand.type);
  if (!fields.failed() && bytes != operand.type.bytes())
    fields.fail(fmt::format("operand '{}': expected {} bytes ({}), but got {}", operand.name,
                            operand.type.bytes(), operand.type.describe(), bytes));
  return operand;
}

/// Bytes of all slots: a tagged mailbox has an 8-byte word for every 4 bytes of payload; a counted
/// one has plain data and, beside it, counters whose number is the compiler's business.
static void checkMailboxBytes(JsonFields &fields, const Mailbox &mailbox) {
  if (fields.failed())
    return;
  uint64_t payload = mailbox.type.bytes();
  if (mailbox.kind == MailboxKind::Counted) {
    if (mailbox.bytes < mailbox.slots * payload)
      fields.fail(fmt::format(
          "mailbox '{}': expected at least {} bytes ({} slots of {}), but got {}", mailbox.name,
          mailbox.slots * payload, mailbox.slots, mailbox.type.describe(), mailbox.bytes));
    return;
  }
  uint64_t expected = mailbox.slots * ((payload + 3) / 4 * 8);
  if (mailbox.bytes != expected)
    fields.fail(fmt::format("mailbox '{}': expected {} bytes ({} slots of tagged {}), but got {}",
                            mailbox.name, expected, mailbox.slots, mailbox.type.describe(),
                            mailbox.bytes));
}

static Mailbox readMailbox(JsonFields &fields) {
  Mailbox mailbox;
  fields.string("name", mailbox.name);
  readEnum<MailboxKind>(fields, "kind", mailbox.kind,
                        {{"tagged", MailboxKind::Tagged}, {"counted", MailboxKind::Counted}});
  readEnum<MailboxScope>(fields, "scope", mailbox.scope,
                         {{"device", MailboxScope::Device}, {"peers", MailboxScope::Peers}});
  fields.integer("slots", mailbox.slots, 1, 1024);
  readTensorType(fields, mailbox.type);
  fields.integer("offset", mailbox.offset, 0, maxBytes);
  fields.integer("bytes", mailbox.bytes, 1, maxBytes);
  if (!fields.failed() && mailbox.offset % 8 != 0)
    fields.fail(fmt::format("mailbox '{}': expected an offset that is a multiple of 8 bytes, but "
                            "got {}",
                            mailbox.name, mailbox.offset));
  checkType(fields, mailbox.type);
  checkMailboxBytes(fields, mailbox);
  return mailbox;
}

/// A region inside the LDS of the workgroup; the list of stages must have been read.
static Region readRegion(JsonFields &fields, const Manifest &manifest) {
  Region region;
  fields.string("name", region.name);
  readTensorType(fields, region.type);
  fields.integer("row_bytes", region.rowBytes, 1, maxLdsBytes);
  fields.integer("offset", region.offset, 0, maxLdsBytes);
  int64_t lastStage = int64_t(manifest.stages.size()) - 1;
  fields.integer("first_stage", region.firstStage, 0, lastStage);
  fields.integer("last_stage", region.lastStage, region.firstStage, lastStage);
  if (fields.has("written_by"))
    fields.integers("written_by", region.writers, region.firstStage, region.lastStage,
                    manifest.stages.size());
  checkType(fields, region.type);
  if (!fields.failed() && region.type.shape.empty())
    fields.fail(fmt::format("region '{}': expected a shape of at least 1 dimension, but got none",
                            region.name));
  if (fields.failed())
    return region;
  uint64_t row = region.payloadRowBytes();
  if (region.rowBytes < row)
    fields.fail(fmt::format("region '{}': expected rows of at least {} bytes ({}), but got {}",
                            region.name, row, region.type.describe(), region.rowBytes));
  uint64_t end = region.offset + (region.rows() - 1) * region.rowBytes + row;
  if (end > manifest.ldsBytes)
    fields.fail(fmt::format("region '{}' ends at byte {}, but a workgroup has {} bytes of LDS",
                            region.name, end, manifest.ldsBytes));
  return region;
}

/// Every mailbox of `scope` lies inside its memory, of peers inside a slot of it, and overlaps no
/// other.
static void checkMailboxMemory(JsonFields &fields, const Manifest &manifest, MailboxScope scope,
                               uint64_t memoryBytes, StringRef memoryName) {
  auto bytesOf = [&](const Mailbox &mailbox) {
    return scope == MailboxScope::Peers ? mailbox.slotBytes() : mailbox.bytes;
  };
  std::vector<const Mailbox *> boxes;
  for (const Mailbox &mailbox : manifest.mailboxes)
    if (mailbox.scope == scope)
      boxes.push_back(&mailbox);
  llvm::sort(boxes, [](const Mailbox *a, const Mailbox *b) { return a->offset < b->offset; });
  for (size_t i = 0; i < boxes.size(); ++i) {
    uint64_t end = boxes[i]->offset + bytesOf(*boxes[i]);
    if (end > memoryBytes)
      fields.fail(
          fmt::format("mailbox '{}' ends at byte {}, but the {} mailbox memory has {} bytes",
                      boxes[i]->name, end, memoryName, memoryBytes));
    if (i + 1 < boxes.size() && end > boxes[i + 1]->offset)
      fields.fail(fmt::format("mailboxes '{}' (bytes {} to {}) and '{}' (from byte {}) overlap",
                              boxes[i]->name, boxes[i]->offset, end, boxes[i + 1]->name,
                              boxes[i + 1]->offset));
  }
}

template <typename Range>
static void checkUnique(JsonFields &fields, const Range &items, StringRef what) {
  StringSet<> seen;
  for (const auto &item : items)
    if (!seen.insert(item.name).second)
      fields.fail(fmt::format("{} '{}' appears twice", what, item.name));
}

static void readParams(JsonFields &fields, Manifest &manifest) {
  const json::Object *params = fields.rawObject("params");
  if (!params)
    return;
  for (const auto &[key, value] : *params) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number)
      return fields.fail(fmt::format("parameter '{}' is not an integer", key.str()));
    manifest.params.emplace_back(key.str(), *number);
  }
  llvm::sort(manifest.params);
}

static void readVersion(JsonFields &fields) {
  int64_t version = 0;
  fields.integer("monoc_manifest", version, INT64_MIN, INT64_MAX);
  if (!fields.failed() && version != 1)
    fields.fail(fmt::format("expected manifest version 1, but got {}", version));
}

static void readHead(JsonFields &fields, Manifest &manifest) {
  fields.string("tool", manifest.tool);
  fields.nested("source", [&](JsonFields &source) {
    source.string("file", manifest.sourceFile);
    source.string("hash", manifest.sourceHash);
  });
  fields.string("schedule", manifest.schedule);
  fields.string("kernel", manifest.kernel);
  fields.string("target", manifest.target);
  readParams(fields, manifest);
  fields.nested("grid", [&](JsonFields &grid) {
    grid.integer("ctas", manifest.ctas, 1, maxCtas);
    grid.integer("threads", manifest.threads, 64, maxThreads);
  });
  fields.integer("ranks", manifest.ranks, 1, maxRanks);
  fields.integer("lds_bytes", manifest.ldsBytes, 0, maxLdsBytes);
  if (!fields.failed() && manifest.threads % 64 != 0)
    fields.fail(fmt::format("grid.threads: expected a multiple of the 64 lanes of a wavefront, but "
                            "got {}",
                            manifest.threads));
}

static void readMemory(JsonFields &fields, Manifest &manifest) {
  fields.nested("mailbox_memory", [&](JsonFields &memory) {
    memory.integer("device", manifest.deviceMailboxBytes, 0, maxBytes);
    memory.integer("peers", manifest.peerMailboxBytes, 0, maxBytes);
  });
  if (fields.has("hears_all"))
    fields.boolean("hears_all", manifest.hearsAll);
  fields.integer("epoch_bytes", manifest.epochBytes, 0, maxBytes);
  const uint64_t words = uint64_t(4) * manifest.ctas;
  uint64_t expected = words;
  if (fields.has("watchdog")) {
    fields.nested("watchdog", [&](JsonFields &watchdog) {
      watchdog.integer("cycles", manifest.watchdogCycles, 1, INT64_MAX);
      watchdog.integer("record_offset", manifest.watchdogOffset, int64_t(words), maxBytes);
    });
    expected = manifest.watchdogOffset + WatchdogRecord::bytes;
  }
  if (!fields.failed() && manifest.epochBytes != expected)
    fields.fail(fmt::format("epoch_bytes: expected {} (one i32 for each of {} workgroups{}), but "
                            "got {}",
                            expected, manifest.ctas,
                            manifest.watchdogCycles ? ", then the watchdog's record" : "",
                            manifest.epochBytes));
}

static void readLists(JsonFields &fields, Manifest &manifest) {
  fields.objects("operands",
                 [&](JsonFields &item) { manifest.operands.push_back(readOperand(item)); });
  fields.objects("mailboxes",
                 [&](JsonFields &item) { manifest.mailboxes.push_back(readMailbox(item)); });
  fields.objects("stages", [&](JsonFields &item) {
    Stage stage;
    item.string("name", stage.name);
    item.integer("tasks", stage.tasks, 1, INT32_MAX);
    item.integer("base", stage.base, 0, int64_t(manifest.ctas) - 1);
    if (item.has("posts"))
      item.strings("posts", stage.posts);
    manifest.stages.push_back(std::move(stage));
  });
  if (fields.has("regions"))
    fields.objects("regions", [&](JsonFields &item) {
      manifest.regions.push_back(readRegion(item, manifest));
    });
}

static void checkPosts(JsonFields &fields, const Manifest &manifest) {
  for (const Stage &stage : manifest.stages)
    for (const std::string &name : stage.posts)
      if (Expected<const Mailbox *> found = manifest.findMailbox(name); !found)
        fields.fail(fmt::format("stage '{}': {}", stage.name, toString(found.takeError())));
}

static void checkRelations(JsonFields &fields, const Manifest &manifest) {
  checkUnique(fields, manifest.operands, "operand");
  checkUnique(fields, manifest.mailboxes, "mailbox");
  checkUnique(fields, manifest.regions, "region");
  checkPosts(fields, manifest);
  checkMailboxMemory(fields, manifest, MailboxScope::Device, manifest.deviceMailboxBytes, "device");
  checkMailboxMemory(fields, manifest, MailboxScope::Peers, manifest.peerSlotBytes(),
                     manifest.peerSlots() > 1 ? "slot of the peer" : "peer");
}

Expected<Manifest> parseManifest(StringRef text) {
  Expected<json::Object> object = parseJsonObject(text, "manifest");
  if (!object)
    return object.takeError();
  Manifest manifest;
  JsonFields fields(*object, "");
  readVersion(fields);
  readHead(fields, manifest);
  readMemory(fields, manifest);
  readLists(fields, manifest);
  if (fields.has("marker_task_bits"))
    fields.integer("marker_task_bits", manifest.markerTaskBits, 1, 31);
  if (!fields.failed())
    checkRelations(fields, manifest);
  if (Error error = fields.takeError())
    return addContext(std::move(error), "manifest");
  return manifest;
}

const Operand *Manifest::operand(StringRef name) const {
  auto found = llvm::find_if(operands, [&](const Operand &item) { return item.name == name; });
  return found == operands.end() ? nullptr : &*found;
}

/// The item of that name, or an error naming those there are.
template <typename T>
static Expected<const T *> findNamed(const std::vector<T> &items, StringRef kind, StringRef name,
                                     StringRef kernel) {
  auto found = llvm::find_if(items, [&](const T &item) { return item.name == name; });
  if (found != items.end())
    return &*found;
  std::string known;
  for (const T &item : items)
    known += (known.empty() ? "" : ", ") + item.name;
  return makeError("kernel '{}' has no {} '{}'; it has {}", kernel, kind, name,
                   known.empty() ? "none" : known);
}

Expected<const Operand *> Manifest::findOperand(StringRef name) const {
  return findNamed(operands, "operand", name, kernel);
}

Expected<const Mailbox *> Manifest::findMailbox(StringRef name) const {
  return findNamed(mailboxes, "mailbox", name, kernel);
}

std::optional<unsigned> Manifest::firstPoster(StringRef mailbox) const {
  for (unsigned number = 0; number < stages.size(); ++number)
    if (llvm::is_contained(stages[number].posts, mailbox))
      return number;
  return std::nullopt;
}

uint64_t Region::payloadRowBytes() const {
  return uint64_t(type.shape.back()) * elementBits(type.element) / 8;
}

unsigned Manifest::peerSlots() const {
  unsigned slots = 1;
  for (const Mailbox &mailbox : mailboxes)
    if (mailbox.scope == MailboxScope::Peers)
      slots = std::max(slots, mailbox.slots);
  return slots;
}

uint32_t Manifest::nextTag(uint32_t finished) const {
  uint64_t turn = 1;
  for (const Mailbox &mailbox : mailboxes)
    if (mailbox.scope == MailboxScope::Peers && turn <= UINT32_MAX)
      turn = std::lcm(turn, uint64_t(mailbox.slots));
  // As kernels count: a multiple of the slots, below what says that a workgroup has left.
  constexpr uint64_t most = UINT32_MAX - 1;
  return finished < most - most % turn ? finished + 1 : 1;
}

const int64_t *Manifest::param(StringRef name) const {
  auto found = llvm::find_if(params, [&](const auto &item) { return item.first == name; });
  return found == params.end() ? nullptr : &found->second;
}

} // namespace mono

// Writes the manifest.
#include "lowering/Manifest.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "lowering/Check/Checks.h"
#include "lowering/Device/Watchdog.h"
#include "lowering/Place/Arena.h"
#include "lowering/Place/Scratch.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace mono {

std::string toolVersion() { return "monoc " MONO_VERSION; }

namespace {

std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

std::string layoutName(Attribute layout) {
  if (auto rows = dyn_cast_or_null<MfmaRowsAttr>(layout))
    return "mfma_rows<" + std::to_string(rows.getRows()) + ">";
  return "row_major";
}

llvm::json::Object operandObject(OperandOp op) {
  Declared declared = *declaredBy(op.getResult());
  return llvm::json::Object{
      {"name", op.getName()},
      {"access", stringifyAccess(op.getAccess())},
      {"shape", llvm::json::Array(declared.shape)},
      {"element", text(declared.element)},
      {"layout", layoutName(declared.layout)},
      {"role", op.getWeight() ? "weight" : "activation"},
      {"bytes", llvm::product_of(declared.shape) * declared.element.getIntOrFloatBitWidth() / 8}};
}

llvm::json::Object mailboxObject(MailboxOp op) {
  Declared declared = *declaredBy(op.getResult());
  return llvm::json::Object{{"name", op.getName()},
                            {"kind", "tagged"},
                            {"scope", stringifyScope(op.getScope())},
                            {"slots", static_cast<int64_t>(op.getSlots())},
                            {"shape", llvm::json::Array(declared.shape)},
                            {"element", text(declared.element)},
                            {"offset", static_cast<int64_t>(*op.getOffset())},
                            {"bytes", static_cast<int64_t>(op.getSlots()) * slotBytes(op)}};
}

/// The mailboxes a stage posts to, in the order of its first posts.
llvm::json::Array postsOf(StageOp stage) {
  llvm::SetVector<StringRef> names;
  stage.walk([&](PostOp post) {
    if (auto mailbox = post.getMailbox().getDefiningOp<MailboxOp>())
      names.insert(mailbox.getName());
  });
  return llvm::json::Array(names);
}

llvm::json::Object stageObject(StageOp op) {
  return llvm::json::Object{{"name", op.getName()},
                            {"tasks", taskCount(op)},
                            {"base", staticValues(op.getBase()).front()},
                            {"posts", postsOf(op)}};
}

/// The numbers of the stages that write a region.
llvm::json::Array writersOf(RegionOp region, ArrayRef<MemoryAccess> accesses) {
  llvm::SmallSetVector<int64_t, 4> stages;
  for (const MemoryAccess &access : accesses)
    if (access.writes && access.memory == region.getResult())
      stages.insert(access.stageIndex);
  return llvm::json::Array(stages);
}

/// The regions that stages use, where in LDS they lie in which stages, and who writes them.
llvm::json::Array regionsOf(ScheduleOp schedule) {
  std::vector<MemoryAccess> accesses = *collectAccesses(schedule); // the checks have passed
  llvm::json::Array regions;
  for (const Piece &piece : collectPieces(schedule, ScratchLife::Stage)) {
    auto op = dyn_cast<RegionOp>(piece.op);
    if (!op)
      continue;
    int64_t rowBytes = op.getRowStride() * op.getElement().getIntOrFloatBitWidth() / 8;
    regions.push_back(llvm::json::Object{{"name", op.getName()},
                                         {"shape", llvm::json::Array(staticValues(op.getShape()))},
                                         {"element", text(op.getElement())},
                                         {"row_bytes", rowBytes},
                                         {"offset", piece.offset},
                                         {"first_stage", piece.firstStage},
                                         {"last_stage", piece.lastStage},
                                         {"written_by", writersOf(op, accesses)}});
  }
  return regions;
}

int64_t intAttr(Operation *op, StringRef name) {
  return op->getAttrOfType<IntegerAttr>(name).getInt();
}

} // namespace

std::string manifestOf(ScheduleOp schedule, int64_t watchdogCycles, bool markers) {
  Block &body = schedule.getBody().front();
  llvm::json::Object params, source;
  if (auto bound = schedule->getAttrOfType<DictionaryAttr>("mono.params"))
    for (NamedAttribute entry : bound)
      params[entry.getName().getValue()] = cast<IntegerAttr>(entry.getValue()).getInt();
  auto module = schedule->getParentOfType<ModuleOp>();
  if (auto attr = module->getAttrOfType<DictionaryAttr>(kSourceAttr))
    for (NamedAttribute entry : attr)
      source[entry.getName().getValue()] = cast<StringAttr>(entry.getValue()).getValue();
  llvm::json::Array operands, mailboxes, stages;
  for (auto op : body.getOps<OperandOp>())
    operands.push_back(operandObject(op));
  for (auto op : body.getOps<MailboxOp>())
    mailboxes.push_back(mailboxObject(op));
  for (auto op : body.getOps<StageOp>())
    stages.push_back(stageObject(op));
  int64_t ctas = schedule.getCtas(), threads = schedule.getThreads();
  llvm::json::Object manifest{
      {"monoc_manifest", 1},
      {"tool", toolVersion()},
      {"source", std::move(source)},
      {"schedule", schedule.getSymName()},
      {"kernel", schedule.getSymName()},
      {"target", schedule.getTarget()},
      {"params", std::move(params)},
      {"grid", llvm::json::Object{{"ctas", ctas}, {"threads", threads}}},
      {"ranks", rankCount(schedule)},
      {"lds_bytes", intAttr(schedule, kLdsBytesAttr)},
      {"operands", std::move(operands)},
      {"mailboxes", std::move(mailboxes)},
      {"mailbox_memory", llvm::json::Object{{"device", intAttr(schedule, kDeviceMailboxBytesAttr)},
                                            {"peers", intAttr(schedule, kPeerMailboxBytesAttr)}}},
      {"hears_all", schedule->hasAttr(kHearsAllAttr)},
      {"epoch_bytes", watchdogCycles ? watchdogOffset(ctas) + kWatchdogBytes : ctas * 4},
      {"stages", std::move(stages)}};
  if (watchdogCycles)
    manifest["watchdog"] =
        llvm::json::Object{{"cycles", watchdogCycles}, {"record_offset", watchdogOffset(ctas)}};
  if (markers) {
    manifest["marker_task_bits"] = kMarkerTaskBits;
    manifest["regions"] = regionsOf(schedule);
  }
  std::string result;
  llvm::raw_string_ostream(result) << llvm::json::Value(std::move(manifest));
  return result;
}

} // namespace mono

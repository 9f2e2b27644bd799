// Reports, made from the manifest and the finished object.
#include "lowering/Report.h"

#include "dialect/target/Gfx950.h"
#include "lowering/ReportArena.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace llvm;

namespace mono {

static json::Object resourcesObject(const KernelResources &k) {
  return json::Object{{"vgprs", k.vgprs},
                      {"agprs", k.agprs},
                      {"sgprs", k.sgprs},
                      {"lds_bytes", k.ldsBytes},
                      {"scratch_bytes", k.scratchBytes},
                      {"vgpr_spills", k.vgprSpills},
                      {"sgpr_spills", k.sgprSpills},
                      {"kernarg_bytes", k.kernargBytes}};
}

/// Time that moving so many bytes takes at the peak of the memory: a model, not a measurement.
static double floorMicroseconds(int64_t bytes) {
  return double(bytes) / double(gfx950::kHbmBytesPerSecond) * 1e6;
}

static json::Array stagesArray(const CompileResult &result) {
  json::Array stages;
  for (auto [stage, ldsBytes] : zip_equal(result.costs.stages, result.arena.stageBytes))
    stages.push_back(json::Object{{"name", stage.name},
                                  {"tasks", stage.tasks},
                                  {"base", stage.base},
                                  {"workgroups", stage.workgroups},
                                  {"weight_bytes", stage.weightBytes},
                                  {"peer_bytes", stage.peerBytes},
                                  {"mfma", stage.mfmas},
                                  {"lds_bytes", ldsBytes},
                                  {"hops", stage.hops}});
  return stages;
}

/// Says of each mailbox of the manifest which stages use it.
static void addUses(json::Array &mailboxes, const Costs &costs) {
  for (auto [value, use] : zip_equal(mailboxes, costs.mailboxes)) {
    json::Object &mailbox = *value.getAsObject();
    mailbox["posted_by"] = json::Array(use.postedBy);
    mailbox["received_by"] = json::Array(use.receivedBy);
  }
}

/// What all operands together move.
static OperandTraffic totalOf(const Costs &costs) {
  OperandTraffic total;
  for (const OperandTraffic &operand : costs.operands) {
    total.readBytes += operand.readBytes;
    total.readByData += operand.readByData;
    total.writtenBytes += operand.writtenBytes;
    total.writtenByData += operand.writtenByData;
  }
  return total;
}

static void addTraffic(json::Object &object, const OperandTraffic &traffic) {
  object["read_bytes"] = traffic.readBytes;
  object["read_bytes_by_data"] = traffic.readByData;
  object["written_bytes"] = traffic.writtenBytes;
  object["written_bytes_by_data"] = traffic.writtenByData;
}

static json::Object memoryFloorObject(const Costs &costs) {
  OperandTraffic total = totalOf(costs);
  json::Object object;
  addTraffic(object, total);
  object["microseconds_modelled"] = floorMicroseconds(total.readBytes + total.writtenBytes);
  return object;
}

static json::Object arenaObject(const ArenaPlan &plan) {
  json::Array boxes;
  for (const ArenaPlan::Box &box : plan.boxes)
    boxes.push_back(json::Object{{"name", box.name},
                                 {"offset", box.offset},
                                 {"bytes", box.bytes},
                                 {"first_stage", box.firstStage},
                                 {"last_stage", box.lastStage},
                                 {"pinned", box.pinned}});
  return json::Object{{"bytes", plan.bytes},
                      {"lower_bound", plan.lowerBound},
                      {"without_overlay", plan.withoutOverlay},
                      {"boxes", std::move(boxes)}};
}

static Expected<json::Value> reportValue(const CompileResult &result) {
  Expected<json::Value> report = json::parse(result.manifest);
  if (!report)
    return report.takeError();
  json::Object &object = *report->getAsObject();
  object["stages"] = stagesArray(result);
  addUses(*object.getArray("mailboxes"), result.costs);
  for (auto [value, traffic] : zip_equal(*object.getArray("operands"), result.costs.operands))
    addTraffic(*value.getAsObject(), traffic);
  object["memory_floor"] = memoryFloorObject(result.costs);
  object["hops"] = result.costs.hops;
  object["peer_bytes"] = result.costs.peerBytes;
  object["weight_floor"] =
      json::Object{{"bytes", result.costs.weightBytes},
                   {"microseconds_modelled", floorMicroseconds(result.costs.weightBytes)}};
  object["lds"] = arenaObject(result.arena);
  if (!result.resources.empty())
    object["resources"] = resourcesObject(result.resources.front());
  return report;
}

Expected<std::string> reportJson(const CompileResult &result) {
  Expected<json::Value> report = reportValue(result);
  if (!report)
    return report.takeError();
  return formatv("{0:2}\n", *report).str();
}

Expected<std::string> reportHtml(const CompileResult &result) {
  static constexpr StringLiteral kPage =
#include "lowering/ReportPage.inc"
      ;
  Expected<json::Value> report = reportValue(result);
  if (!report)
    return report.takeError();
  // Inside a script element only "</" could end it.
  std::string data = formatv("{0}", *report).str();
  for (size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.insert(at + 1, "\\");
  auto [before, after] = StringRef(kPage).split("__REPORT__");
  return (before + data + after).str();
}

static std::string shapeText(const json::Object &object) {
  std::string text;
  raw_string_ostream os(text);
  os << object.getString("element").value_or("") << " [";
  interleaveComma(*object.getArray("shape"), os,
                  [&](const json::Value &size) { os << size.getAsInteger().value_or(0); });
  os << ']';
  return text;
}

/// A number of bytes, with a mark where data decides how many.
static std::string bytesText(int64_t bytes, int64_t byData) {
  return formatv("{0}{1}", byData ? "<= " : "", bytes).str();
}

/// "1 hop", "2 hops".
static std::string counted(int64_t number, StringRef what) {
  return formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s").str();
}

static std::string stagesText(const CompileResult &result) {
  std::string text;
  raw_string_ostream os(text);
  os << "stage              tasks  workgroups  weight bytes  peer bytes     MFMA  LDS bytes  "
        "hops\n";
  for (auto [stage, ldsBytes] : zip_equal(result.costs.stages, result.arena.stageBytes))
    os << formatv("{0,-18} {1,5}  {2,10}  {3,12}  {4,10} {5,8}  {6,9}  {7,4}\n", stage.name,
                  stage.tasks, formatv("{0}@{1}", stage.workgroups, stage.base).str(),
                  stage.weightBytes, stage.peerBytes, stage.mfmas, ldsBytes, stage.hops);
  os << formatv("longest chain: {0} from post to receive\n", counted(result.costs.hops, "hop"));
  os << formatv("weights: {0} bytes per rank, each read once: {1:f1} us at 8 TB/s, modelled\n",
                result.costs.weightBytes, floorMicroseconds(result.costs.weightBytes));
  OperandTraffic total = totalOf(result.costs);
  os << formatv(
      "operands: a rank reads at most {0} bytes, each once ({1} of them chosen by data), and "
      "writes {2}: {3:f1} us at 8 TB/s, modelled\n",
      total.readBytes, total.readByData, total.writtenBytes,
      floorMicroseconds(total.readBytes + total.writtenBytes));
  os << formatv("exchange: a rank sends {0} bytes to the others\n", result.costs.peerBytes);
  return text;
}

Expected<std::string> reportText(const CompileResult &result) {
  Expected<json::Value> manifest = json::parse(result.manifest);
  if (!manifest)
    return manifest.takeError();
  const json::Object &m = *manifest->getAsObject();
  const json::Object &grid = *m.getObject("grid");
  std::string text;
  raw_string_ostream os(text);
  os << formatv("schedule {0}, {1}, grid {2} x {3}, {4}", m.getString("schedule"),
                m.getString("target"), grid.getInteger("ctas"), grid.getInteger("threads"),
                counted(m.getInteger("ranks").value_or(1), "rank"));
  std::map<StringRef, int64_t> params; // in the order of the other reports
  for (const auto &[name, value] : *m.getObject("params"))
    params[name] = value.getAsInteger().value_or(0);
  for (auto [name, value] : params)
    os << ", " << name << " = " << value;
  os << "\n\n" << stagesText(result);
  os << "\noperand            shape                     layout          bytes         reads        "
        "writes\n";
  for (auto [value, traffic] : zip_equal(*m.getArray("operands"), result.costs.operands)) {
    const json::Object &operand = *value.getAsObject();
    os << formatv("{0,-18} {1,-25} {2,-13} {3,7} {4,13} {5,13}\n", *operand.getString("name"),
                  shapeText(operand), *operand.getString("layout"),
                  operand.getInteger("bytes").value_or(0),
                  bytesText(traffic.readBytes, traffic.readByData),
                  bytesText(traffic.writtenBytes, traffic.writtenByData));
  }
  os << "\nmailbox            shape                     scope    slots    bytes\n";
  for (const json::Value &value : *m.getArray("mailboxes")) {
    const json::Object &mailbox = *value.getAsObject();
    os << formatv("{0,-18} {1,-25} {2,-7} {3,6} {4,8}\n", *mailbox.getString("name"),
                  shapeText(mailbox), *mailbox.getString("scope"), *mailbox.getInteger("slots"),
                  *mailbox.getInteger("bytes"));
  }
  for (const KernelResources &k : result.resources)
    os << formatv("\nkernel {0}: {1} VGPRs ({2} accumulation), {3} SGPRs, {4} bytes of LDS, {5} of "
                  "scratch, {6} spills\n",
                  k.name, k.vgprs, k.agprs, k.sgprs, k.ldsBytes, k.scratchBytes,
                  k.vgprSpills + k.sgprSpills);
  os << '\n' << arenaText(result.arena);
  return text;
}

} // namespace mono

// Reports, made from the manifest and the finished object.
#include "lowering/Report.h"

#include "lowering/ReportArena.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

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

Expected<std::string> reportJson(const CompileResult &result) {
  Expected<json::Value> manifest = json::parse(result.manifest);
  if (!manifest)
    return manifest.takeError();
  if (!result.resources.empty())
    (*manifest->getAsObject())["resources"] = resourcesObject(result.resources.front());
  return formatv("{0:2}\n", *manifest).str();
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

Expected<std::string> reportText(const CompileResult &result) {
  Expected<json::Value> manifest = json::parse(result.manifest);
  if (!manifest)
    return manifest.takeError();
  const json::Object &m = *manifest->getAsObject();
  const json::Object &grid = *m.getObject("grid");
  std::string text;
  raw_string_ostream os(text);
  os << formatv("schedule {0}, {1}, grid {2} x {3}, {4} rank(s)", m.getString("schedule"),
                m.getString("target"), grid.getInteger("ctas"), grid.getInteger("threads"),
                m.getInteger("ranks"));
  for (const auto &[name, value] : *m.getObject("params"))
    os << ", " << StringRef(name) << " = " << value.getAsInteger().value_or(0);
  os << "\n\nstage              tasks  workgroups\n";
  int64_t ctas = grid.getInteger("ctas").value_or(1);
  for (const json::Value &value : *m.getArray("stages")) {
    const json::Object &stage = *value.getAsObject();
    int64_t tasks = stage.getInteger("tasks").value_or(0),
            base = stage.getInteger("base").value_or(0);
    os << formatv("{0,-18} {1,5}  {2} from {3}\n", *stage.getString("name"), tasks,
                  std::min(tasks, ctas), base);
  }
  int64_t weights = 0;
  os << "\noperand            shape                     layout          bytes\n";
  for (const json::Value &value : *m.getArray("operands")) {
    const json::Object &operand = *value.getAsObject();
    int64_t bytes = operand.getInteger("bytes").value_or(0);
    if (operand.getString("role") == StringRef("weight"))
      weights += bytes;
    os << formatv("{0,-18} {1,-25} {2,-13} {3,7}\n", *operand.getString("name"), shapeText(operand),
                  *operand.getString("layout"), bytes);
  }
  os << formatv("weights: {0} bytes a rank, each read once\n", weights);
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

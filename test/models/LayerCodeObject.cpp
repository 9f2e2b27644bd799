// A code object for tools that look at nothing but the manifest.
#include "test/models/LayerKernel.h"
#include "test/runtime/Assembler.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mono::test {

static StringRef accessName(OperandAccess access) {
  return access == OperandAccess::Read    ? "read"
         : access == OperandAccess::Write ? "write"
                                          : "update";
}

static json::Value manifestJson(const Manifest &manifest) {
  json::Object params;
  for (const auto &[name, value] : manifest.params)
    params[name] = value;
  json::Array operands;
  for (const Operand &operand : manifest.operands)
    operands.push_back(json::Object{{"name", operand.name},
                                    {"access", accessName(operand.access)},
                                    {"role", "weight"},
                                    {"shape", json::Array(operand.type.shape)},
                                    {"element", elementName(operand.type.element)},
                                    {"layout", layoutName(operand.type.layout)},
                                    {"bytes", operand.type.bytes()}});
  return json::Object{{"monoc_manifest", 1},
                      {"tool", "by hand"},
                      {"source", json::Object{{"file", "layer.mlir"}, {"hash", "0"}}},
                      {"schedule", manifest.schedule},
                      {"kernel", manifest.kernel},
                      {"target", "gfx950"},
                      {"params", std::move(params)},
                      {"grid", json::Object{{"ctas", 1}, {"threads", 64}}},
                      {"ranks", manifest.ranks},
                      {"lds_bytes", 0},
                      {"operands", std::move(operands)},
                      {"mailboxes", json::Array{}},
                      {"mailbox_memory", json::Object{{"device", 0}, {"peers", 0}}},
                      {"epoch_bytes", 4},
                      {"stages", json::Array{}}};
}

std::vector<uint8_t> layerCodeObject(const Manifest &manifest) {
  KernelText kernel;
  kernel.name = manifest.kernel;
  kernel.kernargBytes = static_cast<unsigned>(manifest.kernargBytes());
  kernel.manifest = formatv("{0}", manifestJson(manifest)).str();
  return assemble(kernelAssembly(kernel));
}

} // namespace mono::test

// Drives the pipeline for one file.
#include "lowering/Compile.h"

#include "dialect/Mono.h"
#include "lowering/Manifest.h"
#include "lowering/Pipeline.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace mono {
namespace {

llvm::Error failure(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

Bytes toBytes(StringRef text) { return Bytes(text.bytes_begin(), text.bytes_end()); }

Bytes print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << '\n';
  return toBytes(text);
}

DictionaryAttr sourceAttr(MLIRContext *context, StringRef path, StringRef contents) {
  Builder builder(context);
  std::array<uint8_t, 32> hash =
      llvm::SHA256::hash(ArrayRef(contents.bytes_begin(), contents.bytes_end()));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("file", builder.getStringAttr(llvm::sys::path::filename(path))),
       builder.getNamedAttr("hash", builder.getStringAttr(llvm::toHex(hash, true)))});
}

/// The pass groups a form needs.
Step lastStep(const CompileOptions &options) {
  if (options.checkOnly)
    return Step::Placed;
  switch (options.emit) {
  case Emit::Mono:
    return Step::Bound;
  case Emit::Placed:
    return Step::Placed;
  case Emit::Device:
    return Step::Device;
  default:
    return Step::Rocdl;
  }
}

/// A kernel that spills reads and writes memory nobody planned for.
llvm::Error checkResources(const std::vector<KernelResources> &kernels) {
  for (const KernelResources &k : kernels)
    if (k.scratchBytes || k.vgprSpills || k.sgprSpills)
      return failure("expected no scratch and no spills in kernel '" + k.name + "', but got " +
                     Twine(k.scratchBytes) + " bytes of scratch, " + Twine(k.vgprSpills) +
                     " spilled VGPRs and " + Twine(k.sgprSpills) +
                     " spilled SGPRs; use smaller tiles or fewer words in flight");
  return llvm::Error::success();
}

/// From the LLVM dialect on.
llvm::Error generate(Operation *gpuModule, const CompileOptions &options, TimingScope &timing,
                     CompileResult &result) {
  llvm::LLVMContext context;
  auto target = createTargetMachine();
  if (!target)
    return target.takeError();
  TimingScope translateTime = timing.nest("translate to LLVM IR");
  auto module = translate(gpuModule, context, **target);
  if (!module)
    return module.takeError();
  translateTime.stop();
  TimingScope optimizeTime = timing.nest("optimise (O3)");
  optimize(**module, **target);
  optimizeTime.stop();
  if (options.emit == Emit::Llvm) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    (*module)->print(stream, nullptr);
    result.output = toBytes(text);
    return llvm::Error::success();
  }
  TimingScope codegenTime = timing.nest("generate machine code");
  auto machineCode = emitMachineCode(**module, **target,
                                     options.emit == Emit::Asm ? llvm::CodeGenFileType::AssemblyFile
                                                               : llvm::CodeGenFileType::ObjectFile);
  if (!machineCode)
    return machineCode.takeError();
  codegenTime.stop();
  if (options.emit != Emit::Hsaco) {
    result.output = std::move(*machineCode);
    return llvm::Error::success();
  }
  TimingScope linkTime = timing.nest("link");
  auto codeObject = linkWithLld(*machineCode);
  if (!codeObject)
    return codeObject.takeError();
  linkTime.stop();
  auto resources = inspect(*codeObject);
  if (!resources)
    return resources.takeError();
  result.output = std::move(*codeObject);
  result.resources = std::move(*resources);
  return checkResources(result.resources);
}

/// The pipeline on a parsed file.
llvm::Error lower(ModuleOp module, const CompileOptions &options, TimingScope &timing,
                  CompileResult &result) {
  SmallVector<std::string> params;
  for (const auto &[name, value] : options.params)
    params.push_back(name + "=" + std::to_string(value));
  PassManager pm(module.getContext());
  buildPipeline(pm, params, Step::Bound, lastStep(options));
  TimingScope passes = timing.nest("passes");
  pm.enableTiming(passes);
  if (failed(pm.run(module)))
    return failure("compilation failed");
  passes.stop();
  if (options.checkOnly)
    return llvm::Error::success();
  if (options.emit == Emit::Mono || options.emit == Emit::Placed) {
    result.output = print(module);
    return llvm::Error::success();
  }
  auto gpuModules = module.getOps<gpu::GPUModuleOp>();
  if (llvm::range_size(gpuModules) != 1)
    return failure("expected one mono.schedule in the file, but got " +
                   Twine(llvm::range_size(gpuModules)));
  gpu::GPUModuleOp gpuModule = *gpuModules.begin();
  result.manifest = gpuModule->getAttrOfType<StringAttr>(kManifestAttr).getValue().str();
  if (options.emit == Emit::Device || options.emit == Emit::Rocdl) {
    result.output = print(module);
    return llvm::Error::success();
  }
  return generate(gpuModule, options, timing, result);
}

} // namespace

llvm::Expected<CompileResult> compile(StringRef path, const CompileOptions &options) {
  if (options.linker != "lld")
    return failure("expected linker 'lld', but got '" + options.linker +
                   "' (comgr is not supported by this version)");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return failure("can't open '" + path + "': " + file.getError().message());
  std::string contents = (*file)->getBuffer().str();

  DefaultTimingManager manager;
  manager.setEnabled(options.time);
  manager.setDisplayMode(DefaultTimingManager::DisplayMode::Tree);
  TimingScope timing = manager.getRootScope();

  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false); // the line of the file says more than the op's generic form
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(*sources, &context);

  TimingScope parseTime = timing.nest("parse");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  parseTime.stop();
  if (!module)
    return failure("compilation failed");
  (*module)->setAttr(kSourceAttr, sourceAttr(&context, path, contents));
  CompileResult result;
  if (llvm::Error error = lower(*module, options, timing, result))
    return error;
  return result;
}

llvm::Expected<std::vector<uint8_t>> compileFile(StringRef path, const CompileOptions &options) {
  auto result = compile(path, options);
  if (!result)
    return result.takeError();
  return std::move(result->output);
}

} // namespace mono

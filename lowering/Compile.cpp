// Drives the pipeline for one file.
#include "lowering/Compile.h"

#include "dialect/Mono.h"
#include "lowering/Bind/Bind.h"
#include "lowering/Check/Checks.h"
#include "lowering/Device/Pressure.h"
#include "lowering/Manifest.h"
#include "lowering/Pipeline.h"
#include "lowering/Residency.h"
#include "lowering/Rules.h"
#include "lowering/SourceDiagnostics.h"
#include "lowering/SourceLimits.h"
#include "lowering/codeobject/Comgr.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
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
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("file", builder.getStringAttr(llvm::sys::path::filename(path))),
       builder.getNamedAttr("hash", builder.getStringAttr(llvm::toHex(digestOf(contents), true)))});
}

/// The pass groups a form needs.
Step lastStep(const CompileOptions &options) {
  if (options.checkOnly)
    return Step::Device; // what has no code is found there
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

/// What is told about the schedule once it is code.
struct Placed {
  Residence grid;
  RegisterDemand most;
};

/// Reported where most is held: a reader looks for a line of the schedule.
llvm::Error spills(const KernelResources &k, const RegisterDemand &most) {
  InFlightDiagnostic diag = emitError(most.loc)
                            << "expected no scratch and no spills in kernel '" << k.name
                            << "', but got " << k.scratchBytes << " bytes of scratch, "
                            << k.vgprSpills << " spilled VGPRs and " << k.sgprSpills
                            << " spilled SGPRs";
  if (most.registers)
    diag << "; stage '" << most.stage << "' holds most at once, an estimated " << most.registers
         << " registers per thread, here";
  diag << "; use more threads per workgroup, smaller tiles or fewer words in flight";
  diag << ruleTag("residency");
  return failure("compilation failed");
}

/// A kernel that spills reads and writes memory nobody planned for; one whose workgroups are not
/// all resident hangs.
llvm::Error checkResources(const std::vector<KernelResources> &kernels, const Placed &placed) {
  for (const KernelResources &k : kernels) {
    if (k.scratchBytes || k.vgprSpills || k.sgprSpills)
      return spills(k, placed.most);
    if (llvm::Error error = checkResidency(k, placed.grid))
      return error;
  }
  return llvm::Error::success();
}

/// Keeps what the code generator reports: LLVM's default is to end the process at an error.
class ErrorCollector : public llvm::DiagnosticHandler {
public:
  explicit ErrorCollector(std::string &errors) : errors(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return false;
    llvm::raw_string_ostream stream(errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    stream << (errors.empty() ? "" : "; ");
    info.print(printer);
    return true;
  }

private:
  std::string &errors;
};

llvm::Expected<Bytes> link(ArrayRef<uint8_t> relocatable, StringRef linker) {
  return linker == "comgr" ? linkWithComgr(relocatable) : linkWithLld(relocatable);
}

/// From the LLVM dialect to machine code, or to the text of an earlier form.
llvm::Expected<Bytes> generateCode(Operation *gpuModule, const CompileOptions &options,
                                   TimingScope &timing) {
  std::shared_lock lock(llvmOptionsMutex());
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
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
    return toBytes(text);
  }
  TimingScope codegenTime = timing.nest("generate machine code");
  auto machineCode = emitMachineCode(**module, **target,
                                     options.emit == Emit::Asm ? llvm::CodeGenFileType::AssemblyFile
                                                               : llvm::CodeGenFileType::ObjectFile);
  if (machineCode && !errors.empty())
    return failure("the code generator failed: " + errors);
  return machineCode;
}

/// From the LLVM dialect on.
llvm::Error generate(Operation *gpuModule, const CompileOptions &options, const Placed &placed,
                     TimingScope &timing, CompileResult &result) {
  auto code = generateCode(gpuModule, options, timing);
  if (!code)
    return code.takeError();
  if (options.emit != Emit::Hsaco) {
    result.output = std::move(*code);
    return llvm::Error::success();
  }
  TimingScope linkTime = timing.nest("link");
  auto codeObject = link(*code, options.linker);
  if (!codeObject)
    return codeObject.takeError();
  linkTime.stop();
  auto resources = inspect(*codeObject);
  if (!resources)
    return resources.takeError();
  result.output = std::move(*codeObject);
  result.resources = std::move(*resources);
  return checkResources(result.resources, placed);
}

/// The pipeline on a parsed file.
llvm::Error lower(ModuleOp module, const CompileOptions &options, TimingScope &timing,
                  CompileResult &result) {
  PipelineParams params;
  params.watchdogCycles = options.watchdogCycles;
  params.markers = options.markers;
  for (const auto &[name, value] : options.params)
    params.params.push_back(name + "=" + std::to_string(value));
  TimingScope passes = timing.nest("passes");
  auto run = [&](Step first, Step last) {
    PassManager pm(module.getContext());
    buildPipeline(pm, params, first, last);
    pm.enableTiming(passes);
    return pm.run(module);
  };
  Step last = lastStep(options);
  if (failed(run(Step::Bound, std::min(last, Step::Placed))))
    return failure("compilation failed");
  // What is told about the schedule later: from here on it is code.
  Placed placed{{}, {UnknownLoc::get(module.getContext())}};
  if (last >= Step::Placed)
    for (auto schedule : module.getOps<ScheduleOp>()) {
      if (failed(warnOfUnreceived(schedule, options.warningsAreErrors)))
        return failure("compilation failed");
      result.arena = planOf(schedule);
      placed = {{int64_t(schedule.getCtas()), int64_t(schedule.getThreads()), result.arena.bytes},
                largestRegisterDemand(schedule)};
      FailureOr<Costs> costs = options.costs ? costsOf(schedule) : Costs();
      if (failed(costs))
        return failure("compilation failed");
      result.costs = std::move(*costs);
    }
  if (last > Step::Placed && failed(run(Step::Device, last)))
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
  return generate(gpuModule, options, placed, timing, result);
}

} // namespace

llvm::Expected<CompileResult> compile(StringRef path, const CompileOptions &options) {
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      status.type() == llvm::sys::fs::file_type::character_file)
    return failure("can't open '" + path + "': it is a device"); // its text may never end
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return failure("can't open '" + path + "': " + file.getError().message());
  return compile(std::move(*file), options);
}

llvm::Expected<CompileResult> compile(std::unique_ptr<llvm::MemoryBuffer> source,
                                      const CompileOptions &options) {
  if (options.linker != "lld" && options.linker != "comgr")
    return failure("expected linker 'lld' or 'comgr', but got '" + options.linker + "'");
  StringRef path = source->getBufferIdentifier(), contents = source->getBuffer();

  DefaultTimingManager manager;
  manager.setEnabled(options.time);
  manager.setDisplayMode(DefaultTimingManager::DisplayMode::Tree);
  TimingScope timing = manager.getRootScope();

  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false); // the line of the file says more than the op's generic form
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(source), llvm::SMLoc());
  SourceDiagnostics diagnostics(*sources, &context,
                                options.diagnostics ? *options.diagnostics : llvm::errs());

  TimingScope parseTime = timing.nest("parse");
  if (failed(checkSourceLimits(contents, path, context)))
    return failure("compilation failed");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  parseTime.stop();
  if (!module)
    return failure("compilation failed");
  (*module)->setAttr(kSourceAttr, sourceAttr(&context, path, contents));
  CompileResult result;
  if (failed(loadImports(*module, &result.imports)) ||
      failed(warnOfUnused(*module, options.warningsAreErrors)))
    return failure("compilation failed");
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

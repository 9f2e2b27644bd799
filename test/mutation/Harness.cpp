// Compiles and runs.
#include "test/mutation/Harness.h"

#include "lowering/Manifest.h"
#include "lowering/Passes.h"
#include "lowering/Pipeline.h"
#include "lowering/codeobject/CodeObject.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Manifest.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace mono::test {

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

ScheduleOp scheduleOf(ModuleOp module) { return *module.getOps<ScheduleOp>().begin(); }

OwningOpRef<ModuleOp> bindText(MLIRContext &context, StringRef text, StringRef path,
                               ArrayRef<std::string> params) {
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context), path);
  if (!module)
    return {};
  // What the command line would put into the manifest.
  Builder builder(&context);
  (*module)->setAttr(kSourceAttr, builder.getDictionaryAttr(
                                      {builder.getNamedAttr("file", builder.getStringAttr(path)),
                                       builder.getNamedAttr("hash", builder.getStringAttr("0"))}));
  PipelineParams pipeline;
  pipeline.params.assign(params.begin(), params.end());
  PassManager pm(&context);
  buildPipeline(pm, pipeline, Step::Bound, Step::Bound);
  return succeeded(pm.run(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

std::string check(ModuleOp module) {
  std::string first;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diag) {
    if (first.empty() && diag.getSeverity() == DiagnosticSeverity::Error)
      first = diag.str();
    return success();
  });
  PassManager pm(module.getContext());
  buildPipeline(pm, {}, Step::Checked, Step::Placed);
  bool accepted = succeeded(verify(module)) && succeeded(pm.run(module));
  return accepted ? std::string() : first.empty() ? "rejected without a message" : first;
}

namespace {

/// Puts delays at the start and in front of polls and stores to memory, as many loop rounds for
/// each wavefront as a hash of seed, place, rank, workgroup and wavefront says.
class Delays {
public:
  Delays(gpu::GPUFuncOp func, uint32_t seed) : b(func.getLoc(), func) {
    SmallVector<Operation *> places;
    func.walk([&](Operation *op) {
      if (isa<scf::WhileOp, LLVM::StoreOp>(op))
        places.push_back(op);
    });
    b.setInsertionPointToStart(&func.getBody().front());
    auto i32 = b.getI32Type();
    auto toI32 = [&](Value index) -> Value { return arith::IndexCastUIOp::create(b, i32, index); };
    Value rank = func.getArgument(func.getNumArguments() - 1);
    Value workgroup = toI32(gpu::BlockIdOp::create(b, gpu::Dimension::x));
    Value thread = toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
    Value wave =
        ROCDL::ReadfirstlaneOp::create(b, i32, arith::ShRUIOp::create(b, thread, constant(6)));
    key = constant(seed * 15485863);
    for (auto [value, factor] :
         {std::pair{rank, 7919u}, std::pair{workgroup, 104729u}, std::pair{wave, 1299709u}})
      key = arith::AddIOp::create(b, key, arith::MulIOp::create(b, value, constant(factor)));
    delay();
    for (Operation *op : places) {
      b.setInsertionPoint(op);
      delay();
    }
  }

private:
  static constexpr uint32_t kRounds = 20000; ///< of three instructions

  Value constant(uint32_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }

  void delay() {
    Value hash = arith::MulIOp::create(
        b, arith::AddIOp::create(b, key, constant(++place * 32452843)), constant(0x9E3779B1));
    // One in eight.
    Value still = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, hash, constant(1u << 29));
    Value zero = constant(0), one = constant(1);
    Value rounds = arith::SelectOp::create(b, still, constant(kRounds), zero);
    scf::ForOp::create(b, zero, rounds, one, ValueRange{},
                       [](OpBuilder &builder, Location loc, Value, ValueRange) {
                         // Keeps the loop from being optimised away.
                         ROCDL::SchedBarrier::create(builder, loc, /*mask=*/0);
                         scf::YieldOp::create(builder, loc);
                       });
  }

  ImplicitLocOpBuilder b;
  Value key;
  uint32_t place = 0;
};

} // namespace

llvm::Expected<Compiled> compilePlaced(ModuleOp module, int64_t skipBarrier, uint32_t delays) {
  auto failure = [](const Twine &text) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
  };
  std::string message;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diag) {
    message += diag.str() + "; ";
    return success();
  });
  Compiled result;
  PassManager device(module.getContext()), rocdl(module.getContext());
  device.addPass(createDevicePass({/*watchdog=*/0, /*markers=*/false, skipBarrier}));
  if (failed(device.run(module)))
    return failure("code generation: " + message);
  module.walk([&](amdgpu::LDSBarrierOp) { ++result.barriers; });
  if (delays)
    module.walk([&](gpu::GPUFuncOp func) { Delays(func, delays); });
  buildPipeline(rocdl, {}, Step::Rocdl, Step::Rocdl);
  if (failed(rocdl.run(module)))
    return failure("code generation: " + message);
  llvm::LLVMContext context;
  auto target = createTargetMachine();
  if (!target)
    return target.takeError();
  auto llvmModule = translate(*module.getOps<gpu::GPUModuleOp>().begin(), context, **target);
  if (!llvmModule)
    return llvmModule.takeError();
  optimize(**llvmModule, **target);
  auto object = emitMachineCode(**llvmModule, **target, llvm::CodeGenFileType::ObjectFile);
  if (!object)
    return object.takeError();
  auto code = linkWithLld(*object);
  if (!code)
    return code.takeError();
  result.codeObject = std::move(*code);
  return result;
}

//===----------------------------------------------------------------------===//
// Emulation
//===----------------------------------------------------------------------===//

namespace {

/// One machine with a loaded kernel on each rank, and the operands of all launches.
class Run {
public:
  Run(const Manifest &manifest, unsigned launches, const emu::Options &options, Inputs &inputs)
      : manifest(manifest), launches(launches), inputs(inputs), machine(manifest.ranks, options) {}

  llvm::Expected<std::vector<uint8_t>> run(ArrayRef<uint8_t> codeObject) {
    for (unsigned rank = 0; rank < manifest.ranks; ++rank)
      if (llvm::Error error = addRank(rank, codeObject))
        return error;
    if (llvm::Error error = fillPeerTables())
      return error;
    // Launches of a rank run in this order, ranks side by side.
    std::vector<emu::Launch> queue;
    for (unsigned launch = 0; launch < launches; ++launch)
      for (Rank &rank : ranks)
        queue.push_back(rank.launches[launch]);
    if (llvm::Error error = machine.run(queue))
      return error;
    return outputs();
  }

private:
  struct Output {
    emu::DevicePtr memory;
    uint64_t bytes;
  };
  struct Rank {
    emu::DevicePtr peerMailboxes = 0, peerTable = 0;
    std::vector<emu::Launch> launches;
    std::vector<Output> outputs;
  };

  llvm::Expected<emu::DevicePtr> zeroed(unsigned rank, uint64_t bytes, StringRef name,
                                        emu::MemoryKind kind = emu::MemoryKind::Device) {
    bytes = std::max<uint64_t>(bytes, 8);
    auto memory = machine.allocate(rank, bytes, name, kind);
    if (memory)
      if (llvm::Error error = machine.fill(rank, *memory, 0, bytes))
        return error;
    return memory;
  }

  llvm::Error addRank(unsigned number, ArrayRef<uint8_t> codeObject) {
    Rank &rank = ranks.emplace_back();
    auto module = machine.load(number, codeObject);
    auto device = zeroed(number, manifest.deviceMailboxBytes, "device mailboxes");
    auto peers =
        zeroed(number, manifest.peerMailboxBytes, "peer mailboxes", emu::MemoryKind::PeerVisible);
    auto table = zeroed(number, manifest.peerTableBytes(), "peer table");
    auto epochs = zeroed(number, manifest.epochBytes, "epoch words");
    for (auto *each : {&device, &peers, &table, &epochs})
      if (!*each)
        return each->takeError();
    if (!module)
      return module.takeError();
    rank.peerMailboxes = *peers;
    rank.peerTable = *table;
    for (unsigned index = 0; index < launches; ++index) {
      emu::Launch launch;
      launch.rank = number;
      launch.module = *module;
      launch.kernel = manifest.kernel;
      launch.grid = {manifest.ctas, 1, 1};
      launch.block = {manifest.threads, 1, 1};
      launch.dynamicLdsBytes = manifest.dynamicLdsBytes;
      launch.resident = true;
      auto operands = addOperands(rank, number, index);
      if (!operands)
        return operands.takeError();
      operands->append({*device, *table, *epochs});
      launch.kernarg.resize(manifest.kernargBytes());
      for (auto [i, pointer] : llvm::enumerate(*operands))
        llvm::support::endian::write64le(&launch.kernarg[8 * i], pointer);
      llvm::support::endian::write32le(&launch.kernarg[8 * operands->size()], number);
      rank.launches.push_back(std::move(launch));
    }
    return llvm::Error::success();
  }

  llvm::Expected<SmallVector<emu::DevicePtr>> addOperands(Rank &rank, unsigned number,
                                                          unsigned launch) {
    SmallVector<emu::DevicePtr> pointers;
    for (auto [index, operand] : llvm::enumerate(manifest.operands)) {
      // Weights stay what they are.
      if (operand.role == Role::Weight && launch > 0) {
        pointers.push_back(
            llvm::support::endian::read64le(&rank.launches.front().kernarg[8 * index]));
        continue;
      }
      auto memory = machine.allocate(number, operand.type.bytes(), operand.name);
      if (!memory)
        return memory.takeError();
      pointers.push_back(*memory);
      if (operand.access != OperandAccess::Read)
        rank.outputs.push_back({*memory, operand.type.bytes()});
      if (operand.access == OperandAccess::Write)
        continue;
      if (llvm::Error error = machine.write(number, *memory, inputs.of(operand, number, launch)))
        return error;
    }
    return pointers;
  }

  llvm::Error fillPeerTables() {
    std::vector<uint8_t> table(manifest.peerTableBytes());
    llvm::support::endian::write64le(&table[8 * ranks.size()], manifest.peerSlotBytes());
    for (auto [index, rank] : llvm::enumerate(ranks))
      llvm::support::endian::write64le(&table[8 * index], rank.peerMailboxes);
    for (auto [index, rank] : llvm::enumerate(ranks))
      if (llvm::Error error = machine.write(index, rank.peerTable, table))
        return error;
    return llvm::Error::success();
  }

  llvm::Expected<std::vector<uint8_t>> outputs() {
    std::vector<uint8_t> all;
    for (auto [index, rank] : llvm::enumerate(ranks))
      for (const Output &output : rank.outputs) {
        size_t at = all.size();
        all.resize(at + output.bytes);
        if (llvm::Error error =
                machine.read(index, output.memory, MutableArrayRef(all).drop_front(at)))
          return error;
      }
    return all;
  }

  const Manifest &manifest;
  unsigned launches;
  Inputs &inputs;
  emu::Machine machine;
  std::vector<Rank> ranks;
};

} // namespace

llvm::Expected<std::vector<uint8_t>> runLaunches(ArrayRef<uint8_t> codeObject, unsigned launches,
                                                 const emu::Options &options, Inputs &inputs) {
  auto manifest = readManifest(codeObject);
  if (!manifest)
    return manifest.takeError();
  return Run(*manifest, launches, options, inputs).run(codeObject);
}

llvm::Expected<Inputs> inputsOf(ModuleOp placed, unsigned launches) {
  auto manifest =
      parseManifest(manifestOf(scheduleOf(placed), /*watchdogCycles=*/0, /*markers=*/false));
  if (!manifest)
    return manifest.takeError();
  return Inputs::create(*manifest, launches);
}

llvm::Expected<std::vector<uint8_t>> outputsOf(ModuleOp placed, int64_t skipBarrier) {
  constexpr unsigned kLaunches = 3;
  auto inputs = inputsOf(placed, kLaunches);
  if (!inputs)
    return inputs.takeError();
  auto compiled = compilePlaced(placed, skipBarrier);
  if (!compiled)
    return compiled.takeError();
  emu::Options options;
  options.checks = emu::Checks::thorough();
  return runLaunches(compiled->codeObject, kLaunches, options, *inputs);
}

} // namespace mono::test

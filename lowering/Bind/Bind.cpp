// Fixes the parameters of a schedule: the order of the steps, and the parameters themselves.
#include "lowering/Bind/Bind.h"

#include "dialect/Mono.h"
#include "dialect/Nearest.h"
#include "lowering/Check/Checks.h"
#include "lowering/ParamValue.h"
#include "lowering/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace mono {
#define GEN_PASS_DEF_BINDPASS
#include "lowering/Passes.h.inc"
} // namespace mono

using namespace mono;

namespace {

/// Where errors about the command line point to: the first schedule.
Location locOf(ModuleOp module) {
  auto schedules = module.getOps<ScheduleOp>();
  return schedules.empty() ? module.getLoc() : (*schedules.begin()).getLoc();
}

/// Splits the `NAME=INT` options; a format's name is its number.
LogicalResult parseParams(ModuleOp module, ArrayRef<std::string> options,
                          llvm::StringMap<int64_t> &values) {
  for (StringRef option : options) {
    auto param = parseParam(option);
    if (!param)
      return emitError(locOf(module))
             << "expected a parameter as NAME=INT, but got '" << option << "'";
    if (!values.insert(*param).second)
      return emitError(locOf(module))
             << "expected one value for parameter '" << param->first << "', but got several";
  }
  return success();
}

LogicalResult bindParam(ParamOp param, const llvm::StringMap<int64_t> &values) {
  auto given = values.find(param.getName());
  std::optional<int64_t> value = param.getDefaultValue();
  if (given != values.end())
    value = given->second;
  if (!value)
    return param.emitError() << "expected a value for parameter '" << param.getName() << "' (-D "
                             << param.getName() << (param.getFormats() ? "=FORMAT, " : "=INT, ")
                             << param.describeSet() << ")";
  if (!param.admits(*value))
    return param.emitError() << "expected parameter '" << param.getName() << "' in "
                             << param.describeSet() << ", but got " << param.describe(*value);
  OpBuilder builder(param);
  Value constant = arith::ConstantIndexOp::create(builder, param.getLoc(), *value);
  param.replaceAllUsesWith(constant);
  return success();
}

LogicalResult bindParams(ModuleOp module, const llvm::StringMap<int64_t> &values) {
  if (module.getOps<ScheduleOp>().empty())
    return success(); // the checks say that there is none
  SmallVector<ParamOp> params;
  module.walk([&](ParamOp param) { params.push_back(param); });
  for (const auto &entry : values) {
    if (llvm::any_of(params, [&](ParamOp p) { return p.getName() == entry.getKey(); }))
      continue;
    auto names = llvm::map_range(params, [](ParamOp param) { return param.getName(); });
    InFlightDiagnostic diag = emitError(locOf(module))
                              << "the schedule has no parameter '" << entry.getKey() << "'"
                              << nearestHint(entry.getKey(), names);
    if (params.empty())
      return diag;
    Diagnostic &note = diag.attachNote(locOf(module)) << "its parameters: ";
    llvm::interleaveComma(params, note, [&](ParamOp param) {
      note << param.getName() << " in " << param.describeSet();
    });
    return diag;
  }
  for (ParamOp param : params)
    if (failed(bindParam(param, values)))
      return failure();
  // What was bound is kept for the manifest and the reports.
  for (auto schedule : module.getOps<ScheduleOp>()) {
    SmallVector<NamedAttribute> bound;
    for (ParamOp param : params) {
      if (param->getParentOp() != schedule)
        continue;
      auto given = values.find(param.getName());
      int64_t value = given != values.end() ? given->second : *param.getDefaultValue();
      bound.emplace_back(param.getNameAttr(), Builder(module).getI64IntegerAttr(value));
    }
    schedule->setAttr("mono.params", DictionaryAttr::get(module.getContext(), bound));
  }
  for (ParamOp param : params)
    param.erase();
  return success();
}

/// What passes note on ops, such as proofs that later steps rely on, is theirs to say: a file can
/// say that a mailbox is padded, and nothing else.
void dropNotes(ModuleOp module) {
  module.getBody()->walk([](Operation *op) {
    for (NamedAttribute attr : llvm::to_vector(op->getDiscardableAttrs()))
      if (isa_and_present<MonoDialect>(attr.getNameDialect()) && attr.getName() != kPaddedAttr)
        op->removeDiscardableAttr(attr.getName());
  });
}

struct BindPass : mono::impl::BindPassBase<BindPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringMap<int64_t> values;
    if (failed(parseParams(module, params, values)) || failed(loadImports(module)))
      return signalPassFailure();
    dropNotes(module);
    if (failed(bindParams(module, values)) || failed(inlineCalls(module)) ||
        failed(refineShapes(module)))
      return signalPassFailure();
    sinkTensors(module);
  }
};

} // namespace

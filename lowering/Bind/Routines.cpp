// Imports and calls: how the routines of library files get into a schedule.
#include "lowering/Bind/Bind.h"

#include "dialect/Mono.h"
#include "dialect/Nearest.h"
#include "lowering/SourceLimits.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace mono {
namespace {

/// The file `import` means: relative paths start at the file with the import.
std::string resolvePath(ImportOp import) {
  StringRef path = import.getPath();
  auto loc = import.getLoc()->findInstanceOf<FileLineColLoc>();
  if (llvm::sys::path::is_absolute(path) || !loc)
    return path.str();
  SmallString<256> resolved = llvm::sys::path::parent_path(loc.getFilename().getValue());
  llvm::sys::path::append(resolved, path);
  llvm::sys::path::remove_dots(resolved, /*remove_dot_dot=*/true);
  return resolved.str().str();
}

/// Moves the routines of `library` to `module`.
LogicalResult adoptRoutines(ModuleOp library, ModuleOp module) {
  SymbolTable symbols(module);
  for (Operation &op : llvm::make_early_inc_range(*library.getBody())) {
    auto routine = dyn_cast<RoutineOp>(op);
    if (!routine)
      return op.emitError() << "expected only routines and imports in an imported file";
    if (Operation *previous = symbols.lookup(routine.getSymName())) {
      InFlightDiagnostic diag = routine.emitError()
                                << "expected a name of its own, but '@" << routine.getSymName()
                                << "' stands for something else already";
      diag.attachNote(previous->getLoc()) << "first declared here";
      return diag;
    }
    routine->remove();
    symbols.insert(routine);
  }
  return success();
}

/// Parses the file at `path` and says in `file` what was read.
FailureOr<OwningOpRef<ModuleOp>> parseImport(ImportOp import, StringRef path, ImportedFile &file) {
  if (!llvm::sys::fs::is_regular_file(path))
    return import.emitError() << "expected a file to import, but '" << path << "' "
                              << (llvm::sys::fs::exists(path) ? "is none" : "does not exist");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return import.emitError() << "can't open '" << path << "': " << buffer.getError().message();
  StringRef contents = (*buffer)->getBuffer();
  file = {path.str(), digestOf(contents)};
  OwningOpRef<ModuleOp> library;
  if (succeeded(checkSourceLimits(contents, path, *import.getContext())))
    library = parseSourceString<ModuleOp>(contents, ParserConfig(import.getContext()), path);
  if (!library)
    return import.emitError() << "the imported file '" << path << "' is not valid";
  return library;
}

LogicalResult load(ModuleOp from, ModuleOp module, llvm::StringSet<> &seen,
                   std::vector<ImportedFile> &files) {
  for (ImportOp import : llvm::make_early_inc_range(from.getOps<ImportOp>())) {
    std::string path = resolvePath(import);
    // One file may be imported under several names.
    SmallString<256> file;
    if (llvm::sys::fs::real_path(path, file))
      file = path;
    if (seen.insert(file).second) {
      FailureOr<OwningOpRef<ModuleOp>> library = parseImport(import, path, files.emplace_back());
      if (failed(library) || failed(load(**library, module, seen, files)) ||
          failed(adoptRoutines(**library, module)))
        return failure();
    }
    import.erase();
  }
  return success();
}

/// `argument` can be given to a parameter of type `declared`: `?` takes any size.
bool accepts(Type declared, Type argument) {
  auto from = dyn_cast<RankedTensorType>(declared), to = dyn_cast<RankedTensorType>(argument);
  if (!from || !to)
    return declared == argument;
  return from.getElementType() == to.getElementType() &&
         succeeded(verifyCompatibleShape(from.getShape(), to.getShape()));
}

LogicalResult verifyCall(CallOp call, RoutineOp routine) {
  FunctionType type = routine.getFunctionType();
  auto fail = [&](InFlightDiagnostic diag) {
    diag.attachNote(routine.getLoc()) << "routine '@" << routine.getSymName() << "' is here";
    return diag;
  };
  if (type.getNumInputs() != call.getArgs().size())
    return fail(call.emitError() << "expected " << type.getNumInputs() << " arguments for '@"
                                 << routine.getSymName() << "', but got " << call.getArgs().size());
  if (type.getNumResults() != call.getNumResults())
    return fail(call.emitError() << "expected " << type.getNumResults() << " results of '@"
                                 << routine.getSymName() << "', but got " << call.getNumResults());
  for (auto [index, declared, arg] : llvm::enumerate(type.getInputs(), call.getArgs()))
    if (!accepts(declared, arg.getType()))
      return fail(call.emitError()
                  << "expected argument " << index << " of '@" << routine.getSymName()
                  << "' of type " << declared << ", but got " << arg.getType());
  for (auto [index, declared, result] : llvm::enumerate(type.getResults(), call.getResultTypes()))
    if (!accepts(declared, result))
      return fail(call.emitError()
                  << "expected result " << index << " of '@" << routine.getSymName() << "' of type "
                  << declared << ", but got " << result);
  return success();
}

/// Deepest nesting of routine calls; more is taken for recursion, which can't end here.
constexpr unsigned kMaxCallDepth = 64;

/// The names that stages, mailboxes and regions of a schedule have.
using Names = llvm::StringSet<>;

/// A stage, mailbox or region of a routine keeps its name if that is free, and gets a number if it
/// is not: a routine can be called more than once.
void giveName(Operation *op, Names &names) {
  auto name = op->getAttrOfType<StringAttr>("name");
  if (!name)
    return;
  std::string free = name.str();
  for (unsigned number = 2; !names.insert(free).second; ++number)
    free = (name.getValue() + "_" + llvm::Twine(number)).str();
  op->setAttr("name", StringAttr::get(op->getContext(), free));
}

/// Ops that binding makes of the calls of one schedule. A layer has some thousands.
constexpr int64_t kMaxInlinedOps = 65536;

/// A stage can't hold what stands beside it.
LogicalResult verifyPlace(CallOp call, RoutineOp routine) {
  if (isa<ScheduleOp>(call->getParentOp()))
    return success();
  for (Operation &op : routine.getBody().front())
    if (isa<StageOp, ParamOp, RanksOp, OperandOp, MailboxOp, RegionOp>(op)) {
      InFlightDiagnostic diag = call.emitError()
                                << "expected a call of '@" << routine.getSymName()
                                << "' outside the stages, as it has a '" << op.getName() << "'";
      diag.attachNote(op.getLoc()) << "it is here";
      return diag;
    }
  return success();
}

/// Counts the ops of a call that is about to be inlined; `inlined` are those before it.
LogicalResult countOps(CallOp call, RoutineOp routine, int64_t &inlined) {
  routine.walk([&](Operation *) { ++inlined; });
  if (inlined <= kMaxInlinedOps)
    return success();
  return call.emitError() << "expected at most " << kMaxInlinedOps
                          << " ops in all calls of a schedule together, but they are more with '@"
                          << routine.getSymName() << "'; call it less often";
}

/// Replaces `call` by the body of its routine; appends the calls of the body to `calls`.
void inlineCall(CallOp call, RoutineOp routine, unsigned depth, Names &names,
                SmallVectorImpl<std::pair<CallOp, unsigned>> &calls) {
  OpBuilder builder(call);
  IRMapping mapping;
  mapping.map(routine.getBody().getArguments(), call.getArgs());
  for (Operation &op : routine.getBody().front().without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    giveName(copy, names);
    copy->walk([&](Operation *inner) {
      // So that a message about it says which call it is of.
      inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc()));
      if (auto further = dyn_cast<CallOp>(inner))
        calls.emplace_back(further, depth + 1);
    });
  }
  auto yield = cast<YieldOp>(routine.getBody().front().getTerminator());
  for (auto [result, value] : llvm::zip_equal(call.getResults(), yield.getValues()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
}

} // namespace

Digest digestOf(StringRef contents) {
  return llvm::SHA256::hash(ArrayRef(contents.bytes_begin(), contents.bytes_end()));
}

LogicalResult loadImports(ModuleOp module, std::vector<ImportedFile> *files) {
  llvm::StringSet<> seen;
  std::vector<ImportedFile> read;
  LogicalResult result = load(module, module, seen, read);
  if (files)
    llvm::append_range(*files, std::move(read));
  return result;
}

static LogicalResult reportUnknown(CallOp call, ModuleOp module) {
  auto names =
      llvm::map_range(module.getOps<RoutineOp>(), [](RoutineOp r) { return r.getSymName(); });
  return call.emitError() << "expected a routine, but '@" << call.getCallee()
                          << "' is not declared in this file or its imports"
                          << nearestHint(call.getCallee(), names);
}

LogicalResult inlineCalls(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<std::pair<CallOp, unsigned>> calls;
  llvm::DenseMap<Operation *, Names> names;
  llvm::DenseMap<Operation *, int64_t> inlinedOps;
  for (auto schedule : module.getOps<ScheduleOp>()) {
    schedule.walk([&](CallOp call) { calls.emplace_back(call, 1u); });
    for (Operation &op : schedule.getBody().front())
      if (auto name = op.getAttrOfType<StringAttr>("name"))
        names[schedule].insert(name.getValue());
  }
  for (size_t next = 0; next < calls.size(); ++next) {
    auto [call, depth] = calls[next];
    auto routine = symbols.lookup<RoutineOp>(call.getCallee());
    if (!routine)
      return reportUnknown(call, module);
    if (depth > kMaxCallDepth)
      return call.emitError() << "expected calls at most " << kMaxCallDepth << " deep, but '@"
                              << call.getCallee() << "' calls itself, directly or through others";
    auto schedule = call->getParentOfType<ScheduleOp>();
    if (failed(verifyCall(call, routine)) || failed(verifyPlace(call, routine)) ||
        failed(countOps(call, routine, inlinedOps[schedule])))
      return failure();
    inlineCall(call, routine, depth, names[schedule], calls);
  }
  for (RoutineOp routine : llvm::make_early_inc_range(module.getOps<RoutineOp>()))
    routine.erase();
  return success();
}

} // namespace mono

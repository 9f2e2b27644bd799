// Warnings: what a schedule declares, or does, for nobody.
#include "dialect/Describe.h"
#include "dialect/Mono.h"
#include "lowering/Bind/Bind.h"
#include "lowering/Warnings.h"

using namespace mlir;

namespace mono {
namespace {

/// Whether `user` only puts something into `memory`.
bool onlyWrites(Operation *user, Value memory) {
  if (auto post = dyn_cast<PostOp>(user))
    return post.getMailbox() == memory;
  if (auto store = dyn_cast<StoreOp>(user))
    return store.getTarget() == memory;
  return false;
}

/// What is wrong with the use of a declaration, as the end of a sentence; empty if nothing.
StringRef complaint(Operation &declaration) {
  if (!isa<ParamOp, OperandOp, MailboxOp, RegionOp>(declaration))
    return "";
  Value value = declaration.getResult(0);
  if (value.use_empty())
    return "is never used";
  if (!isa<MailboxOp, RegionOp>(declaration) ||
      !llvm::all_of(value.getUsers(), [&](Operation *user) { return onlyWrites(user, value); }))
    return "";
  return isa<MailboxOp>(declaration) ? "is posted to, but nobody receives it"
                                     : "is written, but nobody reads it";
}

std::string nameOf(Operation &declaration) {
  if (auto param = dyn_cast<ParamOp>(declaration))
    return ("parameter '" + param.getName() + "'").str();
  return describe(declaration.getResult(0));
}

} // namespace

LogicalResult warnOfUnused(ModuleOp module, bool asErrors) {
  bool good = true;
  for (auto schedule : module.getOps<ScheduleOp>())
    for (Operation &op : schedule.getBody().front())
      if (StringRef what = complaint(op); !what.empty())
        good &= succeeded(warn(&op, asErrors, nameOf(op) + " " + what));
  module.walk([&](StreamOp stream) {
    if (stream.getResult().use_empty())
      good &= succeeded(warn(stream, asErrors,
                             "weights of " + describe(stream.getSource()) +
                                 " are fetched here, but nobody contracts them"));
  });
  return success(good);
}

} // namespace mono

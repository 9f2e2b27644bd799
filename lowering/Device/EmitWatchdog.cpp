// Bounded waits: the first that lasts too long is recorded in device memory, and a workgroup that
// misses something leaves.
#include "lowering/Device/Emitter.h"

#include "lowering/Device/Watchdog.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mono {

/// Of the counter so many low bits are left out, so that a budget and what has passed fit 32 bits.
static int64_t unitShift(int64_t cycles) {
  return std::max<int64_t>(llvm::bit_width(uint64_t(cycles)) - 31, 0);
}

Value Emitter::watchdogTime() {
  auto i64 = b.getI64Type();
  Value cycles =
      LLVM::CallIntrinsicOp::create(b, i64, b.getStringAttr("llvm.amdgcn.s.memtime"), ValueRange{})
          .getResult(0);
  Value shift = arith::ConstantIntOp::create(b, i64, unitShift(watchdogCycles));
  return arith::TruncIOp::create(b, b.getI32Type(), arith::ShRUIOp::create(b, cycles, shift));
}

Value Emitter::hasTimeSince(Value start) {
  Value elapsed = arith::SubIOp::create(b, watchdogTime(), start);
  int64_t most = watchdogCycles >> unitShift(watchdogCycles);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ule, elapsed, constantI32(int32_t(most)));
}

void Emitter::checkReceived(MailboxOp mailbox, ArrayRef<Value> words, ValueRange seen) {
  // Hidden, or LLVM would keep a mask of lanes in SGPRs for each word and each round of the loop,
  // and spill.
  SmallVector<Value> tags =
      llvm::map_to_vector(seen, [&](Value word) { return hidden(tagOf(word), "=v,0"); });
  auto isMissing = [&](Value seenTag) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, seenTag, tag);
  };
  Value missing = isMissing(tags.front());
  for (Value other : ArrayRef(tags).drop_front())
    missing = arith::OrIOp::create(b, missing, isMissing(other));
  guard(missing, [&] {
    // The first word that is not there.
    Value word = toI32(words.back()), found = tags.back();
    for (size_t i = words.size() - 1; i-- > 0;) {
      Value absent = isMissing(tags[i]);
      word = arith::SelectOp::create(b, absent, toI32(words[i]), word);
      found = arith::SelectOp::create(b, absent, tags[i], found);
    }
    Value memory = epochsAgain("; wait failed");
    record(memory, mailbox, word, found);
    leave(memory);
  });
}

Value Emitter::epochsAgain(const Twine &text) {
  return argumentPointer(hidden(kernelArguments, "=s,0", text),
                         cast<BlockArgument>(epochs).getArgNumber());
}

void Emitter::record(Value memory, MailboxOp mailbox, Value word, Value found) {
  auto field = [&](WatchdogField index) -> Value {
    int64_t offset = watchdogOffset(schedule.getCtas()) + 4 * static_cast<int64_t>(index);
    return LLVM::GEPOp::create(b, memory.getType(), b.getI8Type(), memory,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  };
  // The first to come says what it waited for.
  Value claim = LLVM::AtomicCmpXchgOp::create(b, field(WatchdogField::State), constantI32(0),
                                              constantI32(1), LLVM::AtomicOrdering::monotonic,
                                              LLVM::AtomicOrdering::monotonic, "agent");
  Value won = LLVM::ExtractValueOp::create(b, claim, ArrayRef<int64_t>{1});
  auto mailboxes = schedule.getBody().front().getOps<MailboxOp>();
  int64_t mailboxIndex = std::distance(mailboxes.begin(), llvm::find(mailboxes, mailbox));
  guard(won, [&] {
    for (auto [index, value] : {std::pair(WatchdogField::Rank, toI32(rank)),
                                {WatchdogField::Workgroup, toI32(cta)},
                                {WatchdogField::Stage, constantI32(stageIndex)},
                                {WatchdogField::Mailbox, constantI32(mailboxIndex)},
                                {WatchdogField::Word, word},
                                {WatchdogField::Wanted, tag},
                                {WatchdogField::Seen, found}})
      storeEpoch(value, field(index));
  });
}

// Which wavefronts of a workgroup leave must not depend on when they look. So one that leaves a
// wait marks the epoch word of its workgroup, and the others look at that behind the next
// barrier, which is behind the same wait for all of them. The record would not do: another
// workgroup may fill it when some have looked and some have not, and those that leave then owe the
// others what they were to store in LDS in front of a barrier that has no wait before it.
void Emitter::leave(Value memory) {
  storeEpoch(constantI32(int32_t(kLeftEpoch)), epochWordIn(memory));
  // It must be there before the barrier no longer waits for this wavefront.
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, "agent");
  endProgram();
}

void Emitter::behindReceives() {
  if (watchdogCycles == 0)
    return;
  Value now = loadEpoch(epochWordIn(epochsAgain("; behind receives")));
  Value left = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, readFirstLane(now),
                                     constantI32(int32_t(kLeftEpoch)));
  guard(left, [&] { endProgram(); });
}

void Emitter::endProgram() {
  // Not llvm.amdgcn.endpgm, which does not return: LLVM would lead all ways out to one at the end
  // of the kernel, past which whatever is live anywhere would have to be kept.
  LLVM::InlineAsmOp::create(b, TypeRange(), ValueRange(), "s_endpgm", "", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}

} // namespace mono

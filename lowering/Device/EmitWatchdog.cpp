// Bounded waits: a wait that lasts too long is recorded in device memory, and everybody leaves.
#include "lowering/Device/Emitter.h"

#include "lowering/Device/Watchdog.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mono {

Value Emitter::cycleCounter() {
  return LLVM::CallIntrinsicOp::create(b, b.getI64Type(), b.getStringAttr("llvm.amdgcn.s.memtime"),
                                       ValueRange{})
      .getResult(0);
}

void Emitter::emitWatchdog(MailboxOp mailbox, Value start, ArrayRef<Value> words, ValueRange seen) {
  auto i32 = b.getI32Type();
  auto pointer = cast<LLVM::LLVMPointerType>(epochs.getType());
  auto field = [&](WatchdogField index) -> Value {
    int64_t offset = watchdogOffset(schedule.getCtas()) + 4 * static_cast<int64_t>(index);
    return LLVM::GEPOp::create(b, pointer, b.getI8Type(), epochs,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  };
  auto store = [&](WatchdogField index, Value value) {
    LLVM::StoreOp::create(b, value, field(index), /*alignment=*/4, /*isVolatile=*/false,
                          /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::monotonic, "agent");
  };

  Value elapsed = arith::SubIOp::create(b, cycleCounter(), start);
  Value late =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, elapsed,
                            arith::ConstantIntOp::create(b, b.getI64Type(), watchdogCycles));
  Value state = LLVM::LoadOp::create(b, i32, field(WatchdogField::State), /*alignment=*/4,
                                     /*isVolatile=*/false, /*isNonTemporal=*/false,
                                     /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                     LLVM::AtomicOrdering::monotonic, "agent");
  Value others = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, state, constantI32(0));
  guard(arith::OrIOp::create(b, late, others), [&] {
    // The first to come says what it waited for.
    Value claim = LLVM::AtomicCmpXchgOp::create(b, field(WatchdogField::State), constantI32(0),
                                                constantI32(1), LLVM::AtomicOrdering::monotonic,
                                                LLVM::AtomicOrdering::monotonic, "agent");
    Value won = LLVM::ExtractValueOp::create(b, claim, ArrayRef<int64_t>{1});
    guard(won, [&] {
      Value word = toI32(words.front()), found = tagOf(seen.front());
      for (auto [index, value] : llvm::zip_equal(words.drop_front(), seen.drop_front())) {
        Value fresh = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, found, tag);
        word = arith::SelectOp::create(b, fresh, toI32(index), word);
        found = arith::SelectOp::create(b, fresh, tagOf(value), found);
      }
      int64_t mailboxIndex = 0;
      for (auto other : schedule.getBody().front().getOps<MailboxOp>()) {
        if (other == mailbox)
          break;
        ++mailboxIndex;
      }
      store(WatchdogField::Rank, toI32(rank));
      store(WatchdogField::Workgroup, toI32(cta));
      store(WatchdogField::Stage, constantI32(stageIndex));
      store(WatchdogField::Mailbox, constantI32(mailboxIndex));
      store(WatchdogField::Word, word);
      store(WatchdogField::Wanted, tag);
      store(WatchdogField::Seen, found);
    });
    // A wavefront that has ended no longer counts at barriers, so the others come to their own
    // waits and leave there.
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.amdgcn.endpgm"), ValueRange{});
  });
}

} // namespace mono

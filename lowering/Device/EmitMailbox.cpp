// Posts and polls: tagged 8-byte words, payload in the low half, this launch's epoch in the high.
// An aligned 8-byte access cannot tear and its tag speaks for its payload, so relaxed accesses of
// the right scope suffice: no fence, no flag, no barrier (LLVM AMDGPUUsage, memory model gfx942).
#include "lowering/Device/Emitter.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "lowering/Check/Checks.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

/// System scope crosses devices, agent scope stays on one (scope bits: CDNA4 ISA 9.1.10).
static StringRef syncScope(bool peers) { return peers ? "" : "agent"; }

/// Bytes from a slot to the next. Slots of peers mailboxes are as far apart as the memory says that
/// this kernel may share with others: behind the addresses of the peer table.
Value Emitter::slotStride(MailboxOp mailbox) {
  if (mailbox.getScope() == Scope::Device)
    return arith::ConstantIntOp::create(b, b.getI64Type(), slotBytes(mailbox));
  Value entry = LLVM::GEPOp::create(b, peerTable.getType(), b.getI64Type(), peerTable,
                                    ArrayRef<LLVM::GEPArg>{int32_t(ranks)});
  return LLVM::LoadOp::create(b, b.getI64Type(), entry, /*alignment=*/8);
}

Value Emitter::slotPointer(MailboxOp mailbox, Value memory) {
  auto pointer = cast<LLVM::LLVMPointerType>(memory.getType());
  Value start = LLVM::GEPOp::create(b, pointer, b.getI8Type(), memory,
                                    ArrayRef<LLVM::GEPArg>{int32_t(*mailbox.getOffset())});
  int64_t slots = mailbox.getSlots();
  if (slots == 1)
    return start;
  Value slot = arith::RemUIOp::create(b, tag, constantI32(slots));
  Value bytes = arith::MulIOp::create(b, arith::ExtUIOp::create(b, b.getI64Type(), slot),
                                      slotStride(mailbox));
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), start, ArrayRef<LLVM::GEPArg>{bytes});
}

Value Emitter::peerMemory(Value ofRank) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Value entry = LLVM::GEPOp::create(b, peerTable.getType(), b.getI64Type(), peerTable,
                                    ArrayRef<LLVM::GEPArg>{toI64(ofRank)});
  return LLVM::LoadOp::create(b, pointer, entry, /*alignment=*/8);
}

Value Emitter::ownSlot(MailboxOp mailbox) {
  bool peers = mailbox.getScope() == Scope::Peers;
  return slotPointer(mailbox, peers ? peerMemory(rank) : deviceMailboxes);
}

Value Emitter::wordPointer(Value base, Value word) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI64Type(), base,
                             ArrayRef<LLVM::GEPArg>{toI64(word)});
}

Value Emitter::tagOf(Value word) {
  Value shifted =
      arith::ShRUIOp::create(b, word, arith::ConstantIntOp::create(b, b.getI64Type(), 32));
  return arith::TruncIOp::create(b, b.getI32Type(), shifted);
}

SmallVector<Value> Emitter::packWords(Value chunk) {
  auto type = cast<VectorType>(chunk.getType());
  int64_t share = elementsOfWord(type.getElementType());
  auto i64 = b.getI64Type();
  Value high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, tag),
                                     arith::ConstantIntOp::create(b, i64, 32));
  SmallVector<Value> words;
  auto wordVector = VectorType::get({type.getNumElements() / share}, b.getI32Type());
  Value payloads = vector::BitCastOp::create(b, wordVector, chunk);
  for (int64_t i = 0; i < wordVector.getNumElements(); ++i) {
    Value low = arith::ExtUIOp::create(b, i64, vector::ExtractOp::create(b, payloads, i));
    words.push_back(arith::OrIOp::create(b, high, low));
  }
  return words;
}

Value Emitter::unpackWords(ArrayRef<Value> payloads, Type element) {
  int64_t count = payloads.size();
  Value words =
      vector::FromElementsOp::create(b, VectorType::get({count}, b.getI32Type()), payloads);
  return vector::BitCastOp::create(b, VectorType::get({count * elementsOfWord(element)}, element),
                                   words);
}

Distribution Emitter::wordsOf(RankedTensorType type) const {
  return {type, threadCount, elementsOfWord(type.getElementType())};
}

Distribution Emitter::wordPairsOf(RankedTensorType type) const {
  int64_t share = elementsOfWord(type.getElementType());
  return {type, threadCount, share, 2 * share};
}

/// Codes whose words lie across threads are put together in LDS.
SmallVector<Value> Emitter::inWords(Value tensor, int64_t scratch) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Distribution d = wordsOf(type);
  if (d.width == distributionOf(type).width)
    return SmallVector<Value>(inRegisters(tensor));
  int64_t home = inLds(tensor, scratch);
  willRead({home, ldsBytes(type)});
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk)
    chunks.push_back(
        ldsLoad(home, type.getElementType(), d.elements, firstElement(d, chunk), d.width));
  return chunks;
}

LogicalResult Emitter::emitPost(PostOp op) {
  auto mailbox = op.getMailbox().getDefiningOp<MailboxOp>();
  bool peers = mailbox.getScope() == Scope::Peers;
  auto type = cast<RankedTensorType>(op.getValue().getType());
  Distribution d = wordsOf(type);
  SmallVector<int64_t> strides = stridesOf(staticValues(mailbox.getShape()));
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  SmallVector<Value> chunks = inWords(op.getValue(), scratchOf(op));
  SmallVector<Value> targets;
  if (peers)
    for (int64_t peer = 0; peer < ranks; ++peer)
      targets.push_back(slotPointer(mailbox, peerMemory(constant(peer))));
  else
    targets.push_back(slotPointer(mailbox, deviceMailboxes));
  // Receives are waits of single wavefronts; the others would run ahead of them.
  if (op->hasAttr(kAfterWaitsAttr) && hazards.waiting())
    barrier();

  for (auto [chunk, value] : llvm::enumerate(chunks))
    forOwners(d, chunk, [&, value = value](Value first) {
      SmallVector<Value> words = packWords(value);
      Value at = divide(address(offsets, unflatten(first, type.getShape()), strides),
                        elementsOfWord(type.getElementType()));
      for (Value target : targets)
        for (auto [i, word] : llvm::enumerate(words))
          LLVM::StoreOp::create(b, word, wordPointer(target, add(at, i)), /*alignment=*/8,
                                /*isVolatile=*/false, /*isNonTemporal=*/false,
                                /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic,
                                syncScope(peers));
    });
  return success();
}

SmallVector<Value> Emitter::poll(MailboxOp mailbox, Value slot, ArrayRef<Value> words) {
  auto i32 = b.getI32Type();
  auto i64 = b.getI64Type();
  StringRef scope = syncScope(mailbox.getScope() == Scope::Peers);
  SmallVector<Value> pointers =
      llvm::map_to_vector(words, [&](Value word) { return wordPointer(slot, word); });
  Value start = watchdogCycles ? watchdogTime() : Value();
  SmallVector<Type> types(words.size(), i64);
  auto loop = scf::WhileOp::create(
      b, types, ValueRange{},
      [&](OpBuilder &, Location, ValueRange) {
        SmallVector<Value> seen;
        Value again;
        for (Value pointer : pointers)
          seen.push_back(LLVM::LoadOp::create(b, i64, pointer, /*alignment=*/8,
                                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                                              /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                              LLVM::AtomicOrdering::monotonic, scope));
        for (Value word : seen) {
          Value stale = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, tagOf(word), tag);
          again = again ? arith::OrIOp::create(b, again, stale) : stale;
        }
        if (watchdogCycles)
          again = arith::AndIOp::create(b, again, hasTimeSince(start));
        scf::ConditionOp::create(b, again, seen);
      },
      [&](OpBuilder &, Location, ValueRange seen) {
        ROCDL::SSleepOp::create(b, 1);
        scf::YieldOp::create(b);
      });
  if (watchdogCycles)
    checkReceived(mailbox, words, loop.getResults());
  return llvm::map_to_vector(loop.getResults(), [&](Value word) -> Value {
    return arith::TruncIOp::create(b, i32, word);
  });
}

} // namespace mono

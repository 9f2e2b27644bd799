// Receives: which thread polls which words of a mailbox, and what becomes of them.
#include "lowering/Device/Emitter.h"
#include "lowering/Device/Lanes.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Check/Checks.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

/// Words a thread polls in one round: more would cost registers, fewer round trips to memory.
static constexpr int64_t kPollBatch = 16;

SmallVector<Value> Emitter::pollAll(MailboxOp mailbox, Value slot, ArrayRef<Value> words) {
  SmallVector<Value> payloads;
  for (size_t i = 0; i < words.size(); i += kPollBatch)
    llvm::append_range(
        payloads,
        poll(mailbox, slot, words.slice(i, std::min<size_t>(kPollBatch, words.size() - i))));
  return payloads;
}

LogicalResult Emitter::emitReceiveRows(ReceiveRowsOp op) {
  auto mailbox = op.getSource().getDefiningOp<MailboxOp>();
  auto region = op.getRegion().getDefiningOp<RegionOp>();
  int64_t columns = staticValues(mailbox.getShape()).back(), mailboxRows = rowsOf(op.getSource());
  Type element = mailbox.getElement();
  int64_t count = cast<RankedTensorType>(op.getRows().getType()).getNumElements();
  auto type = RankedTensorType::get({count, columns}, element);
  Distribution d = wordPairsOf(type);
  int64_t indices = inLds(op.getRows(), scratchOf(op));
  willRead({indices, count * 4});
  Value slot = ownSlot(mailbox);
  int64_t perChunk = d.width / elementsOfWord(element);

  // A row outside the mailbox waits for the last one, which comes too, and is zero.
  SmallVector<Value> words, valid;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    auto [row, column] = rowAndColumn(firstElement(d, chunk), columns, indices, count);
    Value last = constantI32(mailboxRows - 1);
    valid.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::ule, row, last));
    Value clamped =
        arith::IndexCastUIOp::create(b, b.getIndexType(), arith::MinUIOp::create(b, row, last));
    Value at = divide(add(mul(clamped, columns), column), elementsOfWord(element));
    for (int64_t i = 0; i < perChunk; ++i)
      words.push_back(add(at, i));
  }
  SmallVector<Value> payloads = pollAll(mailbox, slot, words);
  auto chunkOfWords = VectorType::get({d.width}, element);
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(chunkOfWords)));
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    Value value = unpackWords(ArrayRef(payloads).slice(chunk * perChunk, perChunk), element);
    chunks.push_back(arith::SelectOp::create(b, valid[chunk], value, zero));
  }
  hazards.recordReceive();
  storeToRegion(region, d, chunks);
  return success();
}

/// Emits one mono.receive, over values all its rounds need.
class ReceiveEmitter {
public:
  ReceiveEmitter(Emitter &emitter, ReceiveOp op);

  void emit();

private:
  /// Each thread polls what it holds of the result, as many full chunks at a time as fit a round; a
  /// chunk that some threads have no part of alone.
  void receiveChunks();
  void finish(int64_t chunk, ArrayRef<Value> payloads);
  /// Appends the words of the elements of a term from `first` on that make one chunk.
  void addWords(Value first, Value term, SmallVectorImpl<Value> &words);
  SmallVector<Value> wordsOfAllTerms(Value first);
  /// The elements of a term in f32.
  Value asAddend(ArrayRef<Value> payloads);

  /// True if the lanes of a wavefront share the terms of a sum: a thread that waited for all terms
  /// of what it holds would go to memory several times.
  bool sharesTerms();
  /// The sum, with the results in the first lanes of the first wavefront, which polls all terms.
  Value sumOverLanes();
  Value sumOfMyTerms();

  Emitter &e;
  ImplicitLocOpBuilder &b;
  ReceiveOp op;
  MailboxOp mailbox;
  RegionOp region; ///< null where the box becomes a tensor
  Type element;
  int64_t terms;
  SmallVector<int64_t> shape; ///< of a term
  SmallVector<int64_t> strides;
  Distribution d;
  int64_t wordsPerChunk; ///< of a thread and term
  SmallVector<Value> offsets;
  Value slot;
  SmallVector<Value> results; ///< by chunk
};

ReceiveEmitter::ReceiveEmitter(Emitter &emitter, ReceiveOp op)
    : e(emitter), b(emitter.b), op(op), mailbox(op.getSource().getDefiningOp<MailboxOp>()),
      region(op.getRegion() ? op.getRegion().getDefiningOp<RegionOp>() : RegionOp()),
      element(mailbox.getElement()), terms(op.getSum() ? op.getStaticSizes().front() : 1),
      shape(ArrayRef(op.getStaticSizes()).drop_front(op.getSum() ? 1 : 0)),
      strides(stridesOf(staticValues(mailbox.getShape()))),
      d(region ? emitter.wordPairsOf(RankedTensorType::get(shape, element))
               : emitter.wordsOf(RankedTensorType::get(shape, element))),
      wordsPerChunk(d.width / elementsOfWord(element)),
      offsets(emitter.evaluate(op.getOffsets(), op.getOffsetArgs())),
      slot(emitter.ownSlot(mailbox)) {}

void ReceiveEmitter::emit() {
  if (region)
    e.willWrite(rangeOf(region));
  if (sharesTerms())
    results.push_back(sumOverLanes());
  else
    receiveChunks();
  e.hazards.recordReceive();
  if (op.getResult())
    e.setTile(op.getResult(), std::move(results));
}

void ReceiveEmitter::addWords(Value first, Value term, SmallVectorImpl<Value> &words) {
  int64_t share = elementsOfWord(element);
  Value at = e.divide(e.address(offsets, e.unflatten(first, shape), strides), share);
  at = e.add(at, e.mul(term, strides.front() / share));
  for (int64_t i = 0; i < wordsPerChunk; ++i)
    words.push_back(e.add(at, i));
}

SmallVector<Value> ReceiveEmitter::wordsOfAllTerms(Value first) {
  SmallVector<Value> words;
  for (int64_t term = 0; term < terms; ++term)
    addWords(first, e.constant(term), words);
  return words;
}

Value ReceiveEmitter::asAddend(ArrayRef<Value> payloads) {
  Value value = e.unpackWords(payloads, element);
  if (element.isF32())
    return value;
  return arith::ExtFOp::create(b, VectorType::get({d.width}, b.getF32Type()), value);
}

void ReceiveEmitter::receiveChunks() {
  int64_t perChunk = terms * wordsPerChunk, perRound = std::max<int64_t>(1, kPollBatch / perChunk);
  for (int64_t chunk = 0; chunk < d.chunks;) {
    if (!d.full(chunk)) {
      SmallVector<Type> types(perChunk, b.getI32Type());
      finish(chunk, e.ownersOrZero(d, chunk, types, [&](Value first) {
        return e.pollAll(mailbox, slot, wordsOfAllTerms(first));
      }));
      ++chunk;
      continue;
    }
    int64_t begin = chunk;
    SmallVector<Value> words;
    for (; chunk < d.chunks && d.full(chunk) && chunk - begin < perRound; ++chunk)
      llvm::append_range(words, wordsOfAllTerms(e.firstElement(d, chunk)));
    SmallVector<Value> payloads = e.pollAll(mailbox, slot, words);
    for (int64_t done = begin; done < chunk; ++done)
      finish(done, ArrayRef(payloads).slice((done - begin) * perChunk, perChunk));
  }
}

void ReceiveEmitter::finish(int64_t chunk, ArrayRef<Value> payloads) {
  if (region) {
    e.forOwners(d, chunk, [&](Value first) {
      e.storeToRegion(region, first, e.unpackWords(payloads, element));
    });
    return;
  }
  if (!op.getSum()) {
    results.push_back(e.unpackWords(payloads, element));
    return;
  }
  // Rising order of the first axis: every rank adds alike.
  Value sum;
  for (int64_t term = 0; term < terms; ++term) {
    Value value = asAddend(payloads.slice(term * wordsPerChunk, wordsPerChunk));
    sum = sum ? arith::AddFOp::create(b, sum, value) : value;
  }
  results.push_back(sum);
}

//===----------------------------------------------------------------------===//
// Few sums of many terms
//===----------------------------------------------------------------------===//

bool ReceiveEmitter::sharesTerms() {
  return op.getSum() && terms * wordsPerChunk > kPollBatch &&
         d.elements / d.width <= gfx950::kWaveSize / 2;
}

/// Lanes of a wavefront for each term: those of its elements, filled up to a power of two.
static int64_t lanesOfTerm(const Distribution &d) {
  return llvm::PowerOf2Ceil(d.elements / d.width);
}

Value ReceiveEmitter::sumOfMyTerms() {
  int64_t perTerm = lanesOfTerm(d), together = gfx950::kWaveSize / perTerm;
  Value mine = e.divide(e.lane, perTerm);
  Value first = arith::MinUIOp::create(b, e.mul(e.modulo(e.lane, perTerm), d.width),
                                       e.constant(d.elements - d.width));
  // Lanes past the last term wait for that one, too, and add nothing.
  SmallVector<Value> words, valid;
  for (int64_t term = 0; term < terms; term += together) {
    Value number = e.add(mine, term);
    valid.push_back(e.lessThan(number, terms));
    addWords(first, arith::MinUIOp::create(b, number, e.constant(terms - 1)), words);
  }
  SmallVector<Value> payloads = e.pollAll(mailbox, slot, words);
  auto type = VectorType::get({d.width}, b.getF32Type());
  Value nothing = arith::ConstantOp::create(
      b, cast<TypedAttr>(DenseElementsAttr::get(type, b.getF32FloatAttr(-0.0f))));
  Value sum;
  for (auto [round, present] : llvm::enumerate(valid)) {
    Value value = asAddend(ArrayRef(payloads).slice(round * wordsPerChunk, wordsPerChunk));
    value = arith::SelectOp::create(b, present, value, nothing);
    sum = sum ? arith::AddFOp::create(b, sum, value) : value;
  }
  return sum;
}

Value ReceiveEmitter::sumOverLanes() {
  auto type = VectorType::get({d.width}, b.getF32Type());
  auto build = [&](OpBuilder &, Location) {
    Value mine = sumOfMyTerms();
    SmallVector<Value> sums;
    for (int64_t i = 0; i < d.width; ++i)
      sums.push_back(
          combineLanes(b, vector::ExtractOp::create(b, mine, i), lanesOfTerm(d), gfx950::kWaveSize,
                       [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); }));
    scf::YieldOp::create(b, Value(vector::FromElementsOp::create(b, type, sums)));
  };
  auto others = [&](OpBuilder &, Location) {
    scf::YieldOp::create(b,
                         Value(arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)))));
  };
  return scf::IfOp::create(b, e.lessThan(e.wave, 1), build, others).getResult(0);
}

LogicalResult Emitter::emitReceive(ReceiveOp op) {
  ReceiveEmitter(*this, op).emit();
  return success();
}

} // namespace mono

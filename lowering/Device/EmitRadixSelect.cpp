// Exact top-k of long rows by the whole workgroup. The keys stay in registers; a radix search finds
// the k-th largest, 8 bits a pass, and counts in the order of the elements give the positions.
#include "lowering/Device/Emitter.h"
#include "lowering/Device/Lanes.h"
#include "lowering/Device/SelectPlan.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

/// Two counts share a word: keys above the k-th largest (fewer than k, so at most 4095) below keys
/// equal to it.
static constexpr int64_t kAboveBits = 12;

/// Bins a lane of the scanning wavefront looks at.
static constexpr int64_t kLaneBins = SelectPlan::kBins / gfx950::kWaveSize;

/// Emits one selection.
class RadixSelectEmitter {
public:
  RadixSelectEmitter(Emitter &emitter, SelectOp op);
  void emit();

private:
  /// What a thread holds of a row in one chunk.
  struct Chunk {
    SmallVector<Value> keys; ///< i32 of selectableBits(); 0 also outside the row
    SmallVector<Value> payload;
    Value firstIndex; ///< i32, in the row
  };
  /// The k-th largest key of a row (during the search, its upper bits), and how many keys equal to
  /// it are among the k largest.
  struct Threshold {
    Value key, ties; ///< i32, the same in all threads
  };

  void clear();
  void selectRow(int64_t row);
  SmallVector<Chunk> chunksOf(int64_t row);

  void search(ArrayRef<Chunk> chunks);
  void count(ArrayRef<Chunk> chunks, Value shift, Value prefix);
  void findBin(Value prefix, Value wanted);
  Threshold loadFound();
  Threshold loadThreshold();
  SmallVector<Value> sumCopies();

  void place(int64_t row, ArrayRef<Chunk> chunks);
  Value countsBelow(const Chunk &chunk, Threshold threshold, int64_t number);
  void sumShares(int64_t shares);
  void storeSelected(int64_t row, const Chunk &chunk, Threshold threshold, Value before);

  // i32 and LDS shorthands.
  Value i32(int64_t value) { return e.constantI32(value); }
  Value index(Value i32) { return arith::IndexCastUIOp::create(b, b.getIndexType(), i32); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  Value isAbove(Value key, Threshold t) { return compare(arith::CmpIPredicate::ugt, key, t.key); }
  Value isTie(Value key, Threshold t) { return compare(arith::CmpIPredicate::eq, key, t.key); }
  /// Both counts of one key, as they share a word.
  Value countOf(Value key, Threshold t);
  Value loadWord(int64_t area, int64_t words, Value at);
  void storeWord(int64_t area, int64_t words, Value at, Value value);
  void fill(int64_t area, int64_t words, TypedAttr value);
  void addToWord(int64_t area, Value at, Value value);
  void onFirstWave(function_ref<void()> body);

  Emitter &e;
  ImplicitLocOpBuilder &b;
  SelectOp op;
  SelectPlan plan;
  Distribution distribution;
  int64_t scratch;
  SmallVector<Value> keys, payload; ///< one vector a chunk of the whole tensor
};

RadixSelectEmitter::RadixSelectEmitter(Emitter &emitter, SelectOp op)
    : e(emitter), b(emitter.b), op(op), plan(op, emitter.threadCount),
      distribution(emitter.distributionOf(cast<RankedTensorType>(op.getKey().getType()))),
      scratch(scratchOf(op)) {}

void RadixSelectEmitter::emit() {
  keys = SmallVector<Value>(e.inRegisters(op.getKey()));
  if (op.getPayload())
    payload = SmallVector<Value>(e.inRegisters(op.getPayload()));
  e.willWrite({scratch, plan.bytes});
  clear();
  for (int64_t row = 0; row < plan.rows; ++row)
    selectRow(row);
  e.setTile(op.getIndices(), scratch + plan.indices);
  if (op.getPayload())
    e.setTile(op.getValues(), scratch + plan.values);
}

/// An empty histogram, and results as they are where too few keys can be selected.
void RadixSelectEmitter::clear() {
  fill(scratch + plan.histogram, SelectPlan::kBins * SelectPlan::kCopies, b.getI32IntegerAttr(0));
  fill(scratch + plan.indices, plan.rows * plan.k, b.getI32IntegerAttr(-1));
  if (op.getPayload())
    fill(scratch + plan.values, plan.rows * plan.k, b.getF32FloatAttr(0));
}

void RadixSelectEmitter::selectRow(int64_t row) {
  SmallVector<Chunk> chunks = chunksOf(row);
  e.barrier(); // the results and the histogram are clear; the previous row has read its shares
  search(chunks);
  place(row, chunks);
}

SmallVector<RadixSelectEmitter::Chunk> RadixSelectEmitter::chunksOf(int64_t row) {
  const Distribution &d = distribution;
  int64_t begin = row * plan.candidates, end = begin + plan.candidates, step = d.threads * d.width;
  SmallVector<Chunk> chunks;
  for (int64_t number = begin / step; number * step < end; ++number) {
    Value first = e.mul(e.add(e.thread, number * d.threads), d.width), inside;
    if (number * step < begin)
      inside = compare(arith::CmpIPredicate::uge, first, e.constant(begin));
    if ((number + 1) * step > end) {
      Value below = e.lessThan(first, end);
      inside = inside ? arith::AndIOp::create(b, inside, below).getResult() : below;
    }
    Chunk chunk;
    chunk.firstIndex = arith::SubIOp::create(b, e.toI32(first), i32(begin));
    for (int64_t i = 0; i < d.width; ++i) {
      Value key = selectableBits(b, vector::ExtractOp::create(b, keys[number], i));
      chunk.keys.push_back(inside ? arith::SelectOp::create(b, inside, key, i32(0)) : key);
      if (op.getPayload())
        chunk.payload.push_back(vector::ExtractOp::create(b, payload[number], i));
    }
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

//===----------------------------------------------------------------------===//
// Search for the k-th largest key
//===----------------------------------------------------------------------===//

/// From the highest byte down: of the keys that agree with the k-th largest so far, the histogram
/// of the next byte says which value it has there.
void RadixSelectEmitter::search(ArrayRef<Chunk> chunks) {
  constexpr int64_t kPasses = 32 / SelectPlan::kBits;
  auto pass = [&](OpBuilder &, Location, Value number, ValueRange carried) {
    Value shift = arith::MulIOp::create(
        b, arith::SubIOp::create(b, i32(kPasses - 1), e.toI32(number)), i32(SelectPlan::kBits));
    count(chunks, shift, carried[0]);
    e.barrier();
    onFirstWave([&] { findBin(carried[0], carried[1]); });
    e.barrier();
    Threshold found = loadFound();
    scf::YieldOp::create(b, ValueRange{found.key, found.ties});
  };
  scf::ForOp::create(b, e.constant(0), e.constant(kPasses), e.constant(1),
                     ValueRange{i32(0), i32(plan.k)}, pass);
}

RadixSelectEmitter::Threshold RadixSelectEmitter::loadFound() {
  auto load = [&](int64_t word) {
    return e.readFirstLane(loadWord(scratch + plan.found, 2, e.constant(word)));
  };
  return {load(0), load(1)};
}

RadixSelectEmitter::Threshold RadixSelectEmitter::loadThreshold() {
  Threshold found = loadFound();
  // 0 says that fewer than k keys can be selected: all of them are above 1, which is no key.
  return {arith::MaxUIOp::create(b, found.key, i32(1)), found.ties};
}

void RadixSelectEmitter::count(ArrayRef<Chunk> chunks, Value shift, Value prefix) {
  Value copy = e.modulo(e.lane, SelectPlan::kCopies), one = i32(1);
  for (const Chunk &chunk : chunks)
    for (Value key : chunk.keys) {
      Value rest = arith::ShRUIOp::create(b, key, shift);
      Value agrees = compare(arith::CmpIPredicate::eq,
                             arith::ShRUIOp::create(b, rest, i32(SelectPlan::kBits)), prefix);
      e.guard(agrees, [&] {
        Value bin = index(arith::AndIOp::create(b, rest, i32(SelectPlan::kBins - 1)));
        addToWord(scratch + plan.histogram, e.add(e.mul(bin, SelectPlan::kCopies), copy), one);
      });
    }
}

/// Reads the counts of this lane's bins and clears them for the next pass. Lane 0 has the highest
/// bins; the first result is the lowest bin of the lane.
SmallVector<Value> RadixSelectEmitter::sumCopies() {
  constexpr int64_t kWords = SelectPlan::kBins * SelectPlan::kCopies, kWidth = 4;
  int64_t area = scratch + plan.histogram;
  Type i32Type = b.getI32Type();
  Value zeros = arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(VectorType::get({kWidth}, i32Type))));
  Value lowest = arith::SubIOp::create(b, e.constant(gfx950::kWaveSize - 1), e.lane);
  Value first = e.mul(lowest, kLaneBins * SelectPlan::kCopies);
  SmallVector<Value> counts;
  for (int64_t bin = 0; bin < kLaneBins; ++bin) {
    Value sum;
    for (int64_t copy = 0; copy < SelectPlan::kCopies; copy += kWidth) {
      Value at = e.add(first, bin * SelectPlan::kCopies + copy);
      Value words = e.ldsLoad(area, i32Type, kWords, at, kWidth);
      sum = sum ? arith::AddIOp::create(b, sum, words).getResult() : words;
      e.ldsStore(area, kWords, at, zeros);
    }
    counts.push_back(vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum));
  }
  return counts;
}

/// On one wavefront: finds the bin in which the `wanted` largest keys end, counted from the
/// highest; stores `prefix` with the bin behind it, and how many of them are in the bin.
void RadixSelectEmitter::findBin(Value prefix, Value wanted) {
  SmallVector<Value> counts = sumCopies();
  // The lowest bin also has the keys that can't be selected. If there are too few others, the
  // search ends there.
  Value last = compare(arith::CmpIPredicate::eq, e.lane, e.constant(gfx950::kWaveSize - 1));
  counts[0] = arith::SelectOp::create(b, last, i32(1 << 30), counts[0]);
  Value laneSum = counts[0];
  for (Value other : ArrayRef(counts).drop_front())
    laneSum = arith::AddIOp::create(b, laneSum, other);
  Value before = arith::SubIOp::create(b, inclusiveSum(b, laneSum), laneSum);
  Value lowest = arith::MulIOp::create(
      b, arith::SubIOp::create(b, i32(gfx950::kWaveSize - 1), e.toI32(e.lane)), i32(kLaneBins));
  Value firstKey =
      arith::OrIOp::create(b, arith::ShLIOp::create(b, prefix, i32(SelectPlan::kBits)), lowest);
  for (int64_t bin = kLaneBins - 1; bin >= 0; --bin) {
    Value after = arith::AddIOp::create(b, before, counts[bin]);
    Value ends = arith::AndIOp::create(b, compare(arith::CmpIPredicate::ult, before, wanted),
                                       compare(arith::CmpIPredicate::uge, after, wanted));
    e.guard(ends, [&] {
      storeWord(scratch + plan.found, 2, e.constant(0),
                arith::OrIOp::create(b, firstKey, i32(bin)));
      storeWord(scratch + plan.found, 2, e.constant(1), arith::SubIOp::create(b, wanted, before));
    });
    before = after;
  }
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// A selected key goes behind those selected before it. The order of the elements is chunk,
/// wavefront, lane, element: counts of each share (chunk, wavefront) are added up in LDS.
void RadixSelectEmitter::place(int64_t row, ArrayRef<Chunk> chunks) {
  int64_t waves = e.threadCount / gfx950::kWaveSize, shares = chunks.size() * waves;
  SmallVector<Value> below;
  Threshold threshold = loadThreshold();
  for (auto [number, chunk] : llvm::enumerate(chunks))
    below.push_back(countsBelow(chunk, threshold, number));
  e.barrier();
  onFirstWave([&] { sumShares(shares); });
  e.barrier();
  e.willTouch({{scratch + plan.found, plan.indices - plan.found}},
              {{scratch + plan.indices, plan.bytes - plan.indices}});
  // Read anew, so that what each key compared like is not kept in scalar registers meanwhile.
  threshold = loadThreshold();
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    Value earlier = loadWord(scratch + plan.shares, shares, e.add(e.wave, int64_t(number) * waves));
    storeSelected(row, chunk, threshold, arith::AddIOp::create(b, earlier, below[number]));
  }
}

Value RadixSelectEmitter::countOf(Value key, Threshold threshold) {
  Value above = arith::ExtUIOp::create(b, b.getI32Type(), isAbove(key, threshold));
  return arith::SelectOp::create(b, isTie(key, threshold), i32(1 << kAboveBits), above);
}

/// Counts of the chunk in lower lanes; stores those of the whole wavefront as its share.
Value RadixSelectEmitter::countsBelow(const Chunk &chunk, Threshold threshold, int64_t number) {
  Value above = i32(0), ties = i32(0), own = i32(0);
  for (Value key : chunk.keys) {
    above = addLowerLanes(b, isAbove(key, threshold), above);
    ties = addLowerLanes(b, isTie(key, threshold), ties);
    own = arith::AddIOp::create(b, own, countOf(key, threshold));
  }
  Value below = arith::OrIOp::create(b, arith::ShLIOp::create(b, ties, i32(kAboveBits)), above);
  Value isLast = compare(arith::CmpIPredicate::eq, e.lane, e.constant(gfx950::kWaveSize - 1));
  e.guard(isLast, [&] {
    int64_t waves = e.threadCount / gfx950::kWaveSize;
    storeWord(scratch + plan.shares, distribution.chunks * waves, e.add(e.wave, number * waves),
              arith::AddIOp::create(b, below, own));
  });
  return below;
}

/// On one wavefront: turns the counts of the shares into sums over the shares before.
void RadixSelectEmitter::sumShares(int64_t shares) {
  int64_t area = scratch + plan.shares;
  Value before = i32(0);
  for (int64_t first = 0; first < shares; first += gfx950::kWaveSize) {
    Value at = e.add(e.lane, first), exists = e.lessThan(at, shares);
    Value word = loadWord(area, shares, arith::MinUIOp::create(b, at, e.constant(shares - 1)));
    Value own = arith::SelectOp::create(b, exists, word, i32(0));
    Value upTo = inclusiveSum(b, own);
    e.guard(exists, [&] {
      storeWord(area, shares, at,
                arith::AddIOp::create(b, before, arith::SubIOp::create(b, upTo, own)));
    });
    Value all = ROCDL::ReadlaneOp::create(b, b.getI32Type(), upTo, i32(gfx950::kWaveSize - 1));
    before = arith::AddIOp::create(b, before, all);
  }
}

/// Stores the selected keys of a chunk; `before` counts the keys in front of its first.
void RadixSelectEmitter::storeSelected(int64_t row, const Chunk &chunk, Threshold threshold,
                                       Value before) {
  for (auto [i, key] : llvm::enumerate(chunk.keys)) {
    Value above = arith::AndIOp::create(b, before, i32((1 << kAboveBits) - 1));
    Value ties = arith::ShRUIOp::create(b, before, i32(kAboveBits));
    Value isEarlyTie = arith::AndIOp::create(
        b, isTie(key, threshold), compare(arith::CmpIPredicate::ult, ties, threshold.ties));
    Value selected = arith::OrIOp::create(b, isAbove(key, threshold), isEarlyTie);
    e.guard(selected, [&] {
      Value position =
          arith::AddIOp::create(b, above, arith::MinUIOp::create(b, ties, threshold.ties));
      Value at = e.add(index(position), row * plan.k);
      storeWord(scratch + plan.indices, plan.rows * plan.k, at,
                arith::AddIOp::create(b, chunk.firstIndex, i32(i)));
      if (!chunk.payload.empty())
        storeWord(scratch + plan.values, plan.rows * plan.k, at, chunk.payload[i]);
    });
    before = arith::AddIOp::create(b, before, countOf(key, threshold));
  }
}

//===----------------------------------------------------------------------===//
// LDS
//===----------------------------------------------------------------------===//

Value RadixSelectEmitter::loadWord(int64_t area, int64_t words, Value at) {
  return vector::ExtractOp::create(b, e.ldsLoad(area, b.getI32Type(), words, at, 1), int64_t(0));
}

void RadixSelectEmitter::storeWord(int64_t area, int64_t words, Value at, Value value) {
  e.ldsStore(area, words, at,
             vector::BroadcastOp::create(b, VectorType::get({1}, value.getType()), value));
}

/// Sets all words of an area, `width` of them a thread at a time.
void RadixSelectEmitter::fill(int64_t area, int64_t words, TypedAttr value) {
  int64_t width = words % 4 == 0 ? 4 : 1;
  Value vector = vector::BroadcastOp::create(b, VectorType::get({width}, value.getType()),
                                             arith::ConstantOp::create(b, value));
  for (int64_t first = 0; first < words; first += e.threadCount * width) {
    Value at = e.add(e.mul(e.thread, width), first);
    e.guard(e.lessThan(at, words), [&] { e.ldsStore(area, words, at, vector); });
  }
}

/// Counts commute, so this atomic makes no result depend on the order. memref.atomic_rmw would
/// order it with all memory of the system, at the price of a flush of the caches.
void RadixSelectEmitter::addToWord(int64_t area, Value at, Value value) {
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, e.arena);
  Value address = e.add(e.add(base, area), e.mul(at, 4));
  Value pointer =
      LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3), e.toI32(address));
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointer, value,
                            LLVM::AtomicOrdering::monotonic, "workgroup", /*alignment=*/4);
}

/// The number of the wavefront is a scalar: all lanes of the first are active in `body`.
void RadixSelectEmitter::onFirstWave(function_ref<void()> body) {
  e.guard(compare(arith::CmpIPredicate::eq, e.wave, e.constant(0)), body);
}

LogicalResult Emitter::emitRadixSelect(SelectOp op) {
  RadixSelectEmitter(*this, op).emit();
  return success();
}

} // namespace mono

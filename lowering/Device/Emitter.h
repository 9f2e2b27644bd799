// State of the translation of one schedule into one gpu.func: values every thread knows, and
// distributed tensors.
#pragma once

#include "dialect/Mono.h"
#include "lowering/Device/Distribution.h"
#include "lowering/Device/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mono {

/// Bytes of weights or activations as codes that a lane holds in one piece: its widest load.
inline constexpr int64_t kLaneBytes = 16;

/// A tensor spread over the workgroup. It lies in registers (`chunks`), in LDS (`home`), or both;
/// what is missing is made when it is asked for.
struct Tile {
  mlir::RankedTensorType type;
  llvm::SmallVector<mlir::Value> chunks; ///< vector<width x element>, one a chunk
  std::optional<int64_t> home;           ///< byte offset in LDS, row-major
  int64_t padding = 0;                   ///< elements behind each row there
};

/// What a mono.stream has in flight.
struct WeightStream {
  StreamOp op;
  int64_t rowTiles = 0;                    ///< 16-row tiles a wavefront multiplies
  int64_t depthSteps = 0;                  ///< 32-deep steps a wavefront multiplies
  int64_t window = 0;                      ///< steps whose loads are issued ahead
  mlir::Value base;                        ///< element index of this lane's first 16 bytes
  int64_t rowTileStride = 0;               ///< elements from one row tile to the next
  llvm::SmallVector<mlir::Value> inFlight; ///< vector<8xbf16>: [window][rowTiles]
};

/// What a mono.stream of weights with scales has in flight. The wavefronts that share the depth
/// take the tiles of all groups in turn: tile w mod split_k, then every split_k-th up to `end`.
struct ScaledStream {
  StreamOp op;
  int64_t depth = 0;                       ///< of a tile: what one lane multiplies at a time
  int64_t pieces = 0;                      ///< 16-byte pieces a lane holds of a tile
  int64_t rowTiles = 0;                    ///< 16-row tiles a wavefront multiplies
  int64_t tilesPerGroup = 0;               ///< tiles along the depth of the box of one group
  int64_t window = 0;                      ///< tiles a wavefront has in flight
  mlir::Value end;                         ///< tiles of all groups together (index)
  mlir::Value rowTile;                     ///< this wavefront's first row tile in its matrix
  mlir::Value depthOffset;                 ///< first column of the box
  mlir::Value codes, scales;               ///< ptr<1>: the operands
  llvm::SmallVector<mlir::Value> groups;   ///< list of groups (i32): 64 entries, one per lane
  llvm::SmallVector<mlir::Value> inFlight; ///< [window]: [rowTiles][pieces] vector<4xi32>,
                                           ///< [rowTiles] scales
};

/// Rows a mono.gather has loaded. With `or` those of this launch are still zeros, and `rows` says
/// where each chunk's comes from (GatherOp, indicesWithPlaces()).
struct GatheredRows {
  llvm::SmallVector<mlir::Value> chunks;
  llvm::SmallVector<mlir::Value> rows; ///< i32, with `or` only
};

class Emitter final : KernelBuilder {
public:
  /// `watchdogCycles`: how long a wait may take; 0 for ever. `skipBarrier`: number of a barrier to
  /// leave out, so that tests can see what it was for; -1 for none.
  Emitter(ScheduleOp schedule, mlir::gpu::GPUFuncOp func, int64_t watchdogCycles, bool markers,
          int64_t skipBarrier = -1);

  /// Emits the whole kernel: prologue, the stages in file order, the epoch's advance.
  mlir::LogicalResult emit();

private:
  friend class ContractEmitter;
  friend class ProductEmitter;
  friend class RadixSelectEmitter;
  friend class ReceiveEmitter;
  friend class WaveSelectEmitter;

  // Emitter.cpp: the frame.
  void emitPrologue();
  void emitEpilogue();
  /// Makes `tag` for the rest of a stage: the first of its ops that needs it waits for the epoch
  /// word, behind the loads of the weights that stand in front of it.
  void readTag();
  /// Sets `thread`, `lane` and `wave` from the thread's number.
  void locateThread(mlir::Value id);
  mlir::LogicalResult emitStage(StageOp stage);
  /// Adds to `hazards` what tasks of `stage` leave pending for the next one on their workgroup,
  /// however many came before. `loop` is over the tasks and empty.
  mlir::LogicalResult addHazardsOfTasks(StageOp stage, mlir::scf::ForOp loop);
  void emitMarker(mlir::Value task);
  mlir::LogicalResult emitBody(StageOp stage, mlir::Value task);
  /// Emits what `load` needs and has not been emitted, then its loads, or all of it.
  mlir::LogicalResult emitAhead(mlir::Operation *load);
  /// emitOp() for an op of the stage's body, once.
  mlir::LogicalResult emitOnce(mlir::Operation *op);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  /// Zeros for a tensor.empty whose elements `op` reads: they are undefined, but the same each
  /// time.
  void fillEmpty(mlir::Operation *op);

  // EmitTensor.cpp: upstream ops on tensors.
  /// Error for an op of `arith` or `math` that has no code on gfx950 without the ROCm device
  /// library.
  static mlir::LogicalResult verifyHasCode(mlir::Operation *op);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  /// arith.scaling_truncf to f8E4M3FN.
  mlir::LogicalResult emitScalingTrunc(mlir::arith::ScalingTruncFOp op);
  mlir::LogicalResult emitConstant(mlir::Operation *op);
  void emitSplat(mlir::Value scalar, mlir::Value tensor);
  /// The scalar that every element of a tensor.splat or of a constant is; null for other tensors.
  mlir::Value valueOfAll(mlir::Value tensor);
  mlir::LogicalResult emitReduce(mlir::Operation *op);
  mlir::LogicalResult emitBroadcast(mlir::Operation *op);
  /// The threads of a row combine what they hold.
  void reduceAcrossLanes(mlir::linalg::ReduceOp op, mlir::Value init, int64_t scratch);
  /// One thread a row combines what the others hold.
  void reduceRowByThread(mlir::linalg::ReduceOp op, mlir::Value init, int64_t scratch);
  /// What one thread holds of a chunk, combined.
  mlir::Value withinThread(mlir::linalg::ReduceOp op, mlir::Value values);
  /// One thread a row combines its `perRow` parts in LDS at `from` in rising order; results at
  /// `home`.
  void foldRows(mlir::linalg::ReduceOp op, mlir::Value init, int64_t from, int64_t perRow,
                int64_t home);

  // EmitMove.cpp: upstream ops that only move elements.
  mlir::LogicalResult emitSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult emitInsert(mlir::tensor::InsertSliceOp op);
  mlir::LogicalResult emitReshape(mlir::Operation *op);
  mlir::LogicalResult emitTranspose(mlir::linalg::TransposeOp op);
  mlir::LogicalResult emitGenerate(mlir::tensor::GenerateOp op);
  /// Offsets of a slice, those that are numbers and those that depend on the task.
  llvm::SmallVector<mlir::Value> indexValues(llvm::ArrayRef<mlir::OpFoldResult> mixed);
  /// Gives `result` the elements of `source`, each read from LDS where `from` says for its index;
  /// with `contiguous` neighbours on the last axis are neighbours there.
  void gatherElements(
      mlir::Value result, mlir::Value source, int64_t scratch, bool contiguous,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<mlir::Value>)> from);

  // EmitMemory.cpp: operands and regions.
  mlir::LogicalResult emitLoad(LoadOp op);
  mlir::LogicalResult emitStore(StoreOp op);

  // EmitGather.cpp: rows that a tensor of indices names.
  mlir::LogicalResult emitGather(GatherOp op);
  mlir::LogicalResult emitScatter(ScatterOp op);
  mlir::LogicalResult gatherSingle(GatherOp op);
  /// The distribution of the rows a gather brings.
  Distribution distributionOf(GatherOp op) const;
  /// The first half of a gather of rows: their loads; `isAhead` if waits come before the second.
  GatheredRows issueGather(GatherOp op, bool isAhead);
  /// The second half: the chunk with the rows of this launch.
  mlir::Value withFresh(GatherOp op, int64_t chunk, mlir::Value loaded, mlir::Value row);
  /// A vector at a row and column of an operand or a region.
  mlir::Value loadOfRow(mlir::Value memory, mlir::Value row, mlir::Value column, int64_t width);
  /// `load(row - begin)` if that is within [0, size), zeros elsewhere; i1: whether it is.
  std::pair<mlir::Value, mlir::Value> loadWithin(mlir::Value row, int64_t begin, int64_t size,
                                                 mlir::VectorType type,
                                                 llvm::function_ref<mlir::Value(mlir::Value)> load);
  mlir::LogicalResult emitDistinct(DistinctOp op);
  /// The indices of a gather with `or` in LDS, at which places row j of `fresh` is row R + j of a
  /// source of R rows; its number of bytes and that of the places behind it is the op's scratch.
  int64_t indicesWithPlaces(GatherOp op);
  /// For each index of a chunk, `base` plus the number of the first of `count` places in LDS at
  /// `places` that equals it, or what `otherwise` says.
  mlir::Value firstEqual(mlir::Value indices, int64_t places, int64_t count, int64_t base,
                         mlir::Value otherwise);
  /// Row number (i32) and column of the vector of a [rows, columns] tensor that starts at `first`,
  /// with `indices` in LDS.
  std::pair<mlir::Value, mlir::Value> rowAndColumn(mlir::Value first, int64_t columns,
                                                   int64_t indices, int64_t count);
  /// `load()` where `valid` holds, zeros elsewhere.
  mlir::Value loadOrZero(mlir::Value valid, mlir::VectorType type,
                         llvm::function_ref<mlir::Value()> load);
  /// Stores chunks of a tensor of all elements of a region, distributed like this, to the region.
  void storeToRegion(RegionOp region, const Distribution &distribution,
                     llvm::ArrayRef<mlir::Value> chunks);
  /// The same for one vector, from element `first` of the region, counted in rows without padding.
  void storeToRegion(RegionOp region, mlir::Value first, mlir::Value vector);

  // EmitMailbox.cpp, EmitReceive.cpp: tagged words.
  mlir::LogicalResult emitPost(PostOp op);
  mlir::LogicalResult emitReceive(ReceiveOp op);
  mlir::LogicalResult emitReceiveRows(ReceiveRowsOp op);
  /// The distribution with whole tagged words in each thread.
  Distribution wordsOf(mlir::RankedTensorType type) const;
  /// The same with at most two words, 16 bytes, in each, so that neighbouring lanes poll what lies
  /// side by side: for what goes to a region and is bound to no thread.
  Distribution wordPairsOf(mlir::RankedTensorType type) const;
  /// The tensor's elements in that distribution.
  llvm::SmallVector<mlir::Value> inWords(mlir::Value tensor, int64_t scratch);

  // EmitContract.cpp: weights and matrix cores.
  mlir::LogicalResult emitStream(StreamOp op);
  mlir::LogicalResult emitContract(ContractOp op);

  /// A result of the matrix cores, made here and not under the condition of a later use. MFMA
  /// ignores EXEC and LLVM sinks it, but with it goes what its operands come from, and lanes that
  /// are switched off would not supply theirs.
  mlir::Value pinned(mlir::Value sum);
  /// Adds the sums of the wavefronts that share the depth, in rising order, through LDS.
  void sumOverWaves(ContractOp op, llvm::ArrayRef<mlir::Value> sums, int64_t splitK,
                    int64_t scratch);

  // EmitScaledStream.cpp: weights as codes with scales, on their way.
  mlir::LogicalResult emitScaledStream(StreamOp op);
  /// Fetches the list in LDS into `stream.groups`; returns the number of its leading entries that
  /// are below `bound` (index).
  mlir::Value readGroups(ScaledStream &stream, int64_t list, int64_t bound);
  /// Loads of one tile along the depth and its scales, all row tiles: [rowTiles][pieces] of codes,
  /// and for each row tile the E8M0 scale of its columns (i8), or the scale of its block (f32).
  /// Past the end the same number of loads, which read nothing.
  void issueScaled(ScaledStream &stream, mlir::Value tile,
                   llvm::SmallVectorImpl<mlir::Value> &into);
  /// The matrix that a tile belongs to (i64).
  mlir::Value groupOf(ScaledStream &stream, mlir::Value tile);
  /// Where a tile lies: matrix (i64), column, and whether there is such a tile (i1).
  struct ScaledTile {
    mlir::Value group, depth, within;
  };
  void loadCodes(ScaledStream &stream, const ScaledTile &tile,
                 llvm::SmallVectorImpl<mlir::Value> &into);
  void loadMxScales(ScaledStream &stream, const ScaledTile &tile,
                    llvm::SmallVectorImpl<mlir::Value> &into);
  void loadBlockScales(ScaledStream &stream, const ScaledTile &tile,
                       llvm::SmallVectorImpl<mlir::Value> &into);
  /// A matrix in memory as a buffer resource (ptr<8>), empty unless `within`.
  struct MatrixBuffer {
    mlir::Value resource, within;
  };
  /// The tile's matrix of an operand whose matrices have `bytes` each.
  MatrixBuffer matrixBuffer(mlir::Value operand, int64_t bytes, const ScaledTile &tile);
  /// `type` at byte `ofLane` + `ofWave` (index; the latter the same for all lanes); zeros if the
  /// buffer is empty.
  mlir::Value loadBuffer(const MatrixBuffer &buffer, mlir::Type type, mlir::Value ofLane,
                         mlir::Value ofWave, int32_t cachePolicy);

  // EmitScaled.cpp: and multiplied.
  mlir::LogicalResult emitScaledContract(ContractOp op);
  /// Row of the box that a lane supplies, and whether the group adds to the lane's row of the
  /// result (i1; null: always); if not, it supplies any row.
  struct ActivationRow {
    mlir::Value row, valid;
  };
  ActivationRow activationRow(ContractOp op, ScaledStream &stream, mlir::Value tile,
                              std::optional<int64_t> map);
  /// The scale (bits of an f32) of what this lane supplies of activations of codes.
  mlir::Value activationScale(ContractOp op, ScaledStream &stream, mlir::Value tile,
                              ActivationRow row);
  /// The sums with one tile's products; `weights` is what issueScaled() loaded.
  llvm::SmallVector<mlir::Value> multiplyTile(ContractOp op, ScaledStream &stream, mlir::Value tile,
                                              std::optional<int64_t> map, mlir::ValueRange weights,
                                              mlir::ValueRange sums);
  /// The same for any activation row: for scales of blocks ...
  llvm::SmallVector<mlir::Value> multiplyBlock(ContractOp op, ScaledStream &stream,
                                               mlir::Value tile, ActivationRow row,
                                               mlir::ValueRange weights, mlir::ValueRange sums);
  /// ... and but for these, with weights widened to bf16, or with weights and activations as codes.
  llvm::SmallVector<mlir::Value> multiplyByFormat(ContractOp op, ScaledStream &stream,
                                                  mlir::Value tile, ActivationRow row,
                                                  mlir::ValueRange weights, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyWidened(ContractOp op, ScaledStream &stream,
                                                 mlir::Value tile, ActivationRow row,
                                                 mlir::ValueRange weights, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyCodes(ContractOp op, ScaledStream &stream,
                                               mlir::Value tile, ActivationRow row,
                                               mlir::ValueRange weights, mlir::ValueRange sums);

  // EmitProduct.cpp: matrices in LDS.
  mlir::LogicalResult emitProduct(ProductOp op);

  // EmitSelect.cpp, EmitRadixSelect.cpp: top-k.
  mlir::LogicalResult emitSelect(SelectOp op);
  mlir::LogicalResult emitRadixSelect(SelectOp op);

  //===--- helpers, Emitter.cpp -------------------------------------------===//

  /// Values of bracketed expressions for the current task.
  llvm::SmallVector<mlir::Value> evaluate(mlir::AffineMap map, mlir::OperandRange args);

  /// Index of the first element this thread holds in a chunk, clamped to the tensor where the chunk
  /// has fewer elements than threads.
  mlir::Value firstElement(const Distribution &distribution, int64_t chunk);
  /// Runs `body(first element)` for the threads that hold elements of the chunk.
  void forOwners(const Distribution &distribution, int64_t chunk,
                 llvm::function_ref<void(mlir::Value)> body);
  /// The same with results: what `body` returns for the threads that hold elements, zero for the
  /// others.
  llvm::SmallVector<mlir::Value>
  ownersOrZero(const Distribution &distribution, int64_t chunk, mlir::TypeRange types,
               llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> body);

  Distribution distributionOf(mlir::RankedTensorType type) const { return {type, threadCount}; }
  mlir::VectorType chunkType(mlir::RankedTensorType type) const;

  Tile &tile(mlir::Value tensor);
  /// The tile with its elements in registers.
  llvm::ArrayRef<mlir::Value> inRegisters(mlir::Value tensor);
  /// Stores the elements of a tensor to LDS at `offset`, row-major.
  void toLds(mlir::RankedTensorType type, llvm::ArrayRef<mlir::Value> chunks, int64_t offset);
  /// The tile's place in LDS, without padding; stores it to `scratch` if it has none or rows there
  /// are padded.
  int64_t inLds(mlir::Value tensor, int64_t scratch);
  void setTile(mlir::Value tensor, llvm::SmallVector<mlir::Value> chunks);
  void setTile(mlir::Value tensor, int64_t home, int64_t padding = 0);
  /// Where element `first` of rows of `columns` lies if each takes `rowStride` elements.
  mlir::Value inPaddedRows(mlir::Value first, int64_t columns, int64_t rowStride);

  /// The operand's first byte: ptr<1>.
  mlir::Value operandPointer(OperandOp op);
  /// The operand's memory: a memref, or a pointer for packed elements.
  mlir::Value operandMemory(OperandOp op);
  mlir::Value asMemRef(mlir::Value pointer, mlir::MemRefType type);

  /// Reads tagged words of `slot` until all carry this launch's tag; returns the i32 payloads.
  llvm::SmallVector<mlir::Value> poll(MailboxOp mailbox, mlir::Value slot,
                                      llvm::ArrayRef<mlir::Value> words);
  /// The same for any number of words, some of them at a time.
  llvm::SmallVector<mlir::Value> pollAll(MailboxOp mailbox, mlir::Value slot,
                                         llvm::ArrayRef<mlir::Value> words);
  /// EmitWatchdog.cpp: whether a wait that began at `start` may go on (i1).
  mlir::Value hasTimeSince(mlir::Value start);
  /// Behind a wait: records it and leaves the kernel if words are missing. `words` and `seen` are
  /// the indices and values polled.
  void checkReceived(MailboxOp mailbox, llvm::ArrayRef<mlir::Value> words, mlir::ValueRange seen);
  /// Writes down that a wait has failed, if it is the rank's first.
  void record(mlir::Value memory, MailboxOp mailbox, mlir::Value word, mlir::Value found);
  /// The epoch memory, read from the kernel arguments once more: it would take SGPRs all along the
  /// kernel. Two of the same `text` may be one.
  mlir::Value epochsAgain(const llvm::Twine &text);
  /// Ends a wavefront whose wait has failed, and says so to the others of its workgroup.
  void leave(mlir::Value memory);
  /// In a watchdog build, ends the wavefront if another of its workgroup has failed to receive:
  /// what that one was to store in LDS is not there. The wavefront itself no longer counts at
  /// barriers.
  void behindReceives() override;
  void endProgram();
  /// The core clock in units of a watchdog (i32).
  mlir::Value watchdogTime();
  /// Address of the workgroup's word in the epoch memory, and its value.
  mlir::Value epochWordIn(mlir::Value memory);
  mlir::Value loadEpoch(mlir::Value word);
  /// Stores an i32 to the epoch memory, for the whole device to see.
  void storeEpoch(mlir::Value value, mlir::Value word);
  /// The kernel argument of that number, a pointer, read from `segment`.
  mlir::Value argumentPointer(mlir::Value segment, int64_t number);
  mlir::Value tagOf(mlir::Value word); ///< i32
  mlir::Value wordPointer(mlir::Value base, mlir::Value word);
  mlir::Value slotStride(MailboxOp mailbox);
  /// First byte of this launch's slot of the mailbox in `memory`.
  mlir::Value slotPointer(MailboxOp mailbox, mlir::Value memory);
  /// Peer mailbox memory of a rank. Looked up where it is needed: pointers to all peers would fill
  /// the scalar registers of a whole kernel.
  mlir::Value peerMemory(mlir::Value ofRank);
  /// This launch's slot as its receiver sees it.
  mlir::Value ownSlot(MailboxOp mailbox);
  llvm::SmallVector<mlir::Value> packWords(mlir::Value chunk);
  mlir::Value unpackWords(llvm::ArrayRef<mlir::Value> payloads, mlir::Type element);

  /// The load of a row tile of a wavefront's weights at a step of its depth.
  mlir::Value issueWeights(WeightStream &stream, mlir::Value step, int64_t rowTile);

  /// Sum of `parts` matrices that lie in LDS one behind the other, in that order, a vector a chunk.
  llvm::SmallVector<mlir::Value> sumOfParts(int64_t scratch, mlir::RankedTensorType type,
                                            int64_t rowStride, int64_t parts);

  ScheduleOp schedule;
  mlir::gpu::GPUFuncOp func;
  int64_t threadCount;
  int64_t ranks;
  int64_t watchdogCycles;
  bool markers;
  int64_t stageIndex = -1; ///< of the stage being emitted

  mlir::Value threadId;                      ///< i32
  mlir::Value thread, lane, wave, cta, rank; ///< index
  mlir::Value finished;                      ///< i32, the last launch's epoch, from memory
  mlir::Value tag;                           ///< i32, this launch's epoch; null until readTag()
  mlir::Value kernelArguments;               ///< ptr<4>
  mlir::Value deviceMailboxes;               ///< ptr<1>
  mlir::Value peerTable;         ///< ptr<4>: peer mailbox memory of each rank, slot stride
  mlir::Value epochs, epochWord; ///< ptr<1>

  llvm::DenseMap<mlir::Value, mlir::Value> scalars; ///< index and scalar values of the schedule
  llvm::DenseMap<mlir::Value, Tile> tiles;
  llvm::DenseMap<mlir::Value, WeightStream> streams;
  llvm::DenseMap<mlir::Value, ScaledStream> scaledStreams;
  llvm::DenseMap<mlir::Operation *, GatheredRows> gathersAhead; ///< of the body being emitted
  llvm::DenseSet<mlir::Operation *> emitted;                    ///< ops of that body
};

/// Where a placed region lies in LDS.
inline LdsRange rangeOf(RegionOp region) {
  return {int64_t(*region.getOffset()), region.getBytes()};
}

/// Rows of an operand, a region or a mailbox: all axes but the last, counted together.
int64_t rowsOf(mlir::Value memory);

/// Row-major strides of an operand or, with its padding, of a region.
llvm::SmallVector<int64_t> memoryStrides(mlir::Value memory);

/// Bytes to which an access of `width` elements at offsets `map` of a memory with these strides is
/// aligned, whatever the task; at most 16.
llvm::MaybeAlign alignmentOf(mlir::AffineMap map, llvm::ArrayRef<int64_t> strides,
                             mlir::Type element, int64_t width);

} // namespace mono

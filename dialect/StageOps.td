// Ops of a stage body: how data comes in, is contracted, selected and handed on.
#ifndef MONO_STAGE_OPS_TD
#define MONO_STAGE_OPS_TD

include "dialect/MonoAttrs.td"
include "dialect/MonoTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// An op that reads the box `[offsets] [sizes]` of `source`.
class Mono_SliceOp<string mnemonic, list<Trait> traits = []>
    : Mono_Op<mnemonic, !listconcat([AttrSizedOperandSegments], traits)> {
  code sliceDeclaration = [{
    /// Sizes of the box, one an axis; `?` (ShapedType::kDynamic) where a parameter decides.
    ::llvm::SmallVector<int64_t> getStaticSizes();
  }];
}

def Mono_LoadOp : Mono_SliceOp<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "a box of an operand or region as a tensor";
  let description = [{
    `[offsets] [sizes]`, affine in the task, the rank and parameters. The result has the sizes and
    the element type of the source. An operand must be row-major: packed weights go through
    `mono.stream`.

    Example (test/dialect/ops.mlir):
    ```mlir
    %v = mono.load %x[0, %t * 128] [%S, 128] : tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins Mono_BufferType:$source, Variadic<Index>:$offset_args, AffineMapAttr:$offsets,
                       Variadic<Index>:$size_args, AffineMapAttr:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `` custom<Exprs>($offset_args, $offsets) custom<Exprs>($size_args, $sizes) attr-dict
    `:` type($result)
  }];
  let extraClassDeclaration = sliceDeclaration;
  let hasVerifier = 1;
}

def Mono_StoreOp : Mono_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write a tensor to a box of an operand or region";
  let description = [{
    The box starts at the offsets and has the shape of the tensor. What an operand of this launch
    was given cannot be read back in the same launch: use a mailbox for that.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.store %v, %y[0, %t * 128] : tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Mono_BufferType:$target,
                       Variadic<Index>:$offset_args, AffineMapAttr:$offsets);
  let assemblyFormat = [{
    $value `,` $target `` custom<Exprs>($offset_args, $offsets) attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Mono_StreamOp : Mono_SliceOp<"stream", [MemoryEffects<[MemRead]>]> {
  let summary = "start to fetch weight rows";
  let description = [{
    The first loads of the rows are issued here, before any later wait of the task; `mono.contract`
    consumes them and issues the rest. Each contraction of the stream reads each weight
    byte once. The operand has the layout
    `#mono.mfma_rows<16>`; rows come in sixteens.

    bf16 weights: one matrix `[N, K]`, depth a multiple of 32 per wavefront that shares it.
    `split_k(w)`: w groups of wavefronts share the depth, the others share the rows.

    MX weights (`f4E2M1FN` or `f8E4M3FN`, with the operand of their scales after `scaled`): depth in
    tiles of 128 or 64, which the wavefronts that share the depth take in turn.

    Where a parameter decides between bf16 and codes, its scales are declared with a size that it makes
    0 for bf16, `[16 * symbol(%F), 2] : f8E8M0FNU, #mono.mfma_rows<16>`: an operand without elements
    counts as none. A 0 that stands in the file is refused, and the scales have the axes and the layout
    of codes also where they are none.

    `f8E4M3FN` weights whose scales are a row-major operand of f32 have one for each block of 128 x 128,
    the last row of blocks perhaps incomplete: `[ceil(N / 128), ceil(K / 128)]` (DeepSeek-V3, arXiv
    2412.19437). Their depth comes in blocks of 128.

    `groups(%list)` is for codes only. It takes, of matrices `[E, N, K]`, those the list names, one after the other, up to
    the first entry that is not an index of the first axis (-1 ends a list; an empty one reads
    nothing): the experts that routing has chosen. The list may name any matrix, so the box covers the
    whole first axis. The scales are an operand with access `read`. Matrices of bf16 are streamed one
    by one, each an operand or rows of its own, with a weight of 0 for an expert that nobody chose.

    Example (test/dialect/ops.mlir):
    ```mlir
    %w = mono.stream %w_o[%t * 32, 0] [32, 2048] split_k(8)
    %b = mono.stream %w_b[%t * 32, 0] [32, 1024] scaled %block_scale split_k(8)
    %e = mono.stream %w_up[0, %t * 32, 0] [8, 32, 1024] scaled %w_up_scale groups(%ids : tensor<8xi32>) split_k(8)
    ```
  }];
  let arguments = (ins Mono_BufferType:$source, Variadic<Index>:$offset_args, AffineMapAttr:$offsets,
                       Variadic<Index>:$size_args, AffineMapAttr:$sizes,
                       Optional<Mono_BufferType>:$scales, Optional<I32Tensor>:$groups,
                       I64Attr:$split_k);
  let results = (outs Mono_StreamType:$result);
  let assemblyFormat = [{
    $source `` custom<Exprs>($offset_args, $offsets) custom<Exprs>($size_args, $sizes)
    (`scaled` $scales^)? (`groups` `(` $groups^ `:` type($groups) `)`)?
    `split_k` `(` $split_k `)` attr-dict
  }];
  let extraClassDeclaration = sliceDeclaration # [{
    /// Rows and depth of the box, of each matrix; `?` where a parameter decides.
    int64_t getRowCount() { return getStaticSizes().end()[-2]; }
    int64_t getDepth() { return getStaticSizes().back(); }
    /// Entries of the list after `groups`, or the one matrix there is without.
    int64_t getGroupCount();
    /// Whether there is an f32 scale for each block of 128 x 128 weights.
    bool hasBlockScales();
    /// What an offset along the depth is a multiple of: a tile of the layout, or a block. The
    /// operand's element type must be known.
    int64_t getDepthGrain();
    /// What that is, for messages.
    ::llvm::StringRef getDepthGrainName();
  }];
  let hasVerifier = 1;
}

def Mono_ContractOp : Mono_SliceOp<"contract", [MemoryEffects<[MemRead]>]> {
  let summary = "activations times streamed weights on the matrix cores";
  let description = [{
    `result[s, n] = sum over k of activations[s, k] * weights[n, k]`, products of bf16 accumulated
    in f32 by MFMA 16x16x32. Weight rows ride the M side, activation rows the N side, hence at most
    16 of them. The partial sums of the wavefronts are added in rising order of depth, so a result
    never changes from run to run.

    Activations are a box of a row-major operand or of a region. MX weights are widened to bf16
    with their scales and take their activations from a region. That is exact for magnitudes from
    2^-133 to below 2^128; what is larger, under the scales 2^126 and 2^127, becomes infinite.

    Activations of codes, a region of `f8E4M3FN` with a region of their scales after `scaled`, are
    multiplied with MX weights as they are, by MFMA 16x16x128 with scales. A scale is an f32 for 32
    columns, whose exponent counts (as in arith.scaling_truncf): 2^(exponent - 127).

    Where the weights have an f32 scale for each block of 128 x 128, each block's part of the sum is
    made of codes alone, which is exact up to the additions, and then multiplied with the scale in f32.
    Codes of activations have an f32 scale for 128 columns there, all of which counts.

    NaN in a code or scale makes NaN of the results whose sum it is part of, and of no others.

    With groups, the sum runs over the groups too. `rows(%map)`, a tensor [groups, rows], says which
    row of the box is the activation row of each group; an index outside the box stands for zeros.

    Example (test/dialect/ops.mlir):
    ```mlir
    %p = mono.contract %h[0, 0] [%S, 2048], %w : tensor<?x32xf32>
    %y = mono.contract %u[0, 0] [16, 1024] rows(%map : tensor<8x4xi32>), %e : tensor<4x32xf32>
    %z = mono.contract %codes[0, 0] [4, 1024] scaled %scales, %m : tensor<4x32xf32>
    ```
  }];
  let arguments = (ins Mono_BufferType:$source, Variadic<Index>:$offset_args, AffineMapAttr:$offsets,
                       Variadic<Index>:$size_args, AffineMapAttr:$sizes,
                       Optional<Mono_BufferType>:$scales, Optional<I32Tensor>:$rows,
                       Mono_StreamType:$weights);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `` custom<Exprs>($offset_args, $offsets) custom<Exprs>($size_args, $sizes)
    (`scaled` $scales^)? (`rows` `(` $rows^ `:` type($rows) `)`)? `,` $weights attr-dict `:` type($result)
  }];
  let extraClassDeclaration = sliceDeclaration # [{
    /// Rows of the result: those of `rows`, or of the box; `?` where a parameter decides.
    int64_t getRowCount() {
      return getRows() ? ::llvm::cast<::mlir::RankedTensorType>(getRows().getType()).getShape().back()
                       : getStaticSizes().front();
    }
    /// What an offset along the depth is a multiple of.
    int64_t getDepthGrain();
  }];
  let hasVerifier = 1;
}

def Mono_PostOp : Mono_Op<"post", [MemoryEffects<[MemWrite]>]> {
  let summary = "hand a tensor to whoever receives it";
  let description = [{
    The box starts at the offsets; a tensor of lower rank than the mailbox fills one index of the
    leading axes. In a `peers` mailbox the box is written to the memory of every rank, this one
    included.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.post %p16 to %sum[%rank, 0, %t * 32] : tensor<?x32xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Mono_MailboxType:$mailbox,
                       Variadic<Index>:$offset_args, AffineMapAttr:$offsets);
  let assemblyFormat = [{
    $value `to` $mailbox `` custom<Exprs>($offset_args, $offsets) attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Mono_ReceiveOp : Mono_SliceOp<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a box of a mailbox";
  let description = [{
    Returns when every word of the box carries this launch's epoch. `sum` adds over the first axis
    in f32, in an order that follows from the sizes alone: in rising index, or, where few elements
    have many terms, each lane some terms in rising index and then a tree over the lanes. Over the
    rank axis of a `peers` mailbox this is the second half of a symmetric all-reduce: every rank
    adds the same words in the same order and gets the same bits.
    `into` puts the box into a region instead of a tensor.

    Example (test/dialect/ops.mlir):
    ```mlir
    %s = mono.receive %sum[0, 0, %t * 128] [%TP, %S, 128] sum : tensor<?x128xf32>
    mono.receive %rows[0, 0] [%S, 6144] into %row
    ```
  }];
  let arguments = (ins Mono_MailboxType:$source, Variadic<Index>:$offset_args, AffineMapAttr:$offsets,
                       Variadic<Index>:$size_args, AffineMapAttr:$sizes, UnitAttr:$sum,
                       Optional<Mono_BufferType>:$region);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $source `` custom<Exprs>($offset_args, $offsets) custom<Exprs>($size_args, $sizes)
    (`sum` $sum^)? (`into` $region^)? attr-dict (`:` type($result)^)?
  }];
  let extraClassDeclaration = sliceDeclaration;
  let hasVerifier = 1;
}

#endif // MONO_STAGE_OPS_TD

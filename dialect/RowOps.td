// Ops of a stage body on rows that a tensor of indices names: which rows is known at run time only.
#ifndef MONO_ROW_OPS_TD
#define MONO_ROW_OPS_TD

include "dialect/MonoTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mono_GatherOp : Mono_Op<"gather", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "rows, or single elements, that a tensor of indices names";
  let description = [{
    `source` is a row-major operand or a region, seen as rows: its last axis is a row, the axes
    before it are counted together. Row i of the result, or of the region after `into`, is row
    `rows[i]`; an index outside the source gives zeros, so that -1 stands for "nothing". A result
    that has the shape of `rows` takes single elements instead, counted over all axes.

    `or %fresh places(%p)` names the rows that this launch gives the source: row p[j] is row j of the
    region `fresh`, of the first such j, and is not read from memory. An operand that mono.scatter
    writes in the same launch can only be read so, with all places at which it is written: whatever
    the indices say, no row is then read that is being written. Places outside the source name none.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.gather %cache or %new places(%four : tensor<4xi32>) at %ids into %keys : tensor<8xi32>
    %page = mono.gather %table at %ids : tensor<8xi32> -> tensor<8xi32>
    ```
  }];
  let arguments = (ins Mono_BufferType:$source, Optional<Mono_BufferType>:$fresh,
                       Optional<I32Tensor>:$places, I32Tensor:$rows,
                       Optional<Mono_BufferType>:$region);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $source (`or` $fresh^ `places` `(` $places `:` type($places) `)`)? `at` $rows (`into` $region^)?
    attr-dict `:` type($rows) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Mono_ReceiveRowsOp : Mono_Op<"receive_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for rows of a mailbox that a tensor of indices names";
  let description = [{
    The mailbox is seen as rows like the source of mono.gather. Row i of `region` is row `rows[i]`; an
    index outside the mailbox gives zeros. Which rows are named is known at run time only, so the
    checks take it to wait for all of them: every row must be posted.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.receive_rows %parts at %ids into %keys : tensor<8xi32>
    ```
  }];
  let arguments = (ins Mono_MailboxType:$source, I32Tensor:$rows, Mono_BufferType:$region);
  let assemblyFormat = "$source `at` $rows `into` $region attr-dict `:` type($rows)";
  let hasVerifier = 1;
}

def Mono_DistinctOp : Mono_Op<"distinct", [Pure, SameOperandsAndResultType]> {
  let summary = "entries of a tensor of indices that no earlier entry equals";
  let description = [{
    Entry i of the result is `values[i]`, or -1 where an earlier entry is equal. Rows that are
    scattered at what is left never meet, whatever the data says: of two that name one place the
    first is kept. At most 256 entries, since each is compared with all before it.

    Example (test/dialect/ops.mlir):
    ```mlir
    %at = mono.distinct %ids : tensor<8xi32>
    ```
  }];
  let arguments = (ins I32Tensor:$values);
  let results = (outs I32Tensor:$result);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def Mono_ScatterOp : Mono_Op<"scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "write rows of an operand that a tensor of indices names";
  let description = [{
    Row i of `value` goes to row `rows[i]` of a row-major operand with access `update`, from the
    column in brackets on. An index outside the operand writes nothing. No two entries of one launch
    may name the same elements: which of them would stay is chance. So the indices are a box of a
    mailbox of places, which one task makes different (mono.distinct), and every task takes another.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.scatter %v, %cache[64] at %ids : tensor<8x64xbf16>, tensor<8xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Mono_BufferType:$target,
                       Variadic<Index>:$offset_args, AffineMapAttr:$offsets, I32Tensor:$rows);
  let assemblyFormat = [{
    $value `,` $target `` custom<Exprs>($offset_args, $offsets) `at` $rows attr-dict
    `:` type($value) `,` type($rows)
  }];
  let hasVerifier = 1;
}

#endif // MONO_ROW_OPS_TD

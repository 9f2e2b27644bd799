// Exact top-k of rows of keys.
#ifndef MONO_SELECT_OP_TD
#define MONO_SELECT_OP_TD

include "dialect/MonoTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mono_SelectOp : Mono_Op<"select", [Pure, AttrSizedOperandSegments]> {
  let summary = "exact top-k of each row";
  let description = [{
    For every row of `key` the k largest keys; among equal keys the lower index wins. Results are the
    indices in rising order and, with `taking`, the entries of `payload` at them. k is an expression
    of parameters in [1, 4096].

    Keys are compared as numbers with -0 below +0; a NaN with a clear sign bit counts as larger than
    every number. A key that is -inf (or a NaN with its sign bit set, which counts as smaller still)
    is never selected: it masks its candidate. Where a row has fewer keys to select than k, also
    because it is shorter, the places left over at the end hold index -1 and value 0.0.

    Up to 1024 keys per row and k up to 64, one wavefront takes a row. Otherwise the whole workgroup
    takes row after row, with the keys in its registers: a radix search for the k-th largest key,
    then the positions by counting. There are at most 128 keys and entries of payload per thread, and
    65536 per workgroup, which is half its registers; rows of odd length take some more registers.

    Example (test/dialect/select.mlir):
    ```mlir
    %ids, %weights = mono.select top [8] of %key taking %sigma
      : tensor<?x256xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    %rows = mono.select top [%K] of %score : tensor<1x16384xf32> -> tensor<1x?xi32>
    ```
  }];
  let arguments = (ins Variadic<Index>:$k_args, AffineMapAttr:$k, F32Tensor:$key,
                       Optional<F32Tensor>:$payload);
  let results = (outs AnyRankedTensor:$indices, Optional<AnyRankedTensor>:$values);
  let assemblyFormat = [{
    `top` custom<Exprs>($k_args, $k) `of` $key (`taking` $payload^)? attr-dict `:`
    custom<SelectTypes>(ref($payload), type($key), type($payload), type($indices), type($values))
  }];
  let extraClassDeclaration = [{
    static constexpr int64_t kMaxTop = 4096;
    /// What one wavefront selects from one row.
    static constexpr int64_t kMaxWaveKeys = 1024, kMaxWaveTop = 64;
    /// Keys and entries of payload the registers of a thread and of a workgroup hold besides what
    /// the search needs.
    static constexpr int64_t kMaxThreadElements = 128, kMaxGroupElements = 65536;

    /// k; `?` (ShapedType::kDynamic) where a parameter decides.
    int64_t getStaticK();
    /// Whether the whole workgroup searches a row; shapes are static.
    bool usesRadix();
  }];
  let hasVerifier = 1;
}

#endif // MONO_SELECT_OP_TD

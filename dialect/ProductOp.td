// The product of two matrices that lie in the workgroup's LDS.
#ifndef MONO_PRODUCT_OP_TD
#define MONO_PRODUCT_OP_TD

include "dialect/MonoTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mono_ProductOp
    : Mono_Op<"product", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "matrix product of two boxes of regions on the matrix cores";
  let description = [{
    `result[m, n] = sum over k of a[m, k] * b[n, k]`: scores of queries against keys. With
    `by_columns`, b is stored `[k, n]` and `result[m, n] = sum over k of a[m, k] * b[k, n]`:
    probabilities times values. Products of bf16 are accumulated in f32 by MFMA 16x16x32, in rising
    order of depth within each share of the depth and then over the shares, so a result never
    changes from run to run.

    Any number of rows and columns; the depth is a multiple of 32. The wavefronts of the workgroup
    share the 16 x 16 tiles of the result, and the depth where there are fewer tiles than wavefronts.
    An offset along the depth is a multiple of 8 where the depth is the last axis. A b that is stored
    by columns is read fastest (ds_read_b64_tr_b16) where the number of columns and their offset are
    multiples of 4.

    Example (test/dialect/product.mlir):
    ```mlir
    %l = mono.product %q[0, 0] [%H, 576], %keys[0, 0] [64, 576] : tensor<?x64xf32>
    %o = mono.product %p[0, 0] [%H, 64], %keys[0, 0] [64, 512] by_columns : tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Mono_BufferType:$a, Variadic<Index>:$a_offset_args, AffineMapAttr:$a_offsets,
                       Variadic<Index>:$a_size_args, AffineMapAttr:$a_sizes,
                       Mono_BufferType:$b, Variadic<Index>:$b_offset_args, AffineMapAttr:$b_offsets,
                       Variadic<Index>:$b_size_args, AffineMapAttr:$b_sizes, UnitAttr:$by_columns);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `` custom<Exprs>($a_offset_args, $a_offsets) custom<Exprs>($a_size_args, $a_sizes) `,`
    $b `` custom<Exprs>($b_offset_args, $b_offsets) custom<Exprs>($b_size_args, $b_sizes)
    (`by_columns` $by_columns^)? attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// Sizes of the box of a, rows and depth; `?` (ShapedType::kDynamic) where a parameter decides.
    ::llvm::SmallVector<int64_t> getStaticASizes();
    /// Sizes of the box of b as it is stored.
    ::llvm::SmallVector<int64_t> getStaticBSizes();
    /// Axis of b along which the sum runs.
    unsigned getDepthAxisOfB() { return getByColumns() ? 0 : 1; }
    /// Rows and columns of the result.
    ::llvm::SmallVector<int64_t> getResultShape();
  }];
  let hasVerifier = 1;
}

#endif // MONO_PRODUCT_OP_TD

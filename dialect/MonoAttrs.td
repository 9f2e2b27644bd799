// Enumerations and attributes.
#ifndef MONO_ATTRS_TD
#define MONO_ATTRS_TD

include "dialect/MonoDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Mono_Access : I32EnumAttr<"Access", "what a kernel does to an operand", [
  I32EnumAttrCase<"Read", 0, "read">,
  I32EnumAttrCase<"Write", 1, "write">,
  I32EnumAttrCase<"Update", 2, "update">
]> {
  let cppNamespace = "::mono";
  let genSpecializedAttr = 0;
}
def Mono_AccessAttr : EnumAttr<Mono_Dialect, Mono_Access, "access">;

def Mono_Scope : I32EnumAttr<"Scope", "how far apart the two ends of a mailbox can be", [
  I32EnumAttrCase<"Device", 0, "device">,
  I32EnumAttrCase<"Peers", 1, "peers">
]> {
  let cppNamespace = "::mono";
  let genSpecializedAttr = 0;
}
def Mono_ScopeAttr : EnumAttr<Mono_Dialect, Mono_Scope, "scope"> {
  let assemblyFormat = "$value";
}

def Mono_LayoutRowMajor : AttrDef<Mono_Dialect, "RowMajor"> {
  let mnemonic = "row_major";
  let summary = "row-major, no padding";
  let description = "The layout of an operand that names none.";
}

def Mono_LayoutMfmaRows : AttrDef<Mono_Dialect, "MfmaRows"> {
  let mnemonic = "mfma_rows";
  let summary = "weight rows preshuffled for the A operand of MFMA";
  let description = [{
    Matrices `[..., N, K]` stored as `[N/rows][K/(4 share)][4][rows][share]`, where a share is what one
    lane supplies of one row in one piece: lane `l` of a wavefront finds its operand (row `l % 16`,
    columns `share * (l / 16) ..+ share`; CDNA4 ISA 7.1.4 and 7.1.5) at place `l` of a tile, and a
    tile is contiguous.

    | element | share | tile | for |
    |---|---|---|---|
    | `bf16` | 8 elements, 16 bytes | 16 x 32, 1 KiB | `v_mfma_f32_16x16x32_bf16` |
    | `f4E2M1FN`, two per byte | 32 elements, 16 bytes | 16 x 128, 1 KiB | the 128-deep MFMA, or widened |
    | `f8E4M3FN` | 16 elements, 16 bytes | 16 x 64, 1 KiB | half a 128-deep MFMA, or widened |
    | `f8E8M0FNU`, scales of 32 elements each | 1 byte | 16 x 4 or 16 x 2 | the tile of the same number |

    Only `rows = 16` exists on gfx950.
  }];
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
  let genVerifyDecl = 1;
}

#endif // MONO_ATTRS_TD

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
  let summary = "weight rows preshuffled for the A operand of MFMA 16x16x32";
  let description = [{
    A bf16 matrix `[N, K]` stored as `[N/rows][K/32][4][rows][8]`: a tile of `rows` rows by 32 columns
    is contiguous (1 KiB for 16 rows), and lane `l` of a wavefront finds its operand of
    `v_mfma_f32_16x16x32_bf16` (row `l % 16`, columns `8 * (l / 16) ..+ 8`; CDNA4 ISA 7.1.4) at byte
    `16 * l` of the tile, so that one `global_load_dwordx4` fetches it.
    Only `rows = 16` exists on gfx950.
  }];
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
  let genVerifyDecl = 1;
}

#endif // MONO_ATTRS_TD

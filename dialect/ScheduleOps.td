// Ops that declare a schedule: what exists, and which stages run where.
#ifndef MONO_SCHEDULE_OPS_TD
#define MONO_SCHEDULE_OPS_TD

include "dialect/MonoAttrs.td"
include "dialect/MonoTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/OpAsmInterface.td"

/// The SSA name of a declaration is the name it declares.
def Mono_NamedResult : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

/// What a schedule declares stands beside its stages, where the checks look for it.
class Mono_DeclaringOp<string mnemonic, list<Trait> traits = []>
    : Mono_Op<mnemonic, !listconcat([Pure, Mono_NamedResult, ParentOneOf<["ScheduleOp", "RoutineOp"]>],
                                    traits)>;

def Mono_ImportOp : Mono_Op<"import"> {
  let summary = "make the routines of another file callable";
  let description = [{
    The path is relative to the file with the import. Imports of imported files count too; a file is
    read once. Binding replaces the import by the routines.

    Example (test/dialect/routine.mlir):
    ```mlir
    mono.import "Inputs/scale.mlir"
    ```
  }];
  let arguments = (ins StrAttr:$path);
  let assemblyFormat = "$path attr-dict";
}

def Mono_ScheduleOp : Mono_Op<"schedule", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator,
                                         NoRegionArguments]> {
  let summary = "one kernel on a resident grid";
  let description = [{
    `grid(C x T)` asks for C workgroups of T threads, all resident at once: a workgroup may wait for
    any other. C is at most the number of compute units of the target (256 on gfx950), T a multiple
    of the wavefront (64). The order of the stages is part of the meaning: each workgroup walks them
    from first to last.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.schedule @copy target("gfx950") grid(256 x 512) {
      %x = mono.operand "x" read [4, 256] : f32
      %y = mono.operand "y" write [4, 256] : f32
      mono.stage "copy" (%t) tasks [4] base [0] {
        %v = mono.load %x[%t, 0] [1, 256] : tensor<1x256xf32>
        mono.store %v, %y[%t, 0] : tensor<1x256xf32>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target, I64Attr:$ctas, I64Attr:$threads);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `target` `(` $target `)` `grid` `(` custom<Grid>($ctas, $threads) `)`
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Mono_ParamOp : Mono_DeclaringOp<"param"> {
  let summary = "a named integer that is fixed when the schedule is compiled";
  let description = [{
    The legal set stands beside the name: `in [1 to 8]` or `in [1, 2, 4, 8]`. The value comes from
    `-D NAME=INT`; `default` makes it optional. Shapes, task counts, offsets and bases may be affine
    expressions of parameters. A parameter that chooses a number format takes its name, `-D ATTN=mxfp8`,
    and is that format's number (bf16 0, mxfp8 1).

    Example (test/dialect/ops.mlir):
    ```mlir
    %S = mono.param "S" in [1 to 8]
    %TP = mono.param "TP" in [1, 2, 4, 8] default 1
    %ATTN = mono.param "ATTN" in [bf16, mxfp8] default bf16
    ```
  }];
  let arguments = (ins StrAttr:$name, DenseI64ArrayAttr:$values, UnitAttr:$range,
                       UnitAttr:$formats, OptionalAttr<I64Attr>:$default_value);
  let results = (outs Index:$result);
  let assemblyFormat = [{
    $name `in` custom<LegalSet>($values, $range, $formats, $default_value) attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if `value` is in the legal set.
    bool admits(int64_t value);
    /// The legal set as a user writes it: "1 to 8", "{1, 2, 4, 8}" or "{bf16, mxfp8}".
    std::string describeSet();
    /// A value as a user writes it.
    std::string describe(int64_t value);
  }];
}

def Mono_RequireOp : Mono_Op<"require", [ParentOneOf<["ScheduleOp", "StageOp", "RoutineOp"]>]> {
  let summary = "what parameters have to keep for the lines below to be right";
  let description = [{
    A condition of parameters, judged when the schedule is bound: where it is false, compilation ends
    here with the text, which says what was expected. In a routine the message names the calls that
    led to it. In a stage without tasks it is not judged.

    Division of parameters drops the remainder, so a routine that shares `n` over `parts` says that
    one divides the other.

    Example (test/dialect/ops.mlir):
    ```mlir
    %rest = arith.remui %S, %TP : index
    %even = arith.cmpi eq, %rest, %none : index
    mono.require %even, "expected TP to divide S"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$text);
  let assemblyFormat = "$condition `,` $text attr-dict";
}

def Mono_SizeOp : Mono_Op<"size", [Pure]> {
  let summary = "how long an axis of an operand, mailbox or region is";
  let description = [{
    For a routine that is given a memory and sizes: what mono.require compares them with. A constant
    once the schedule is bound.

    Example (test/dialect/ops.mlir):
    ```mlir
    %columns = mono.size %x axis 1 : !mono.buffer
    ```
  }];
  let arguments = (ins AnyTypeOf<[Mono_BufferType, Mono_MailboxType]>:$memory,
                       ConfinedAttr<I64Attr, [IntMinValue<0>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$memory `axis` $axis attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def Mono_RanksOp : Mono_DeclaringOp<"ranks"> {
  let summary = "the number of tensor parallel ranks, and the index of this one";
  let description = [{
    Says that the schedule runs on that many devices at once and gives the index of the device that
    executes it. A schedule without it runs on one.

    Example (test/dialect/ops.mlir):
    ```mlir
    %rank = mono.ranks [%TP]
    ```
  }];
  let arguments = (ins Variadic<Index>:$args, AffineMapAttr:$count);
  let results = (outs Index:$rank);
  let assemblyFormat = "custom<Exprs>($args, $count) attr-dict";
  let hasVerifier = 1;
}

def Mono_OperandOp : Mono_DeclaringOp<"operand", [AttrSizedOperandSegments]> {
  let summary = "a kernel argument";
  let description = [{
    Name, access, shape, element type and layout. `weight` marks what is streamed once per launch and
    is counted against the memory floor. No layout means row-major. The layout travels with the code
    object: files that say theirs are refused if it is another. Memory that an application binds says
    none, so it must have been packed (`Kernel::pack`, `kernel.pack`).

    With `or`, a parameter decides the element type: the second one unless it is 0.

    Example (test/dialect/ops.mlir):
    ```mlir
    %w_all = mono.operand "w" read weight [6144, 16384 floordiv symbol(%TP)] : bf16, #mono.mfma_rows<16>
    %w_any = mono.operand "w" read weight [6144, 2048] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
    ```
  }];
  let arguments = (ins StrAttr:$name, Mono_AccessAttr:$access, UnitAttr:$weight,
                       Variadic<Index>:$args, AffineMapAttr:$shape, TypeAttr:$element,
                       OptionalAttr<TypeAttr>:$alternative, Optional<Index>:$choice,
                       OptionalAttr<AnyAttr>:$layout);
  let results = (outs Mono_BufferType:$result);
  let assemblyFormat = [{
    $name custom<AccessKeyword>($access) (`weight` $weight^)? custom<Exprs>($args, $shape) `:` $element
    (`or` $alternative^ `if` $choice)? (`,` $layout^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Mono_MailboxOp : Mono_DeclaringOp<"mailbox"> {
  let summary = "memory through which stages on other workgroups or ranks get data";
  let description = [{
    Kind `tagged`: every 32-bit payload (one f32 or i32, two bf16, four f8E4M3FN) lies beside a 32-bit epoch tag
    in one naturally aligned 8-byte word. An aligned 8-byte access cannot tear (LLVM AMDGPUUsage,
    memory model), so a word whose tag is this launch's epoch is complete: no flag, no fence and no
    barrier is needed. Scope `device` joins workgroups of one device, `peers` also ranks; the memory
    of a peers mailbox belongs to the receiver. `slots` is the reuse distance in launches: ranks may
    be a launch apart, so `peers` needs 2 where every rank receives from every rank it posts to, 1
    where another exchange of each launch, before or behind, says that they have read, and more where a rank
    hears from them in a roundabout way only; 1 to 64.

    Elements that are posted and that nobody receives draw a warning where others of the mailbox are
    received; `{mono.padded}` says that they are there to fill up tiles.

    Example (test/dialect/ops.mlir):
    ```mlir
    %sum = mono.mailbox "partial" tagged scope(peers) slots(2) [%TP, %S, 6144] : bf16
    ```
  }];
  let arguments = (ins StrAttr:$name, Mono_ScopeAttr:$scope,
                       I64Attr:$slots,
                       Variadic<Index>:$args, AffineMapAttr:$shape, TypeAttr:$element,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs Mono_MailboxType:$result);
  let assemblyFormat = [{
    $name `tagged` custom<ScopeKeyword>($scope) `slots` `(` $slots `)`
    custom<Exprs>($args, $shape) `:` $element (`at` $offset^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Mono_RegionOp : Mono_DeclaringOp<"region"> {
  let summary = "a named part of the workgroup's LDS";
  let description = [{
    A region lives from the first stage that uses it to the last; regions whose lives do not meet may
    lie over one another. `pad` adds unused elements after each row. `at` pins the region to a byte
    offset, which is then checked against all that lives with it; without it the placement pass
    finds one and fills it in.

    Example (test/dialect/ops.mlir):
    ```mlir
    %row = mono.region "row" [%S, 6144] pad(8) : bf16
    %low = mono.region "low" [%S, 512] pad(8) : bf16 at 0
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$args, AffineMapAttr:$shape,
                       DefaultValuedAttr<I64Attr, "0">:$pad,
                       TypeAttr:$element, OptionalAttr<I64Attr>:$offset);
  let results = (outs Mono_BufferType:$result);
  let assemblyFormat = [{
    $name custom<Exprs>($args, $shape) (`pad` `(` $pad^ `)`)? `:` $element (`at` $offset^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements from one row to the next; only when bound.
    int64_t getRowStride();
    /// Bytes of the region; only when bound.
    int64_t getBytes();
  }];
}

def Mono_StageOp : Mono_Op<"stage", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>, SingleBlock, NoTerminator, AttrSizedOperandSegments, ParentOneOf<["ScheduleOp", "RoutineOp"]>]> {
  let summary = "tasks, the workgroups that run them, and what one workgroup does for a task";
  let description = [{
    Task t of the stage runs on workgroup (base + t) mod C of the C workgroups of the grid. A
    workgroup with several tasks runs them in rising order. The body is written for one workgroup.
    Besides `mono` ops it holds elementwise `arith` and `math`, reductions and broadcasts of `linalg`
    and what moves tensors; section 9 of docs/guide.md lists them.

    Example (test/dialect/ops.mlir):
    ```mlir
    mono.stage "o_proj" (%t) tasks [192] base [0] {
      ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$task_args, AffineMapAttr:$tasks,
                       Variadic<Index>:$base_args, AffineMapAttr:$base);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Mono_RoutineOp : Mono_Op<"routine", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "a named, shape-generic piece of a schedule";
  let description = [{
    Arguments are tensors, index values, operands, mailboxes or regions; `?` fits any size. The body
    is a piece of a stage or a list of stages with the mailboxes and regions they need, and ends in
    `mono.yield`. Calls are inlined when the schedule is bound, and the shapes of the caller become the
    shapes of the body. What a body declares keeps its name if that is free in the schedule, and else
    gets a number: `"sum"`, `"sum_2"`.

    Example (test/dialect/routine.mlir):
    ```mlir
    mono.routine @double(%x : tensor<?x?xf32>) -> tensor<?x?xf32> {
      %y = arith.addf %x, %x : tensor<?x?xf32>
      mono.yield %y : tensor<?x?xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Mono_YieldOp : Mono_Op<"yield", [Terminator, HasParent<"RoutineOp">, Pure]> {
  let summary = "the results of a routine";
  let description = [{
    Example (test/dialect/routine.mlir):
    ```mlir
    mono.yield %y : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Mono_CallOp : Mono_Op<"call"> {
  let summary = "inline a routine here";
  let description = [{
    Result types are those of the routine with the sizes the caller knows.

    Example (test/dialect/routine.mlir):
    ```mlir
    %y = mono.call @double(%x) : (tensor<?x128xf32>) -> tensor<?x128xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$args);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = "$callee `(` $args `)` attr-dict `:` functional-type($args, $values)";
}

#endif // MONO_SCHEDULE_OPS_TD

// Types of the things a schedule declares. They are handles: shape, element type and layout stand at
// the declaration, so that a routine takes an operand or mailbox of any shape.
#ifndef MONO_TYPES_TD
#define MONO_TYPES_TD

include "dialect/MonoDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Mono_Handle<string name, string typeMnemonic>
    : TypeDef<Mono_Dialect, name>,
      BuildableType<"::mono::" # name # "Type::get($_builder.getContext())"> {
  let mnemonic = typeMnemonic;
}

def Mono_BufferType : Mono_Handle<"Buffer", "buffer"> {
  let summary = "an operand in device memory, or a region of the workgroup's LDS";
}

def Mono_MailboxType : Mono_Handle<"Mailbox", "mailbox"> {
  let summary = "an exchange between workgroups or ranks";
}

def Mono_StreamType : Mono_Handle<"Stream", "stream"> {
  let summary = "weight rows on their way from memory to the matrix cores";
}

#endif // MONO_TYPES_TD

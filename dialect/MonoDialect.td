// The dialect itself and the base class of its ops.
#ifndef MONO_DIALECT_TD
#define MONO_DIALECT_TD

include "mlir/IR/OpBase.td"

def Mono_Dialect : Dialect {
  let name = "mono";
  let cppNamespace = "::mono";
  let summary = "resident-grid schedules: where, when and how data meets";
  let description = [{
    A schedule is one kernel on a grid whose workgroups are all resident at once. It declares
    parameters, operands, mailboxes and LDS regions, and lists stages. Every workgroup walks the
    stages in file order and runs the tasks a static map gives it. What a stage computes is said by
    `arith`, `math` and `linalg` on tensors; `mono` says where the data comes from, where it goes and
    when it may be read.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Ops that don't exist: an error with the name that was meant.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

class Mono_Op<string mnemonic, list<Trait> traits = []> : Op<Mono_Dialect, mnemonic, traits>;

#endif // MONO_DIALECT_TD

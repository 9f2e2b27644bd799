// Everything a user of the `mono` dialect needs: dialect, attributes, types and ops.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/MonoDialect.h.inc"

#include "dialect/MonoEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/MonoAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/MonoTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/Mono.h.inc"

// Declarations and registration of the passes.
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mono {

#define GEN_PASS_DECL
#include "lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lowering/Passes.h.inc"

} // namespace mono

// Declarations and registration of the passes.
#ifndef MONO_LOWERING_PASSES_H
#define MONO_LOWERING_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mono {

#define GEN_PASS_DECL
#include "lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lowering/Passes.h.inc"

} // namespace mono

#endif // MONO_LOWERING_PASSES_H

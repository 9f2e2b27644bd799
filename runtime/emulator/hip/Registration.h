// What the compiler makes a single-source program say about its kernels and variables before main.
#pragma once

#include "runtime/emulator/hip/ModuleTable.h"

#include <functional>

namespace mono::hipemu {

/// The registered kernel or variable of a host address, or null.
const RegisteredSymbol *findRegisteredFunction(const void *stub);
const RegisteredSymbol *findRegisteredVariable(const void *symbol);

void forEachRegisteredBinary(const std::function<void(RegisteredBinary &)> &visit);

} // namespace mono::hipemu

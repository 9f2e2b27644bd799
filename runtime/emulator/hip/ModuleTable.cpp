// Modules, functions and global variables.
#include "runtime/emulator/hip/ModuleTable.h"

#include "runtime/emulator/LaunchRules.h"
#include "runtime/emulator/hip/Bundle.h"
#include "runtime/emulator/hip/Registration.h"
#include "runtime/emulator/hip/Runtime.h"

#include <algorithm>

namespace mono::hipemu {

bool ModuleTable::isKnown(const Module *module) const {
  return std::any_of(modules.begin(), modules.end(),
                     [&](const auto &known) { return known.get() == module; });
}

bool ModuleTable::isLive(const Function *function) const {
  std::lock_guard guard(lock);
  return std::any_of(modules.begin(), modules.end(), [&](const auto &module) {
    return std::any_of(module->functions.begin(), module->functions.end(),
                       [&](const auto &entry) { return entry.second.get() == function; });
  });
}

hipError_t ModuleTable::load(llvm::StringRef image, unsigned device, Module **module) {
  auto code = extractCodeObject(image);
  if (!code) {
    std::string why = llvm::toString(code.takeError());
    bool noBinary = why.starts_with("no code for");
    return fail(noBinary ? hipErrorNoBinaryForGpu : hipErrorInvalidImage, "{}", why);
  }
  std::lock_guard guard(lock);
  auto fresh = std::make_unique<Module>();
  fresh->codeObject = std::move(*code);
  fresh->placed.resize(machine.ranks());
  emu::Module *placed = nullptr;
  if (hipError_t status = placeLocked(fresh.get(), device, &placed))
    return status;
  *module = fresh.get();
  modules.insert(std::move(fresh));
  return hipSuccess;
}

hipError_t ModuleTable::unload(Module *module) {
  std::lock_guard guard(lock);
  if (!isKnown(module))
    return hipErrorInvalidHandle;
  for (emu::Module *placed : module->placed)
    if (placed)
      if (llvm::Error error = machine.unload(placed))
        fail(hipErrorInvalidHandle, std::move(error));
  std::erase_if(modules, [&](const auto &known) { return known.get() == module; });
  return hipSuccess;
}

hipError_t ModuleTable::placeLocked(Module *module, unsigned device, emu::Module **placed) {
  if (!module->placed[device]) {
    auto loaded = machine.load(device, module->codeObject);
    if (!loaded) {
      std::string why = llvm::toString(loaded.takeError());
      print("code object refused: " + why);
      return hipErrorInvalidImage;
    }
    module->placed[device] = *loaded;
    if (hipError_t status = setManagedPointers(module, device))
      return status;
  }
  *placed = module->placed[device];
  return hipSuccess;
}

hipError_t ModuleTable::place(Module *module, unsigned device, emu::Module **placed) {
  std::lock_guard guard(lock);
  return isKnown(module) ? placeLocked(module, device, placed) : hipErrorInvalidHandle;
}

static emu::Module *anyPlacement(const Module &module) {
  for (emu::Module *placed : module.placed)
    if (placed)
      return placed;
  return nullptr;
}

hipError_t ModuleTable::function(Module *module, llvm::StringRef name, Function **function) {
  std::lock_guard guard(lock);
  if (!isKnown(module))
    return hipErrorInvalidHandle;
  std::unique_ptr<Function> &entry = module->functions[name.str()];
  if (!entry) {
    emu::Module *placed = anyPlacement(*module);
    auto info = machine.kernel(placed, name);
    if (!info) {
      module->functions.erase(name.str());
      return fail(hipErrorNotFound, info.takeError());
    }
    entry = std::make_unique<Function>(
        Function{module, name.str(), std::move(*info), {}, false, false, 0});
    std::vector<emu::KernelArg> args = llvm::cantFail(machine.kernelArgs(placed, name));
    entry->explicitBytes = emu::explicitBytes(args);
    for (emu::KernelArg &arg : args) {
      if (emu::isHidden(arg)) {
        entry->hasHiddenArgs = true;
        entry->usesGridSync |= arg.valueKind == "hidden_multigrid_sync_arg";
        continue;
      }
      entry->args.push_back(std::move(arg));
    }
  }
  *function = entry.get();
  return hipSuccess;
}

hipError_t ModuleTable::global(Module *module, unsigned device, llvm::StringRef name,
                               uint64_t *address, uint64_t *bytes) {
  std::lock_guard guard(lock);
  emu::Module *placed = nullptr;
  if (hipError_t status = place(module, device, &placed))
    return status;
  auto found = machine.global(placed, name);
  if (!found)
    return fail(hipErrorNotFound, found.takeError());
  *address = found->first;
  *bytes = found->second;
  return hipSuccess;
}

// ---- what the program registered ---------------------------------------------------------------

hipError_t ModuleTable::binaryModule(RegisteredBinary &binary, Module **module) {
  if (!binary.module && binary.status == hipSuccess) {
    auto length = imageLength(binary.image);
    if (length)
      binary.status = load({static_cast<const char *>(binary.image), *length},
                           Runtime::currentDevice(), &binary.module);
    else
      binary.status = fail(hipErrorInvalidImage, length.takeError());
  }
  *module = binary.module;
  return binary.status;
}

hipError_t ModuleTable::functionOfStub(const void *stub, Function **result) {
  std::lock_guard guard(lock);
  const RegisteredSymbol *symbol = findRegisteredFunction(stub);
  if (!symbol)
    return fail(hipErrorInvalidDeviceFunction, "{}: not the address of a kernel", stub);
  Module *module = nullptr;
  if (hipError_t status = binaryModule(*symbol->binary, &module))
    return status;
  return function(module, symbol->name, result);
}

hipError_t ModuleTable::globalOfSymbol(const void *symbol, unsigned device, uint64_t *address,
                                       uint64_t *bytes) {
  std::lock_guard guard(lock);
  const RegisteredSymbol *found = findRegisteredVariable(symbol);
  if (!found)
    return fail(hipErrorInvalidSymbol, "{}: not the address of a device variable", symbol);
  Module *module = nullptr;
  if (hipError_t status = binaryModule(*found->binary, &module))
    return status;
  hipError_t status = global(module, device, found->name, address, bytes);
  return status == hipErrorNotFound ? hipErrorInvalidSymbol : status;
}

hipError_t ModuleTable::prepareManaged() {
  hipError_t status = hipSuccess;
  forEachRegisteredBinary([&](RegisteredBinary &binary) {
    for (RegisteredBinary::ManagedVariable &variable : binary.managed) {
      if (status != hipSuccess || *variable.pointer)
        continue;
      status = Runtime::get().memory().allocateHost(BlockKind::Managed, Runtime::currentDevice(),
                                                    variable.bytes, 0, variable.pointer);
      if (status == hipSuccess && variable.initial)
        std::memcpy(*variable.pointer, variable.initial, variable.bytes);
    }
  });
  return status;
}

/// The device side of a managed variable is a pointer of the same name.
hipError_t ModuleTable::setManagedPointers(Module *module, unsigned device) {
  hipError_t status = hipSuccess;
  forEachRegisteredBinary([&](RegisteredBinary &binary) {
    // While a binary is loaded for the first time its module is not known to it yet; names of
    // other modules' variables are simply not found.
    for (RegisteredBinary::ManagedVariable &variable : binary.managed) {
      auto place = machine.global(module->placed[device], variable.name);
      if (!place) {
        llvm::consumeError(place.takeError());
        continue;
      }
      if (llvm::Error error =
              machine.copy(place->first, reinterpret_cast<uint64_t>(variable.pointer), 8))
        status = fail(hipErrorInvalidSymbol, std::move(error));
    }
  });
  return status;
}

} // namespace mono::hipemu

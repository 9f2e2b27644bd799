// Modules, functions and global variables; those loaded by name and those compiled into the
// program.
#pragma once

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/hip/HipAbi.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace mono::hipemu {

/// A kernel of a module; the same on every device.
struct Function {
  Module *module;
  std::string name;
  emu::KernelInfo info;
  std::vector<emu::KernelArg> args; ///< without the hidden ones
  bool hasHiddenArgs = false;
  bool usesGridSync = false;  ///< takes the barrier of cooperative groups
  uint64_t explicitBytes = 0; ///< end of the last argument that is not hidden
};

/// A code object, placed on a device when the device first needs it.
struct Module {
  std::vector<uint8_t> codeObject;
  std::vector<emu::Module *> placed; ///< by device, null until needed
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
};

/// A fat binary of the program and what it registered; kept apart from the runtime because it is
/// filled before main and emptied after.
struct RegisteredBinary {
  const void *image = nullptr;
  Module *module = nullptr;
  hipError_t status = hipSuccess; ///< of the failed attempt to load it

  struct ManagedVariable {
    void **pointer; ///< the host variable that holds its address
    const void *initial;
    std::string name;
    uint64_t bytes;
  };
  std::vector<ManagedVariable> managed;
};

/// A host address that stands for a kernel or variable of a registered binary.
struct RegisteredSymbol {
  RegisteredBinary *binary;
  std::string name;
};

/// Thread-safe.
class ModuleTable {
public:
  explicit ModuleTable(emu::Machine &machine) : machine(machine) {}

  /// Loads an ELF file or bundle, and checks it by placing it on `device`.
  hipError_t load(llvm::StringRef image, unsigned device, Module **module);
  hipError_t unload(Module *module);

  /// hipErrorNotFound if there is no such kernel or variable.
  hipError_t function(Module *module, llvm::StringRef name, Function **function);
  hipError_t global(Module *module, unsigned device, llvm::StringRef name, uint64_t *address,
                    uint64_t *bytes);
  hipError_t place(Module *module, unsigned device, emu::Module **placed);

  bool isLive(const Function *function) const;

  /// The kernel of a host stub; hipErrorInvalidDeviceFunction if the address is none.
  hipError_t functionOfStub(const void *stub, Function **function);
  /// The device variable behind a host variable; hipErrorInvalidSymbol if there is none.
  hipError_t globalOfSymbol(const void *symbol, unsigned device, uint64_t *address,
                            uint64_t *bytes);
  /// Allocates and fills the managed variables of all registered binaries that need it.
  hipError_t prepareManaged();

private:
  hipError_t binaryModule(RegisteredBinary &binary, Module **module);
  bool isKnown(const Module *module) const;
  hipError_t placeLocked(Module *module, unsigned device, emu::Module **placed);
  hipError_t setManagedPointers(Module *module, unsigned device);

  emu::Machine &machine;
  mutable std::recursive_mutex lock;
  std::set<std::unique_ptr<Module>> modules;
};

} // namespace mono::hipemu

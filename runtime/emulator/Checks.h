// Names of the emulator's checks; each can be switched by name.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace mono::emu {

enum class Check : uint8_t {
  Waitcnt, ///< "waitcnt": a register or LDS range is used before its load was waited for
  Bounds,  ///< "bounds": a memory access outside every allocation or outside LDS; off: reads give 0
           ///< and writes are dropped
  MemUninit,      ///< "mem-uninit": a read of device memory nobody wrote
  LdsUninit,      ///< "lds-uninit": a read of LDS bytes this workgroup never wrote
  RegisterUninit, ///< "register-uninit": a read of a register nobody wrote. Not among `all`:
                  ///< compilers read undefined registers where the value does not matter
  Alignment,      ///< "alignment": a scalar memory address that is not a multiple of 4
  Deadlock,       ///< "deadlock": no wave can make progress. Off: only the budget ends such a run
  LdsRace,        ///< "lds-race": waves of a workgroup touch one LDS byte, no barrier between
  GlobalRace,     ///< "global-race": workgroups touch one byte of device memory, unordered. Off by
                  ///< default: it doubles the time of a memory-bound kernel
  Exec,           ///< "exec": an instruction that needs all lanes runs with some switched off
  Hazard,         ///< "hazard": too few wait states before a dependent instruction. Off by default
};
inline constexpr unsigned checkCount = 11;

/// A set of checks.
class Checks {
public:
  /// Those that no correct program fails: all but register-uninit.
  static Checks all();
  /// All of them but hazard and global-race.
  static Checks defaults();
  /// The default ones and global-race: what tests run with.
  static Checks thorough() { return defaults().set(Check::GlobalRace); }
  static Checks none() { return Checks(); }

  bool has(Check check) const { return bits >> unsigned(check) & 1; }
  Checks &set(Check check, bool on = true);

  /// Applies a comma-separated list such as "all,-waitcnt", "all,register-uninit" or "none,bounds";
  /// "all" and "none" replace what stands before them by all() and none(). An unknown name is an
  /// error that lists the known ones.
  llvm::Error apply(llvm::StringRef list);

private:
  uint32_t bits = 0;
};

/// The name of a check as users write it.
llvm::StringRef checkName(Check check);

} // namespace mono::emu

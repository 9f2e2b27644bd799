// Names of the emulator's checks.
#include "runtime/emulator/Checks.h"

#include "runtime/Error.h"

#include "llvm/ADT/SmallVector.h"

namespace mono::emu {

static constexpr const char *names[checkCount] = {
    "waitcnt",  "bounds",   "mem-uninit",  "lds-uninit", "register-uninit", "alignment",
    "deadlock", "lds-race", "global-race", "exec",       "hazard",
};

llvm::StringRef checkName(Check check) { return names[unsigned(check)]; }

Checks Checks::all() {
  Checks result;
  result.bits = (1u << checkCount) - 1;
  return result.set(Check::RegisterUninit, false);
}

Checks Checks::defaults() { return all().set(Check::Hazard, false).set(Check::GlobalRace, false); }

Checks &Checks::set(Check check, bool on) {
  uint32_t mask = 1u << unsigned(check);
  bits = on ? bits | mask : bits & ~mask;
  return *this;
}

static std::string knownNames() {
  std::string list = "all, none";
  for (const char *name : names)
    list += std::string(", ") + name;
  return list;
}

llvm::Error Checks::apply(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> words;
  list.split(words, ',', -1, false);
  for (llvm::StringRef word : words) {
    word = word.trim();
    bool on = !word.consume_front("-");
    if (word == "all" || word == "none") {
      *this = (word == "all") == on ? all() : none();
      continue;
    }
    unsigned check = 0;
    while (check < checkCount && word != names[check])
      ++check;
    if (check == checkCount)
      return makeError("unknown check '{}'; known: {}", word, knownNames());
    set(Check(check), on);
  }
  return llvm::Error::success();
}

} // namespace mono::emu

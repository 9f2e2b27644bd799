// Facts of the emulated devices that more than one group of calls tells.
#pragma once

#include "runtime/emulator/hip/Runtime.h"

#include <cstring>

namespace mono::hipemu {

inline constexpr const char *deviceName = "AMD Instinct MI355X (emulated)";

inline bool isDevice(int device) {
  return device >= 0 && unsigned(device) < Runtime::get().deviceCount();
}

/// Unique for each device of the process, up to 64.
inline hipUUID uuidOf(int device) {
  hipUUID uuid = {};
  std::memcpy(uuid.bytes, "GPU-emulated", 12);
  uuid.bytes[15] = char('0' + device);
  return uuid;
}

} // namespace mono::hipemu

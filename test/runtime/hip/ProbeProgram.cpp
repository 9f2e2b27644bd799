// Prints what the runtime's probe finds: library, then number of devices.
#include "runtime/hip/HipProbe.h"

#include <cstdio>

int main() {
  mono::hip::ProbeResult result = mono::hip::probe();
  std::printf("%s %d\n", result.library.c_str(), result.devices);
}

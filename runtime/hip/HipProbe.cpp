// Opens the default library and counts.
#include "runtime/hip/HipProbe.h"
#include "runtime/Error.h"
#include "runtime/hip/HipLibrary.h"

namespace mono::hip {

ProbeResult probe() {
  ProbeResult result;
  auto library = HipLibrary::open();
  if (!library) {
    result.message = llvm::toString(library.takeError());
    return result;
  }
  result.library = (*library)->name();
  int count = 0;
  api::Status status = (*library)->functions().hipGetDeviceCount(&count);
  if (llvm::Error error = (*library)->check(status, "hipGetDeviceCount")) {
    result.message = result.library + ": " + llvm::toString(std::move(error));
    return result;
  }
  result.devices = count;
  result.message =
      fmt::format("{} (HIP {}) reports {} devices", result.library, (*library)->version(), count);
  return result;
}

} // namespace mono::hip

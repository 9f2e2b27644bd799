// Opening libamdhip64 and filling the table.
#include "runtime/hip/HipLibrary.h"
#include "runtime/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;

namespace mono::hip {

static constexpr StringLiteral libraryNames[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                 "libamdhip64.so.5", "libamdhip64.so"};
static constexpr const char *libraryVariable = "MONO_HIP_LIBRARY";
static constexpr int oldestMajor = 5;
static constexpr int majorUnit = 10'000'000, minorUnit = 100'000;

Expected<std::shared_ptr<const HipLibrary>> HipLibrary::open() {
  if (const char *file = std::getenv(libraryVariable); file && *file)
    return open(file);
  for (StringRef name : libraryNames)
    if (dlopen(name.data(), RTLD_NOW | RTLD_LOCAL))
      return open(name.str());
  return makeError("no HIP library: none of {} can be opened; install ROCm, or name the file in {}",
                   llvm::join(ArrayRef(libraryNames), ", "), libraryVariable);
}

Expected<std::shared_ptr<const HipLibrary>> HipLibrary::open(const std::string &file) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError("no HIP library: {}", dlerror());
  std::shared_ptr<HipLibrary> library(new HipLibrary);
  library->file = file;
  if (Error error = library->load(handle))
    return error;
  if (Error error = library->checkVersion())
    return error;
  return library;
}

template <typename Function> static void resolve(void *handle, const char *name, Function &into) {
  into = reinterpret_cast<Function>(dlsym(handle, name));
}

Error HipLibrary::load(void *handle) {
#define MONO_HIP_REQUIRED(NAME, PARAMETERS)                                                        \
  resolve(handle, #NAME, table.NAME);                                                              \
  if (!table.NAME)                                                                                 \
    return makeError("{}: not a usable HIP library: it has no function {}", file, #NAME);
#define MONO_HIP_OPTIONAL(NAME, PARAMETERS) resolve(handle, #NAME, table.NAME);
#include "runtime/hip/HipFunctions.def"
  resolve(handle, "hipGetErrorName", table.hipGetErrorName);
  resolve(handle, "hipGetErrorString", table.hipGetErrorString);
  if (!table.hipGetDevicePropertiesR0600 && !table.hipGetDeviceProperties)
    return makeError("{}: not a usable HIP library: it has no function hipGetDeviceProperties",
                     file);
  return Error::success();
}

Error HipLibrary::checkVersion() {
  if (Error error = check(table.hipRuntimeGetVersion(&versionNumber), "hipRuntimeGetVersion"))
    return error;
  if (versionNumber / majorUnit < oldestMajor)
    return makeError("{}: expected HIP {} or newer, but got {}", file, oldestMajor, version());
  return Error::success();
}

std::string HipLibrary::version() const {
  return fmt::format("{}.{}", versionNumber / majorUnit, versionNumber % majorUnit / minorUnit);
}

Error HipLibrary::check(api::Status status, StringRef call) const {
  if (status == api::Success)
    return Error::success();
  const char *name = table.hipGetErrorName ? table.hipGetErrorName(status) : nullptr;
  const char *text = table.hipGetErrorString ? table.hipGetErrorString(status) : nullptr;
  return makeError("{}: {} ({}): {}", call, name ? name : "HIP error", int(status),
                   text ? text : "no description");
}

} // namespace mono::hip

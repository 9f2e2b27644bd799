// Error codes of the API, and the calls that ask about them.
#include "runtime/emulator/hip/Status.h"

#include <cstdio>
#include <cstdlib>

namespace mono::hipemu {

static thread_local hipError_t lastError = hipSuccess;

hipError_t remember(hipError_t status) {
  if (status != hipSuccess && status != hipErrorNotReady)
    lastError = status;
  return status;
}

void print(const std::string &text) { std::fprintf(stderr, "hip-emulator: %s\n", text.c_str()); }

void log(const std::string &text) {
  static const bool wanted = [] {
    const char *value = std::getenv("MONO_HIP_LOG");
    return value && *value && std::string(value) != "0";
  }();
  if (wanted)
    print(text);
}

hipError_t fail(hipError_t status, llvm::Error why) {
  log(llvm::toString(std::move(why)));
  return status;
}

namespace {
struct ErrorEntry {
  hipError_t code;
  const char *name, *text;
};
} // namespace

static constexpr ErrorEntry errors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {hipErrorDeinitialized, "hipErrorDeinitialized", "driver shutting down"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration",
     "invalid configuration argument"},
    {hipErrorInvalidPitchValue, "hipErrorInvalidPitchValue", "invalid pitch argument"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {hipErrorMissingConfiguration, "hipErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorInvalidContext, "hipErrorInvalidContext", "invalid device context"},
    {hipErrorMapFailed, "hipErrorMapFailed", "mapping of buffer object failed"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {hipErrorPeerAccessUnsupported, "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {hipErrorInvalidKernelFile, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorSharedObjectInitFailed, "hipErrorSharedObjectInitFailed",
     "shared object initialization failed"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorIllegalState, "hipErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {hipErrorLaunchOutOfResources, "hipErrorLaunchOutOfResources", "out of resources"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {hipErrorPeerAccessAlreadyEnabled, "hipErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {hipErrorPeerAccessNotEnabled, "hipErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {hipErrorAssert, "hipErrorAssert", "device-side assert triggered"},
    {hipErrorHostMemoryAlreadyRegistered, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {hipErrorHostMemoryNotRegistered, "hipErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorCooperativeLaunchTooLarge, "hipErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {hipErrorStreamCaptureMerge, "hipErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {hipErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {hipErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {hipErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {hipErrorGraphExecUpdateFailure, "hipErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to instantiated graph update"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
};

static const ErrorEntry *findError(hipError_t status) {
  for (const ErrorEntry &entry : errors)
    if (entry.code == status)
      return &entry;
  return nullptr;
}

const char *errorName(hipError_t status) {
  const ErrorEntry *entry = findError(status);
  return entry ? entry->name : nullptr;
}

const char *errorText(hipError_t status) {
  const ErrorEntry *entry = findError(status);
  return entry ? entry->text : nullptr;
}

} // namespace mono::hipemu

using namespace mono::hipemu;

HIP_EXPORT const char *hipGetErrorName(hipError_t status) {
  const char *name = errorName(status);
  return name ? name : "hipErrorUnknown";
}

HIP_EXPORT const char *hipGetErrorString(hipError_t status) {
  const char *text = errorText(status);
  return text ? text : "unknown error";
}

HIP_EXPORT hipError_t hipDrvGetErrorName(hipError_t status, const char **name) {
  if (!name)
    return hipErrorInvalidValue;
  *name = errorName(status);
  return *name ? hipSuccess : hipErrorInvalidValue;
}

HIP_EXPORT hipError_t hipDrvGetErrorString(hipError_t status, const char **text) {
  if (!text)
    return hipErrorInvalidValue;
  *text = errorText(status);
  return *text ? hipSuccess : hipErrorInvalidValue;
}

HIP_EXPORT hipError_t hipGetLastError() { return std::exchange(lastError, hipSuccess); }
HIP_EXPORT hipError_t hipExtGetLastError() { return std::exchange(lastError, hipSuccess); }
HIP_EXPORT hipError_t hipPeekAtLastError() { return lastError; }

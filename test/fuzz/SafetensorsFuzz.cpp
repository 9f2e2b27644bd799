// Safetensors files: whatever the bytes, they are an error or tensors that lie inside the file, and
// what is accepted survives being written and read again.
#include "runtime/Safetensors.h"

#include <cstdlib>

using namespace mono;

static llvm::Expected<SafetensorsFile> parse(llvm::StringRef bytes) {
  return SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, "input"));
}

/// Ends the run: an accepted input broke a promise.
static void require(bool promise) {
  if (!promise)
    std::abort();
}

static void checkRoundTrip(const SafetensorsFile &file) {
  auto written = formatSafetensors(file.tensors(), file.metadata());
  require(bool(written));
  auto again = parse(*written);
  require(again && again->tensors().size() == file.tensors().size() &&
          again->metadata() == file.metadata());
  for (size_t n = 0; n < file.tensors().size(); ++n) {
    const TensorView &a = file.tensors()[n], &b = again->tensors()[n];
    require(a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.data == b.data);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = parse({reinterpret_cast<const char *>(data), size});
  if (file)
    checkRoundTrip(*file);
  else
    llvm::consumeError(file.takeError());
  return 0;
}

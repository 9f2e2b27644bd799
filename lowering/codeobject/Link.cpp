// In-process linking with LLD.
#include "lowering/codeobject/CodeObject.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace mono {

static Error failure(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

std::shared_mutex &llvmOptionsMutex() {
  static std::shared_mutex mutex;
  return mutex;
}

/// Exit status of LLD; what it says goes to `messages`.
static int runLld(ArrayRef<const char *> arguments, raw_ostream &messages) {
  // It also keeps global state of its own while it runs.
  std::unique_lock lock(llvmOptionsMutex());
  static bool usable = true;
  if (!usable) {
    messages << "it crashed before in this process";
    return 1;
  }
  lld::Result result = lld::lldMain(arguments, messages, messages, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  return result.retCode;
}

Expected<Bytes> linkWithLld(ArrayRef<uint8_t> relocatable) {
  // LLD reads and writes files.
  SmallString<128> input, output;
  int fd = -1;
  if (std::error_code code = sys::fs::createTemporaryFile("mono", "o", fd, input))
    return failure("can't create a temporary file: " + code.message());
  FileRemover removeInput(input);
  {
    raw_fd_ostream stream(fd, /*shouldClose=*/true);
    stream.write(reinterpret_cast<const char *>(relocatable.data()), relocatable.size());
    stream.close();
    if (stream.has_error()) {
      std::error_code code = stream.error();
      stream.clear_error(); // an error nobody saw ends the process
      return failure("can't write a temporary file: " + code.message());
    }
  }
  if (std::error_code code = sys::fs::createTemporaryFile("mono", "hsaco", output))
    return failure("can't create a temporary file: " + code.message());
  FileRemover removeOutput(output);

  std::string messages;
  raw_string_ostream stream(messages);
  // Nothing is linked to the code object when it is loaded: an undefined symbol is an error here.
  const char *arguments[] = {"ld.lld",      "-shared", "--no-undefined", "--threads=1",
                             input.c_str(), "-o",      output.c_str()};
  if (runLld(arguments, stream) != 0)
    return failure("lld could not link the code object: " + StringRef(messages).trim());
  auto buffer = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return failure("can't read the linked code object: " + buffer.getError().message());
  return Bytes((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
}

} // namespace mono

// Opening comgr and linking with it.
#include "lowering/codeobject/Comgr.h"

#include "lowering/codeobject/ComgrLibrary.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

using namespace llvm;

namespace mono {
namespace comgr {
namespace {

/// First major version that knows gfx950.
constexpr size_t kFirstMajor = 3;
constexpr const char *kIsa = "amdgcn-amd-amdhsa--gfx950";

Error failure(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// Opens the library; never closes it, since threads and exit handlers of its own may be alive.
Expected<void *> openLibrary() {
  std::string tried;
  auto open = [&](const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      tried += (tried.empty() ? "" : "; ") + std::string(dlerror());
    return library;
  };
  if (const char *file = std::getenv("MONO_COMGR_LIBRARY")) {
    if (void *library = open(file))
      return library;
  } else {
    for (const char *name : {"libamd_comgr.so.3", "libamd_comgr.so.2"})
      if (void *library = open(name))
        return library;
  }
  return failure("expected ROCm's comgr 3 (libamd_comgr.so.3) for --linker=comgr, but it can't be "
                 "opened: " +
                 tried);
}

Error resolve(void *library, Library &functions) {
#define MONO_COMGR_RESOLVE(member, symbol, result, parameters)                                     \
  functions.member = reinterpret_cast<result(*) parameters>(dlsym(library, #symbol));              \
  if (!functions.member)                                                                           \
    return failure("comgr has no function '" #symbol "'");
  MONO_COMGR_FUNCTIONS(MONO_COMGR_RESOLVE)
#undef MONO_COMGR_RESOLVE
  return Error::success();
}

Error checkVersion(const Library &library) {
  size_t major = 0, minor = 0;
  library.getVersion(&major, &minor);
  if (major >= kFirstMajor)
    return Error::success();
  return failure("expected comgr " + Twine(kFirstMajor) + ".0 or later, but got " + Twine(major) +
                 "." + Twine(minor) + ", which does not know gfx950 (use --linker=lld)");
}

/// What the first call found: the library or why there is none.
struct Found {
  Library library;
  std::string error;
};

Found find() {
  Found found;
  Expected<void *> handle = openLibrary();
  Error error = handle ? resolve(*handle, found.library) : handle.takeError();
  if (!error)
    error = checkVersion(found.library);
  found.error = error ? toString(std::move(error)) : "";
  return found;
}

/// The steps of one link. Every handle is released when it goes out of scope.
class Link {
public:
  explicit Link(const Library &library) : library(library) {}

  Expected<Bytes> run(ArrayRef<uint8_t> relocatable) {
    DataSet input{}, output{};
    ActionInfo info{};
    auto release = scope_exit([&] {
      library.destroyActionInfo(info);
      library.destroyDataSet(output);
      library.destroyDataSet(input);
    });
    if (Error error = check(library.createDataSet(&input), "create a data set"))
      return error;
    if (Error error = check(library.createDataSet(&output), "create a data set"))
      return error;
    if (Error error = addRelocatable(input, relocatable))
      return error;
    if (Error error = describe(info))
      return error;
    if (Error error =
            check(library.doAction(ActionKind::LinkRelocatableToExecutable, info, input, output),
                  "link the code object"))
      return failure(toString(std::move(error)) + log(output));
    return read(output, DataKind::Executable);
  }

private:
  Error check(Status status, const char *what) {
    if (status == 0)
      return Error::success();
    const char *text = nullptr;
    library.statusString(status, &text);
    return failure(Twine("comgr could not ") + what + ": " +
                   (text ? text : "error " + std::to_string(status)));
  }

  Error addRelocatable(DataSet set, ArrayRef<uint8_t> bytes) {
    Data data{};
    if (Error error = check(library.createData(DataKind::Relocatable, &data), "create data"))
      return error;
    auto release =
        scope_exit([&] { library.releaseData(data); }); // the set keeps its own reference
    if (Error error =
            check(library.setData(data, bytes.size(), reinterpret_cast<const char *>(bytes.data())),
                  "take the relocatable"))
      return error;
    if (Error error = check(library.setDataName(data, "mono.o"), "name the relocatable"))
      return error;
    return check(library.addToDataSet(set, data), "add the relocatable");
  }

  Error describe(ActionInfo &info) {
    if (Error error = check(library.createActionInfo(&info), "create an action"))
      return error;
    if (Error error = check(library.setIsaName(info, kIsa), "select gfx950"))
      return error;
    return check(library.setLogging(info, true), "switch on its log");
  }

  Expected<Bytes> read(DataSet set, DataKind kind) {
    Data data{};
    if (Error error = check(library.getFromDataSet(set, kind, 0, &data), "return the code object"))
      return error;
    auto release = scope_exit([&] { library.releaseData(data); });
    size_t size = 0;
    if (Error error = check(library.getData(data, &size, nullptr), "measure the code object"))
      return error;
    Bytes bytes(size);
    if (Error error = check(library.getData(data, &size, reinterpret_cast<char *>(bytes.data())),
                            "copy the code object"))
      return error;
    return bytes;
  }

  /// ": " and what the linker said; empty if it kept no log.
  std::string log(DataSet output) {
    size_t count = 0;
    if (library.countInDataSet(output, DataKind::Log, &count) != 0 || count == 0)
      return "";
    Expected<Bytes> bytes = read(output, DataKind::Log);
    if (!bytes) {
      consumeError(bytes.takeError());
      return "";
    }
    StringRef text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    return ": " + text.rtrim(StringRef("\0\n ", 3)).str();
  }

  const Library &library;
};

} // namespace
} // namespace comgr

static Expected<const comgr::Library &> findComgr() {
  static const comgr::Found found = comgr::find();
  if (!found.error.empty())
    return comgr::failure(found.error);
  return found.library;
}

Expected<ComgrIdentity> identifyComgr() {
  Expected<const comgr::Library &> library = findComgr();
  if (!library)
    return library.takeError();
  size_t major = 0, minor = 0;
  library->getVersion(&major, &minor);
  return ComgrIdentity{(Twine(major) + "." + Twine(minor)).str(),
                       reinterpret_cast<const void *>(library->getVersion)};
}

Expected<Bytes> linkWithComgr(ArrayRef<uint8_t> relocatable) {
  Expected<const comgr::Library &> library = findComgr();
  if (!library)
    return library.takeError();
  // comgr runs LLD, too: its copy has global state of its own.
  static std::mutex oneAtATime;
  std::lock_guard lock(oneAtATime);
  return comgr::Link(*library).run(relocatable);
}

} // namespace mono

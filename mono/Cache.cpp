// Entries, their checks, and the eviction of old ones.
#include "mono/Cache.h"

#include "runtime/Error.h"
#include "runtime/File.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

using namespace llvm;
namespace endian = llvm::support::endian;

namespace mono::facade {

static constexpr char kMagic[8] = {'m', 'o', 'n', 'o', 'c', 'a', 'c', 'h'};
static constexpr uint32_t kFormat = 1;
static constexpr StringRef kSuffix = ".entry";
static constexpr StringRef kTemporary = ".tmp";
/// A temporary file this old was left by a process that died.
static constexpr std::chrono::hours kTemporaryLife{1};

KeyBuilder &KeyBuilder::add(ArrayRef<uint8_t> bytes) {
  uint8_t length[8];
  endian::write64le(length, bytes.size());
  hash.update(length);
  hash.update(bytes);
  return *this;
}

KeyBuilder &KeyBuilder::add(StringRef text) {
  return add(ArrayRef(text.bytes_begin(), text.bytes_end()));
}

KeyBuilder &KeyBuilder::add(int64_t number) {
  uint8_t bytes[8];
  endian::write64le(bytes, number);
  return add(ArrayRef<uint8_t>(bytes));
}

/// "64M" -> 2^26.
static Expected<uint64_t> parseSize(StringRef text) {
  StringRef digits = text.rtrim("KMG");
  unsigned shift = StringSwitch<unsigned>(text.drop_front(digits.size()))
                       .Case("", 0)
                       .Case("K", 10)
                       .Case("M", 20)
                       .Case("G", 30)
                       .Default(64);
  uint64_t value = 0;
  if (shift == 64 || digits.getAsInteger(10, value) || value > (UINT64_MAX >> shift))
    return makeError(
        "MONO_CACHE_SIZE: expected a number of bytes, with K, M or G for the powers of "
        "1024, but got '{}'",
        text);
  return value << shift;
}

static std::string directoryFromEnvironment() {
  if (const char *directory = std::getenv("MONO_CACHE_DIR"))
    return directory;
  SmallString<128> path;
  const char *base = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  // The XDG specification wants relative paths ignored.
  if (base && sys::path::is_absolute(base))
    path = base;
  else if (home && *home)
    sys::path::append(path, home, ".cache");
  else
    return "";
  sys::path::append(path, "monoc");
  return path.str().str();
}

Expected<CacheSettings> cacheSettingsFromEnvironment() {
  CacheSettings settings;
  settings.directory = directoryFromEnvironment();
  settings.maxBytes = kDefaultCacheBytes;
  if (const char *text = std::getenv("MONO_CACHE_SIZE")) {
    Expected<uint64_t> size = parseSize(text);
    if (!size)
      return size.takeError();
    settings.maxBytes = *size;
  }
  if (!settings.enabled())
    settings.reason = "switched off by the environment";
  return settings;
}

std::vector<uint8_t> encodeEntry(const CacheKey &key, ArrayRef<uint8_t> payload) {
  std::vector<uint8_t> file(kCacheHeaderBytes + payload.size());
  CacheKey digest = SHA256::hash(payload);
  std::memcpy(&file[0], kMagic, 8);
  endian::write32le(&file[8], kFormat);
  endian::write64le(&file[16], payload.size());
  std::copy(key.begin(), key.end(), &file[24]);
  std::copy(digest.begin(), digest.end(), &file[56]);
  std::copy(payload.begin(), payload.end(), file.begin() + kCacheHeaderBytes);
  return file;
}

std::optional<ArrayRef<uint8_t>> decodeEntry(const CacheKey &key, ArrayRef<uint8_t> file) {
  if (file.size() < kCacheHeaderBytes)
    return std::nullopt;
  ArrayRef<uint8_t> payload = file.drop_front(kCacheHeaderBytes);
  bool good = std::memcmp(file.data(), kMagic, 8) == 0 && endian::read32le(&file[8]) == kFormat &&
              endian::read32le(&file[12]) == 0 && endian::read64le(&file[16]) == payload.size() &&
              std::equal(key.begin(), key.end(), &file[24]);
  if (!good)
    return std::nullopt;
  CacheKey digest = SHA256::hash(payload);
  if (!std::equal(digest.begin(), digest.end(), &file[56]))
    return std::nullopt;
  return payload;
}

std::string Cache::pathOf(const CacheKey &key) const {
  SmallString<128> path(settings.directory);
  sys::path::append(path, toHex(key, /*LowerCase=*/true) + kSuffix);
  return path.str().str();
}

std::optional<std::vector<uint8_t>> Cache::load(const CacheKey &key) const {
  std::string path = pathOf(key);
  // Not mapped: another process may truncate the file while it is read.
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  StringRef bytes = (*file)->getBuffer();
  auto payload = decodeEntry(key, ArrayRef(bytes.bytes_begin(), bytes.bytes_end()));
  if (!payload)
    return std::nullopt;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // now; only the order of eviction depends on it
  return payload->vec();
}

Error Cache::store(const CacheKey &key, ArrayRef<uint8_t> payload) const {
  std::vector<uint8_t> entry = encodeEntry(key, payload);
  if (entry.size() > settings.maxBytes)
    return makeError("the cache has room for {} bytes, but the entry needs {}", settings.maxBytes,
                     entry.size());
  if (std::error_code code = sys::fs::create_directories(
          settings.directory, /*IgnoreExisting=*/true, sys::fs::perms::owner_all))
    return makeError("can't create the cache directory '{}': {}", settings.directory,
                     code.message());
  std::string path = pathOf(key);
  ErrorOr<TemporaryFile> file = TemporaryFile::create(path, kTemporary);
  if (!file)
    return makeError("can't write to the cache directory '{}': {}", settings.directory,
                     file.getError().message());
  std::error_code code = file->write(toStringRef(entry));
  if (!code)
    code = file->keep(); // atomic: the last writer wins, and all wrote the same
  if (code)
    return makeError("can't write the cache entry '{}': {}", path, code.message());
  evict();
  return Error::success();
}

namespace {

struct OnDisk {
  std::string path;
  uint64_t bytes;
  sys::TimePoint<> used;
};

} // namespace

/// Removes `file` if a dead process left it.
static void removeStale(const std::string &file, sys::TimePoint<> written) {
  if (std::chrono::system_clock::now() - written > kTemporaryLife)
    sys::fs::remove(file);
}

/// The entries of a directory, whose temporary files it tidies on the way. Files that vanish
/// meanwhile are left out.
static std::vector<OnDisk> listEntries(const std::string &directory) {
  std::vector<OnDisk> entries;
  std::error_code code;
  for (sys::fs::directory_iterator it(directory, code), end; it != end && !code;
       it.increment(code)) {
    ErrorOr<sys::fs::basic_file_status> status = it->status();
    if (!status)
      continue;
    if (StringRef(it->path()).ends_with(kTemporary))
      removeStale(it->path(), status->getLastModificationTime());
    else if (StringRef(it->path()).ends_with(kSuffix))
      entries.push_back({it->path(), status->getSize(), status->getLastModificationTime()});
  }
  return entries;
}

void Cache::evict() const {
  std::vector<OnDisk> entries = listEntries(settings.directory);
  uint64_t total = 0;
  for (const OnDisk &entry : entries)
    total += entry.bytes;
  std::sort(entries.begin(), entries.end(),
            [](const OnDisk &a, const OnDisk &b) { return a.used < b.used; });
  for (const OnDisk &entry : entries) {
    if (total <= settings.maxBytes)
      return;
    sys::fs::remove(entry.path); // absent if another process was faster
    total -= entry.bytes;
  }
}

} // namespace mono::facade

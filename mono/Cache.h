// A directory of finished results, each in a file named after a hash of everything it was made
// from. Safe for any number of processes and threads; what is damaged counts as absent.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SHA256.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mono::facade {

/// Name of an entry: a SHA-256.
using CacheKey = std::array<uint8_t, 32>;

/// Makes a key out of fields. Every field is hashed with its length, so that no two lists of fields
/// give the same stream of bytes.
class KeyBuilder {
public:
  KeyBuilder &add(llvm::StringRef text);
  KeyBuilder &add(llvm::ArrayRef<uint8_t> bytes);
  KeyBuilder &add(int64_t number);
  CacheKey finish() { return hash.final(); }

private:
  llvm::SHA256 hash;
};

struct CacheSettings {
  std::string directory; ///< empty: no cache
  uint64_t maxBytes = 0; ///< of all entries together; 0: no cache
  std::string reason;    ///< for people, if there is no cache

  bool enabled() const { return !directory.empty() && maxBytes > 0; }
};

/// Room of a cache nobody gave a size.
inline constexpr uint64_t kDefaultCacheBytes = uint64_t(1) << 30;

/// Settings from the environment: MONO_CACHE_DIR, else $XDG_CACHE_HOME/monoc, else
/// $HOME/.cache/monoc (an empty MONO_CACHE_DIR switches the cache off); MONO_CACHE_SIZE in bytes,
/// with K, M or G for the powers of 1024. Error for a size that is no such number.
llvm::Expected<CacheSettings> cacheSettingsFromEnvironment();

/// Bytes of an entry before its payload: magic, format version, zero, payload size, key, SHA-256 of
/// the payload; integers little-endian.
inline constexpr size_t kCacheHeaderBytes = 8 + 4 + 4 + 8 + 32 + 32;

/// The file of an entry.
std::vector<uint8_t> encodeEntry(const CacheKey &key, llvm::ArrayRef<uint8_t> payload);

/// The payload of a file, or nothing if any byte of it is not as it was written for `key`.
std::optional<llvm::ArrayRef<uint8_t>> decodeEntry(const CacheKey &key,
                                                   llvm::ArrayRef<uint8_t> file);

class Cache {
public:
  /// `settings` must be enabled. Touches nothing.
  explicit Cache(CacheSettings settings) : settings(std::move(settings)) {}

  /// The payload stored under `key`, or nothing. A hit makes the entry the youngest.
  std::optional<std::vector<uint8_t>> load(const CacheKey &key) const;

  /// Stores a payload: readers see all of it or nothing. Creates the directory, and removes the
  /// entries that were not used for longest while there is more than maxBytes; a payload that has
  /// no room is an error. An error leaves the cache as it was.
  llvm::Error store(const CacheKey &key, llvm::ArrayRef<uint8_t> payload) const;

  /// Where the entry of `key` is, if there is one.
  std::string pathOf(const CacheKey &key) const;

private:
  void evict() const;

  CacheSettings settings;
};

} // namespace mono::facade

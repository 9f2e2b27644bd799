// The cache by itself: what an entry is, what damage does to it, its bound in size, and the
// settings from the environment.
#include "mono/Cache.h"
#include "test/mono/TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>

using namespace mono::facade;
using mono::test::TemporaryDirectory;

namespace {

CacheKey keyOf(int number) { return KeyBuilder().add(int64_t(number)).finish(); }

std::vector<uint8_t> payloadOf(int number, size_t bytes = 300) {
  std::vector<uint8_t> payload(bytes);
  for (size_t i = 0; i < bytes; ++i)
    payload[i] = static_cast<uint8_t>(number + 7 * i);
  return payload;
}

void writeFile(const std::string &path, llvm::ArrayRef<uint8_t> bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

/// Makes an entry look as if it was last used `seconds` ago.
void age(const std::string &path, int seconds) {
  timespec then = {time(nullptr) - seconds, 0};
  timespec times[2] = {then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

class CacheTest : public testing::Test {
protected:
  Cache cache(uint64_t maxBytes = 1 << 20) const { return Cache({directory.path(), maxBytes, ""}); }
  TemporaryDirectory directory;
};

TEST_F(CacheTest, ReturnsWhatWasStored) {
  EXPECT_FALSE(cache().load(keyOf(1)).has_value());
  ASSERT_FALSE(bool(cache().store(keyOf(1), payloadOf(1))));
  ASSERT_FALSE(bool(cache().store(keyOf(2), {})));
  EXPECT_EQ(cache().load(keyOf(1)), payloadOf(1));
  EXPECT_EQ(cache().load(keyOf(2)), std::vector<uint8_t>());
  EXPECT_FALSE(cache().load(keyOf(3)).has_value());
}

TEST_F(CacheTest, CreatesTheDirectoryForTheOwnerAlone) {
  Cache nested({directory.path() + "/a/b", 1 << 20, ""});
  ASSERT_FALSE(bool(nested.store(keyOf(1), payloadOf(1))));
  struct stat status;
  ASSERT_EQ(stat((directory.path() + "/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(nested.load(keyOf(1)), payloadOf(1));
}

/// Names of temporary files are made from models in which a % stands for anything.
TEST_F(CacheTest, TakesAnyDirectory) {
  Cache odd({directory.path() + "/100%/%%%", 1 << 20, ""});
  ASSERT_EQ(llvm::toString(odd.store(keyOf(1), payloadOf(1))), "");
  EXPECT_EQ(odd.load(keyOf(1)), payloadOf(1));
}

TEST_F(CacheTest, AnyChangedBitIsAMiss) {
  std::vector<uint8_t> good = encodeEntry(keyOf(1), payloadOf(1));
  ASSERT_TRUE(decodeEntry(keyOf(1), good).has_value());
  for (size_t byte = 0; byte < good.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> bad = good;
      bad[byte] ^= 1 << bit;
      EXPECT_FALSE(decodeEntry(keyOf(1), bad).has_value()) << "bit " << bit << " of byte " << byte;
    }
}

TEST_F(CacheTest, AnyOtherLengthIsAMiss) {
  std::vector<uint8_t> good = encodeEntry(keyOf(1), payloadOf(1));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(decodeEntry(keyOf(1), llvm::ArrayRef(good).take_front(length)).has_value())
        << length << " bytes";
  good.push_back(0);
  EXPECT_FALSE(decodeEntry(keyOf(1), good).has_value());
}

TEST_F(CacheTest, ADamagedFileIsAMissAndCanBeReplaced) {
  ASSERT_FALSE(bool(cache().store(keyOf(1), payloadOf(1))));
  std::string path = cache().pathOf(keyOf(1));
  ASSERT_EQ(truncate(path.c_str(), 200), 0);
  EXPECT_FALSE(cache().load(keyOf(1)).has_value());
  writeFile(path, {});
  EXPECT_FALSE(cache().load(keyOf(1)).has_value());
  ASSERT_FALSE(bool(cache().store(keyOf(1), payloadOf(1))));
  EXPECT_EQ(cache().load(keyOf(1)), payloadOf(1));
}

TEST_F(CacheTest, AnEntryUnderAnotherNameIsAMiss) {
  ASSERT_FALSE(bool(cache().store(keyOf(1), payloadOf(1))));
  ASSERT_EQ(rename(cache().pathOf(keyOf(1)).c_str(), cache().pathOf(keyOf(2)).c_str()), 0);
  EXPECT_FALSE(cache().load(keyOf(2)).has_value());
}

TEST_F(CacheTest, RemovesWhatWasNotUsedForLongest) {
  Cache small = cache(3 * (kCacheHeaderBytes + 300));
  for (int i = 1; i <= 3; ++i) {
    ASSERT_FALSE(bool(small.store(keyOf(i), payloadOf(i))));
    age(small.pathOf(keyOf(i)), 100 - i);
  }
  ASSERT_TRUE(small.load(keyOf(1)).has_value()); // now the youngest; 2 is the oldest
  ASSERT_FALSE(bool(small.store(keyOf(4), payloadOf(4))));
  EXPECT_TRUE(small.load(keyOf(1)).has_value());
  EXPECT_FALSE(small.load(keyOf(2)).has_value());
  EXPECT_TRUE(small.load(keyOf(3)).has_value());
  EXPECT_TRUE(small.load(keyOf(4)).has_value());
}

TEST_F(CacheTest, StaysWithinItsSize) {
  Cache small = cache(2000);
  for (int i = 0; i < 50; ++i)
    ASSERT_FALSE(bool(small.store(keyOf(i), payloadOf(i))));
  uint64_t bytes = 0;
  for (int i = 0; i < 50; ++i) {
    struct stat status;
    if (stat(small.pathOf(keyOf(i)).c_str(), &status) == 0)
      bytes += status.st_size;
  }
  EXPECT_LE(bytes, 2000u);
  EXPECT_GT(bytes, 2000u - kCacheHeaderBytes - 300);
}

TEST_F(CacheTest, RefusesWhatHasNoRoom) {
  ASSERT_FALSE(bool(cache(1000).store(keyOf(1), payloadOf(1))));
  EXPECT_EQ(llvm::toString(cache(1000).store(keyOf(2), payloadOf(2, 1000))),
            "the cache has room for 1000 bytes, but the entry needs 1088");
  EXPECT_EQ(cache().load(keyOf(1)), payloadOf(1));
}

TEST_F(CacheTest, TidiesWhatDeadProcessesLeft) {
  std::string old = cache().pathOf(keyOf(1)) + "-0badcafe.tmp";
  std::string fresh = cache().pathOf(keyOf(1)) + "-deadbeef.tmp";
  writeFile(old, payloadOf(1));
  age(old, 2 * 3600);
  writeFile(fresh, payloadOf(1));
  ASSERT_FALSE(bool(cache().store(keyOf(2), payloadOf(2))));
  EXPECT_NE(access(old.c_str(), F_OK), 0);
  EXPECT_EQ(access(fresh.c_str(), F_OK), 0);
}

TEST_F(CacheTest, SaysWhereItCannotWrite) {
  std::string file = directory.path() + "/file";
  writeFile(file, payloadOf(1));
  auto failure = [&](const std::string &where) {
    Cache blocked({where, 1 << 20, ""});
    EXPECT_FALSE(blocked.load(keyOf(1)).has_value());
    return llvm::toString(blocked.store(keyOf(1), payloadOf(1)));
  };
  EXPECT_EQ(failure(file), "can't write to the cache directory '" + file + "': Not a directory");
  EXPECT_EQ(failure(file + "/a"),
            "can't create the cache directory '" + file + "/a': Not a directory");
}

TEST_F(CacheTest, SaysThatAnEntryIsInTheWay) {
  std::string path = cache().pathOf(keyOf(1));
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_EQ(llvm::toString(cache().store(keyOf(1), payloadOf(1))),
            "can't write the cache entry '" + path + "': Is a directory");
  EXPECT_FALSE(cache().load(keyOf(1)).has_value());
  // Nothing else is left behind.
  int files = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(directory.path()))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(CacheTest, SurvivesManyWritersOfOneEntry) {
  std::vector<std::thread> writers;
  std::atomic<int> wrong = 0;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        if (llvm::Error error = cache().store(keyOf(1), payloadOf(1))) {
          llvm::consumeError(std::move(error));
          ++wrong;
        }
        wrong += cache().load(keyOf(1)) != payloadOf(1);
      }
    });
  for (std::thread &writer : writers)
    writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CacheKey, TellsFieldsApart) {
  auto key = [](llvm::StringRef a, llvm::StringRef b) {
    return KeyBuilder().add(a).add(b).finish();
  };
  EXPECT_EQ(key("ab", "c"), key("ab", "c"));
  EXPECT_NE(key("ab", "c"), key("a", "bc"));
  EXPECT_NE(key("abc", ""), key("", "abc"));
  EXPECT_NE(KeyBuilder().add("a").finish(), KeyBuilder().add("a").add("").finish());
}

/// The settings that these values of the variables give; null unsets one.
llvm::Expected<CacheSettings> settingsFor(const char *directory, const char *size, const char *xdg,
                                          const char *home) {
  auto set = [](const char *name, const char *value) {
    value ? setenv(name, value, 1) : unsetenv(name);
  };
  set("MONO_CACHE_DIR", directory);
  set("MONO_CACHE_SIZE", size);
  set("XDG_CACHE_HOME", xdg);
  set("HOME", home);
  return cacheSettingsFromEnvironment();
}

std::string directoryFor(const char *directory, const char *xdg, const char *home) {
  auto settings = settingsFor(directory, nullptr, xdg, home);
  return settings ? settings->directory : llvm::toString(settings.takeError());
}

TEST(CacheSettings, TakeTheFirstPlaceThatIsNamed) {
  EXPECT_EQ(directoryFor("/d", "/x", "/h"), "/d");
  EXPECT_EQ(directoryFor(nullptr, "/x", "/h"), "/x/monoc");
  EXPECT_EQ(directoryFor(nullptr, nullptr, "/h"), "/h/.cache/monoc");
  EXPECT_EQ(directoryFor(nullptr, "relative", "/h"), "/h/.cache/monoc");
  EXPECT_EQ(directoryFor(nullptr, nullptr, nullptr), "");
  EXPECT_EQ(directoryFor("", "/x", "/h"), "");
}

TEST(CacheSettings, SayWhyThereIsNoCache) {
  auto settings = settingsFor("", nullptr, "/x", "/h");
  ASSERT_TRUE(bool(settings));
  EXPECT_FALSE(settings->enabled());
  EXPECT_EQ(settings->reason, "switched off by the environment");
}

uint64_t bytesFor(const char *size) {
  auto settings = settingsFor("/d", size, nullptr, nullptr);
  EXPECT_TRUE(bool(settings));
  return settings ? settings->maxBytes : 0;
}

TEST(CacheSettings, ReadSizes) {
  EXPECT_EQ(bytesFor(nullptr), 1073741824u);
  EXPECT_EQ(bytesFor("5000"), 5000u);
  EXPECT_EQ(bytesFor("3K"), 3072u);
  EXPECT_EQ(bytesFor("64M"), 67108864u);
  EXPECT_EQ(bytesFor("2G"), 2147483648u);
  EXPECT_EQ(bytesFor("0"), 0u);
}

TEST(CacheSettings, RefuseOtherSizes) {
  for (const char *size : {"", "K", "12KB", "12k", "-1", "1.5G", "1MM", "18446744073709551615K",
                           "99999999999999999999"}) {
    auto settings = settingsFor("/d", size, nullptr, nullptr);
    ASSERT_FALSE(bool(settings)) << size;
    EXPECT_EQ(llvm::toString(settings.takeError()),
              std::string("MONO_CACHE_SIZE: expected a number of bytes, with K, M or G for the "
                          "powers of 1024, but got '") +
                  size + "'");
  }
}

} // namespace

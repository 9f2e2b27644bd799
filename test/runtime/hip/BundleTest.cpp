// Offload bundles: which entry fits, and that damaged ones are errors.
#include "runtime/emulator/hip/Bundle.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

using namespace llvm;
using namespace mono::hipemu;

namespace {

void append(std::string &bytes, uint64_t value) {
  char word[8];
  support::endian::write64le(word, value);
  bytes.append(word, 8);
}

/// A bundle with the given targets; entry n holds n + 1 bytes of the letter 'a' + n.
std::string makeBundle(std::vector<std::string> targets) {
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__", contents;
  append(bundle, targets.size());
  uint64_t offset = bundle.size();
  for (const std::string &target : targets)
    offset += 24 + target.size();
  for (size_t n = 0; n < targets.size(); ++n) {
    append(bundle, offset + contents.size());
    append(bundle, n + 1);
    append(bundle, targets[n].size());
    bundle += targets[n];
    contents.append(n + 1, char('a' + n));
  }
  return bundle + contents;
}

std::string extract(StringRef image) {
  Expected<std::vector<uint8_t>> code = extractCodeObject(image);
  if (!code)
    return "error: " + toString(code.takeError());
  return std::string(code->begin(), code->end());
}

const char *const host = "host-x86_64-unknown-linux-gnu-";

} // namespace

TEST(Bundle, TargetsThatFit) {
  EXPECT_TRUE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx950"));
  EXPECT_TRUE(fitsDevice("hip-amdgcn-amd-amdhsa--gfx950"));
  EXPECT_TRUE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-"));
  EXPECT_TRUE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx950:xnack-"));
  EXPECT_FALSE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx950:xnack+"));
  EXPECT_FALSE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx950:sramecc-"));
  EXPECT_FALSE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx942"));
  EXPECT_FALSE(fitsDevice("hipv4-amdgcn-amd-amdhsa--gfx9501"));
  EXPECT_FALSE(fitsDevice(host));
  EXPECT_FALSE(fitsDevice(""));
}

TEST(Bundle, FirstEntryThatFitsIsTaken) {
  std::string bundle = makeBundle(
      {host, "hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-"});
  EXPECT_EQ(extract(bundle), "ccc");
  Expected<uint64_t> length = imageLength(bundle.data());
  ASSERT_TRUE(bool(length));
  EXPECT_EQ(*length, bundle.size());
}

TEST(Bundle, NoEntryNamesWhatThereIs) {
  EXPECT_EQ(extract(makeBundle({host, "hipv4-amdgcn-amd-amdhsa--gfx942"})),
            "error: no code for gfx950:sramecc+:xnack- in the offload bundle; there is: "
            "host-x86_64-unknown-linux-gnu-, hipv4-amdgcn-amd-amdhsa--gfx942");
}

TEST(Bundle, EveryTruncationIsAnError) {
  std::string bundle = makeBundle({host, "hipv4-amdgcn-amd-amdhsa--gfx950"});
  for (size_t size = 0; size < bundle.size(); ++size)
    EXPECT_TRUE(StringRef(extract(StringRef(bundle).take_front(size))).starts_with("error: "))
        << size;
  EXPECT_EQ(extract(StringRef(bundle).take_front(40)),
            "error: offload bundle of 40 bytes ends inside its table of entries");
}

TEST(Bundle, HugeNumbersAreErrors) {
  // Number of entries, then offset, size and length of the name of the first entry.
  for (size_t field = 24; field < 24 + 8 + 24; field += 8) {
    std::string bundle = makeBundle({host});
    support::endian::write64le(&bundle[field], ~uint64_t(0) - 3);
    EXPECT_TRUE(StringRef(extract(bundle)).starts_with("error: ")) << field;
  }
  auto lengthError = [](size_t field) {
    std::string bundle = makeBundle({host});
    support::endian::write64le(&bundle[field], ~uint64_t(0) - 3);
    Expected<uint64_t> length = imageLength(bundle.data());
    return length ? std::string() : toString(length.takeError());
  };
  EXPECT_TRUE(StringRef(lengthError(24)).starts_with("offload bundle: expected at most "));
  EXPECT_EQ(lengthError(24 + 8 + 16),
            "offload bundle: entry 0 has a target name of 18446744073709551612 bytes");
}

TEST(Bundle, EntryOutsideTheFileIsAnError) {
  for (size_t field : {24 + 8, 24 + 16}) {
    std::string bundle = makeBundle({"hipv4-amdgcn-amd-amdhsa--gfx950"});
    support::endian::write64le(&bundle[field], ~uint64_t(0) - 3);
    std::string error = extract(bundle);
    EXPECT_TRUE(StringRef(error).starts_with(
        "error: offload bundle: entry 'hipv4-amdgcn-amd-amdhsa--gfx950' of "))
        << error;
    EXPECT_TRUE(StringRef(error).contains("is outside the")) << error;
  }
}

/// "CCOB", version 2, method 1 (zstd), file size, uncompressed size, hash.
std::string compressed(StringRef content) {
  SmallVector<uint8_t> packed;
  compression::zstd::compress(arrayRefFromStringRef(content), packed);
  std::string file("CCOB\2\0\1\0", 8);
  append(file, (24 + packed.size()) | content.size() << 32);
  append(file, 0);
  file.append(packed.begin(), packed.end());
  return file;
}

TEST(Bundle, CompressedFormats) {
  EXPECT_EQ(extract(compressed("no bundle, but more text than any magic number")),
            "error: compressed offload bundle does not contain an offload bundle");
  std::string file = compressed(makeBundle({host, "hipv4-amdgcn-amd-amdhsa--gfx950"}));
  EXPECT_EQ(extract(file), "bb");
  Expected<uint64_t> length = imageLength(file.data());
  ASSERT_TRUE(bool(length));
  EXPECT_EQ(*length, file.size());
  file[4] = 9;
  EXPECT_TRUE(StringRef(extract(file)).starts_with("error: "));
  Expected<uint64_t> unknown = imageLength(file.data());
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(toString(unknown.takeError()),
            "compressed offload bundle: its version 9 does not tell its size");
}

TEST(Bundle, OtherFilesAreErrors) {
  EXPECT_EQ(extract("MZ, and more text than any magic number"),
            "error: neither an ELF file nor an offload bundle");
  EXPECT_TRUE(StringRef(extract("")).starts_with("error: "));
}

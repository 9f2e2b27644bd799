// The safetensors reader on good, broken and truncated files, and the writer against the format.
#include "runtime/Safetensors.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mono;

namespace {

/// A file as the format describes it: length, header, data.
std::string file(const std::string &header, size_t dataBytes) {
  std::string text(8, '\0');
  uint64_t length = header.size();
  std::memcpy(text.data(), &length, 8);
  text += header;
  for (size_t i = 0; i < dataBytes; ++i)
    text += static_cast<char>(i);
  return text;
}

llvm::Expected<SafetensorsFile> parse(const std::string &bytes) {
  return SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes));
}

std::string errorOf(const std::string &bytes) {
  llvm::Expected<SafetensorsFile> result = parse(bytes);
  return result ? "" : llvm::toString(result.takeError());
}

const char *const twoTensors =
    R"({"__metadata__":{"seed":"7"},"b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
    R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}   )";

TEST(Safetensors, ReadsTensorsInDataOrder) {
  llvm::Expected<SafetensorsFile> result = parse(file(twoTensors, 22));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  ASSERT_EQ(result->tensors().size(), 2u);
  EXPECT_EQ(result->tensors()[0].name, "a");
  EXPECT_EQ(result->tensors()[0].describe(), "F32 [2, 2]");
  EXPECT_EQ(result->tensors()[0].data.size(), 16u);
  const TensorView *b = result->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->data.front(), 16);
  EXPECT_EQ(b->data.back(), 21);
  EXPECT_EQ(result->metadata("seed").get(), "7");
  EXPECT_EQ(llvm::toString(result->metadata("layer").takeError()),
            "the file has no metadata key 'layer'");
}

TEST(Safetensors, GetChecksTypeAndRank) {
  llvm::Expected<SafetensorsFile> result = parse(file(twoTensors, 22));
  ASSERT_TRUE(bool(result));
  EXPECT_TRUE(bool(result->get("a", DType::F32, 2)));
  EXPECT_EQ(llvm::toString(result->get("a", DType::BF16, 2).takeError()),
            "tensor 'a': expected BF16 with 2 dimensions, but got F32 [2, 2]");
  EXPECT_EQ(llvm::toString(result->get("c", DType::F32, 1).takeError()),
            "the file has no tensor 'c'");
}

TEST(Safetensors, TakesScalarsAndEmptyTensors) {
  std::string header = R"({"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                       R"("e":{"dtype":"I32","shape":[0,4],"data_offsets":[8,8]}})";
  llvm::Expected<SafetensorsFile> result = parse(file(header, 8));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->find("s")->data.size(), 8u);
  EXPECT_EQ(result->find("e")->data.size(), 0u);
}

TEST(Safetensors, KnowsTheElementSizes) {
  struct Row {
    const char *name;
    unsigned bytes;
  };
  for (Row row : {Row{"BOOL", 1},
                  {"U8", 1},
                  {"I8", 1},
                  {"F8_E5M2", 1},
                  {"F8_E4M3", 1},
                  {"F8_E8M0", 1},
                  {"U16", 2},
                  {"I16", 2},
                  {"F16", 2},
                  {"BF16", 2},
                  {"U32", 4},
                  {"I32", 4},
                  {"F32", 4},
                  {"U64", 8},
                  {"I64", 8},
                  {"F64", 8}}) {
    std::string header = std::string(R"({"t":{"dtype":")") + row.name +
                         R"(","shape":[3],"data_offsets":[0,)" + std::to_string(3 * row.bytes) +
                         "]}}";
    EXPECT_EQ(errorOf(file(header, 3 * row.bytes)), "") << row.name;
    EXPECT_NE(errorOf(file(header, 3 * row.bytes + 1)), "") << row.name;
  }
}

struct BadFile {
  const char *header;
  size_t dataBytes;
  const char *message;
};

class SafetensorsFault : public testing::TestWithParam<BadFile> {};

TEST_P(SafetensorsFault, IsNamed) {
  std::string error = errorOf(file(GetParam().header, GetParam().dataBytes));
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << "got: " << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsFault,
    testing::Values(
        BadFile{"[1]", 0, "expected the header to start with '{'"},
        BadFile{"{\"a\":1", 0, "not valid JSON"},
        BadFile{R"({"a":1})", 0, "tensor 'a': expected an object"},
        BadFile{R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "dtype: expected a string"},
        BadFile{R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4,
                "tensor 'a': unknown dtype 'F31'"},
        BadFile{R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
                "expected integers in [0, "},
        BadFile{R"({"a":{"dtype":"F32","shape":[1099511627776,1099511627776],)"
                R"("data_offsets":[0,4]}})",
                4, "at most 2^40 elements"},
        BadFile{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                "tensor 'a': expected 8 bytes (F32 [2]), but data_offsets span 4"},
        BadFile{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
                "expected data_offsets [begin, end], but got [4, 0]"},
        BadFile{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4,
                "expected data_offsets [begin, end]"},
        BadFile{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3,
                "data end at byte 4, but the file holds only 3 bytes of data"},
        BadFile{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5,
                "1 bytes of data follow the last tensor"},
        BadFile{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
                "no tensor owns bytes 0 to 4 before tensor 'a'"},
        BadFile{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                8, "tensor 'b' begins at byte 4 inside the tensor before it, which ends at 8"},
        BadFile{R"({"__metadata__":{"k":1}})", 0, "__metadata__.k: expected a string"},
        BadFile{R"({"__metadata__":[]})", 0, "__metadata__: expected an object"}));

TEST(Safetensors, RejectsWrongLengths) {
  EXPECT_NE(errorOf("short").find("expected at least 8 bytes, but got 5"), std::string::npos);
  std::string tooLong = file("{}", 0);
  tooLong[0] = 9;
  EXPECT_EQ(errorOf(tooLong), "truncated file: the header has 9 bytes, but only 2 are there");
  std::string absurd = file("{}", 0);
  absurd[7] = 0x7F;
  EXPECT_NE(errorOf(absurd).find("expected a header of at most 100000000 bytes"),
            std::string::npos);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  std::string whole = file(twoTensors, 22);
  ASSERT_EQ(errorOf(whole), "");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(errorOf(whole.substr(0, length)), "") << length;
}

TEST(Safetensors, FlippedBytesNeverCrash) {
  std::string whole = file(twoTensors, 22);
  size_t errors = 0;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string bad = whole;
      bad[at] = static_cast<char>(value);
      errors += !errorOf(bad).empty();
    }
  EXPECT_GT(errors, whole.size());
}

TEST(Safetensors, WriterMakesTheFormat) {
  std::vector<uint8_t> a = {1, 2, 3, 4}, b = {5, 6};
  std::vector<TensorView> tensors = {{"x", DType::F32, {1}, a}, {"y", DType::BF16, {1, 1}, b}};
  llvm::Expected<std::string> text = formatSafetensors(tensors, {{"who", "me"}});
  ASSERT_TRUE(bool(text));
  uint64_t header = 0;
  std::memcpy(&header, text->data(), 8);
  EXPECT_EQ(header % 8, 0u);
  ASSERT_EQ(text->size(), 8 + header + 6);
  EXPECT_EQ(text->substr(8 + header), std::string("\1\2\3\4\5\6"));
  llvm::Expected<SafetensorsFile> back = parse(*text);
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(back->find("y")->describe(), "BF16 [1, 1]");
  EXPECT_EQ(back->metadata("who").get(), "me");
}

TEST(Safetensors, WriterChecksSizesAndNames) {
  std::vector<uint8_t> bytes(4);
  EXPECT_EQ(llvm::toString(formatSafetensors({{"x", DType::F32, {2}, bytes}}, {}).takeError()),
            "tensor 'x': expected 8 bytes (F32 [2]), but got 4");
  EXPECT_EQ(llvm::toString(formatSafetensors(
                               {{"x", DType::F32, {1}, bytes}, {"x", DType::F32, {1}, bytes}}, {})
                               .takeError()),
            "tensor 'x' appears twice");
}

/// A path in a folder of its own, which is empty again at the end.
class StreamedSafetensors : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("streamed", folder));
    path = (folder + "/out.safetensors").str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  size_t files() const {
    std::error_code error;
    size_t count = 0;
    for (llvm::sys::fs::directory_iterator at(folder, error), end; at != end; at.increment(error))
      ++count;
    return count;
  }

  llvm::SmallString<128> folder;
  std::string path;
  std::vector<TensorView> tensors = {{"a", DType::I32, {2}, {}}, {"b", DType::U8, {3}, {}}};
};

TEST_F(StreamedSafetensors, IsTheSameFileAsOneWrittenAtOnce) {
  std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  auto writer = SafetensorsWriter::create(path, tensors, {{"k", "v"}});
  ASSERT_TRUE(bool(writer)) << llvm::toString(writer.takeError());
  for (size_t at : {0, 3, 9}) // pieces need not end where tensors do
    ASSERT_FALSE(bool(writer->append(llvm::ArrayRef(bytes).slice(at, at == 0   ? 3
                                                                     : at == 3 ? 6
                                                                               : 2))));
  EXPECT_FALSE(llvm::sys::fs::exists(path));
  ASSERT_FALSE(bool(writer->finish()));
  EXPECT_EQ(files(), 1u);
  tensors[0].data = llvm::ArrayRef(bytes).take_front(8);
  tensors[1].data = llvm::ArrayRef(bytes).drop_front(8);
  auto written = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(written));
  EXPECT_EQ((*written)->getBuffer(), formatSafetensors(tensors, {{"k", "v"}}).get());
}

TEST_F(StreamedSafetensors, LeavesNothingWhenDataAreMissingOrTooMany) {
  std::vector<uint8_t> bytes(12);
  {
    auto writer = SafetensorsWriter::create(path, tensors, {});
    ASSERT_TRUE(bool(writer)) << llvm::toString(writer.takeError());
    EXPECT_EQ(llvm::toString(writer->append(bytes)),
              path + ": expected at most 11 more bytes of data, but got 12");
    EXPECT_FALSE(bool(writer->append(llvm::ArrayRef(bytes).take_front(4))));
    EXPECT_EQ(llvm::toString(writer->finish()), path + ": expected 7 more bytes of data");
  }
  EXPECT_EQ(files(), 0u);
}

/// Names of temporary files are made from models in which a % stands for anything.
TEST_F(StreamedSafetensors, MayLieInAnyFolder) {
  std::string odd = (folder + "/a%b").str();
  ASSERT_FALSE(llvm::sys::fs::create_directory(odd));
  ASSERT_EQ(llvm::toString(writeSafetensors(odd + "/%.safetensors", {}, {})), "");
  EXPECT_TRUE(llvm::sys::fs::exists(odd + "/%.safetensors"));
}

TEST(Safetensors, WritesAndMapsFiles) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("mono-test", "safetensors", path));
  std::vector<uint8_t> bytes = {9, 8, 7, 6};
  ASSERT_FALSE(bool(writeSafetensors(path, {{"x", DType::I32, {1}, bytes}}, {})));
  llvm::Expected<SafetensorsFile> back = SafetensorsFile::open(path);
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(back->find("x")->data.vec(), bytes);
  llvm::sys::fs::remove(path);
  std::string error = llvm::toString(SafetensorsFile::open(path).takeError());
  EXPECT_EQ(error, path.str().str() + ": No such file or directory");
}

/// A rename to a device would remove the device.
TEST(Safetensors, ReplacesRegularFilesOnly) {
  EXPECT_EQ(llvm::toString(writeSafetensors("/dev/null", {}, {})),
            "/dev/null: expected a regular file, or none, to replace");
}

} // namespace

// Child processes with redirected streams.
#include "test/e2e/Process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mono::test {

void ProcessTest::SetUp() { ASSERT_FALSE(sys::fs::createUniqueDirectory("mono-test", folder)); }

void ProcessTest::TearDown() { sys::fs::remove_directories(folder); }

std::string ProcessTest::path(StringRef name) const {
  SmallString<128> full = folder;
  sys::path::append(full, name);
  return full.str().str();
}

std::string ProcessTest::put(StringRef name, StringRef bytes) const {
  std::error_code code;
  raw_fd_ostream(path(name), code) << bytes;
  EXPECT_FALSE(code);
  return path(name);
}

std::string ProcessTest::put(StringRef name, ArrayRef<uint8_t> bytes) const {
  return put(name, toStringRef(bytes));
}

static std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

ProcessResult ProcessTest::run(const std::string &program,
                               const std::vector<std::string> &arguments) const {
  std::string out = path("stdout"), err = path("stderr"), message;
  for (const std::string &file : {out, err}) // what an earlier run printed would stay
    sys::fs::remove(file);
  std::vector<StringRef> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  ProcessResult result;
  result.status = sys::ExecuteAndWait(program, all, std::nullopt,
                                      {StringRef(""), StringRef(out), StringRef(err)},
                                      /*SecondsToWait=*/300, 0, &message);
  EXPECT_GE(result.status, 0) << message;
  result.out = readFile(out);
  result.err = readFile(err);
  return result;
}

json::Object ProcessTest::printedJson(const std::string &program,
                                      const std::vector<std::string> &arguments) const {
  ProcessResult result = run(program, arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  StringRef text = result.out;
  text = text.drop_front(std::min(text.find("{\n"), text.size()));
  text = text.take_front(text.find("\n}\n") + 2);
  Expected<json::Value> value = json::parse(text);
  EXPECT_TRUE(bool(value)) << toString(value.takeError());
  return value ? std::move(*value->getAsObject()) : json::Object();
}

void ProcessTest::fails(const std::string &program, int status, const std::string &message,
                        const std::vector<std::string> &arguments) const {
  ProcessResult result = run(program, arguments);
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_NE(result.err.find(message), std::string::npos) << "got: " << result.err;
  EXPECT_EQ(result.out, "");
}

} // namespace mono::test

// Running a tool as scripts do: exit status, stdout, stderr, and a folder that goes away.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mono::test {

struct ProcessResult {
  int status = -1;
  std::string out, err;
};

/// A test with a folder of its own.
class ProcessTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// A path in the folder.
  std::string path(llvm::StringRef name) const;
  /// Writes a file into the folder and returns its path.
  std::string put(llvm::StringRef name, llvm::StringRef bytes) const;
  std::string put(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes) const;

  ProcessResult run(const std::string &program, const std::vector<std::string> &arguments) const;
  /// The JSON object that the program prints, also between other lines; expects exit status 0.
  llvm::json::Object printedJson(const std::string &program,
                                 const std::vector<std::string> &arguments) const;
  /// Expects this exit status, `message` on stderr, and nothing on stdout.
  void fails(const std::string &program, int status, const std::string &message,
             const std::vector<std::string> &arguments) const;

private:
  llvm::SmallString<128> folder;
};

} // namespace mono::test

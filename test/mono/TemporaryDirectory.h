// A directory for the files of one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace mono::test {

/// Exists, empty at first, as long as the object.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "mono-test-XXXXXX").string();
    if (char *made = mkdtemp(name.data()))
      directory = made;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  const std::string &path() const { return directory; }

private:
  std::string directory;
};

} // namespace mono::test

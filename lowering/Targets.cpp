// Files that a tool writes are none of those it reads.
#include "lowering/Targets.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <filesystem>

using namespace llvm;

namespace mono {

/// Where a link leads, to a file that is not there yet; another path as it is.
static std::string withoutLink(std::string path) {
  constexpr int kMostLinks = 40; // as Linux follows them, before it calls them a loop
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i)
    path = std::filesystem::path(path).parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

/// The folder without links, and the name of the file in it.
static SmallString<128> placeOf(const std::string &linked) {
  std::string path = withoutLink(linked);
  StringRef folder = sys::path::parent_path(path);
  SmallString<128> place;
  if (sys::fs::real_path(folder.empty() ? "." : folder, place))
    place = folder;
  sys::path::append(place, sys::path::filename(path));
  return place;
}

bool isSameFile(StringRef path, StringRef other) {
  if (path.empty() || other.empty() || path == "-" || other == "-")
    return false;
  if (sys::fs::exists(path) && sys::fs::exists(other))
    return sys::fs::is_regular_file(path) && sys::fs::equivalent(path, other);
  return placeOf(path.str()) == placeOf(other.str());
}

Error checkDistinct(ArrayRef<Target> targets, ArrayRef<StringRef> sources) {
  SmallVector<StringRef> others(sources);
  for (const Target &target : targets) {
    for (StringRef other : others)
      if (isSameFile(target.path, other))
        return createStringError(target.option + ": expected another file than '" + target.path +
                                 "', which is read or written besides");
    others.push_back(target.path);
  }
  return Error::success();
}

} // namespace mono

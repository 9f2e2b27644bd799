// Files that a tool writes are none of those it reads.
#include "lowering/Targets.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mono {

/// The folder without links, and the name of the file in it.
static SmallString<128> placeOf(StringRef path) {
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
  return placeOf(path) == placeOf(other);
}

} // namespace mono

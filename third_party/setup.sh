#!/bin/sh
# Installs what the build needs from the distribution's packages (Debian 12 or 13, or Ubuntu with
# LLVM 22) if any of it is missing. Does nothing, quickly, when all is there.
set -eu

packages="llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev lld-22 clang-22 libclang-rt-22-dev llvm-22-tools
  clang-format-22 libfmt-dev libgtest-dev libgmock-dev libbenchmark-dev ccache ninja-build cmake
  make python3 python3-numpy
  clang-tools-22 libamdhip64-dev" # the last two only for the tests of the HIP library

missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: these packages are missing and installing them needs root:$missing" >&2
    exit 1
  }
  as_root=sudo
fi
echo "setup: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update &&
       $as_root env DEBIAN_FRONTEND=noninteractive \
         apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "setup: apt-get failed; the packages needed are:$missing" >&2
  exit 1
fi

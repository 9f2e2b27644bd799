#!/bin/sh
# Makes a directory with AMD's comgr 3 and all the libraries it needs, from the packages of Debian
# unstable, without touching the system: usage: test/setup-comgr.sh [ROOT], build/comgr if not given.
# The tests of --linker=comgr use it there, or where MONO_COMGR_ROOT says. Needs apt and dpkg-deb.
set -eu
root=${1:-$(dirname "$0")/../build/comgr}
mirror=${MONO_DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "setup-comgr: expected $tool" >&2; exit 1; }
done
[ -e "$keyring" ] || { echo "setup-comgr: expected Debian's keys in $keyring" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
: >"$work/status" # no package counts as installed, so that all dependencies are fetched
echo "deb [signed-by=$keyring] $mirror sid main" >"$work/sources.list"
cat >"$work/apt.conf" <<EOF
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "root";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
EOF
export APT_CONFIG="$work/apt.conf"

quietly() { "$@" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; return 1; }; }
quietly apt-get update
quietly apt-get install -y --download-only --no-install-recommends libamd-comgr3
mkdir -p "$root"
for package in "$work"/archives/*.deb; do
  dpkg-deb -x "$package" "$root"
done
echo "setup-comgr: comgr 3 is below $root"

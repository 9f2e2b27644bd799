#!/bin/sh
# Builds the runtime, the emulator, its HIP library, the public interface and their tests with sanitizers
# and runs the tests: usage: test/sanitize.sh asan|tsan [JOBS]. LLVM and MLIR are the distribution's,
# without sanitizers, and so is the compiler here, which both kinds share in one build folder.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-}
jobs=${2:-$(nproc)}
case $kind in asan | tsan) ;; *) echo "usage: test/sanitize.sh asan|tsan [JOBS]" >&2; exit 2 ;; esac
build=build-sanitize

tests="runtime_test hip_device_test ipc_test device_conformance_test hip_machine_memory_test
  watchdog_test process_faults_test launch_failure_test cache_test compile_cache_test jit_test
  jit_hip_test jit_stress_test emulator_test emulator_order_test
  kernel_test valu_test"
examples="01_scale 02_jit 02b_jit 03_eight_processes 04_graph_replay 06_all_reduce"
cmake --preset "$kind" >"$build.log" || { cat "$build.log"; exit 1; }
rm -f "$build.log"
# Containers cross the border to libraries that keep no account of their ends.
export ASAN_OPTIONS=detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions=$PWD/test/tsan.supp"
# shellcheck disable=SC2086 # lists of names
cmake --build "$build" -j "$jobs" --target $tests $examples
# Python itself is not sanitized and cannot load a library that is. Times and memory are not those of a
# plain build.
labels=$(echo $tests examples | tr ' ' '|')
ctest --test-dir "$build" -j "$jobs" --output-on-failure -L "^($labels)\$" -LE '^python$' \
  -E 'HitsWithin|DoNotGrow'

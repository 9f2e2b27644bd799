// The groups of monobench. Each registers its benchmarks with Google Benchmark under "GROUP/...".
#pragma once

namespace mono::bench {

/// compile/...: schedule file to code object, in this process.
void registerCompile();

/// emulator/...: instruction rates of the emulator, and whole kernels on it.
void registerEmulator();

/// launch/...: what a launch costs in the runtime itself, without a GPU.
void registerLaunch();

/// cache/...: compilations that the cache answers.
void registerCache();

/// hip/...: what a launch takes on GPUs. Needs eight of them.
void registerHip();

/// check/...: the checks of the compiler on a schedule as large as the chip.
void registerCheck();

} // namespace mono::bench

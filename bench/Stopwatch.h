// Time since a moment, by the clock or by what this process used of the processors.
#pragma once

#include "llvm/Support/Process.h"

namespace mono::bench {

class Stopwatch {
public:
  /// `ofProcess`: user and system time of all threads, which other processes hardly disturb.
  explicit Stopwatch(bool ofProcess) : ofProcess(ofProcess), start(now()) {}
  double seconds() const { return now() - start; }

private:
  double now() const {
    llvm::sys::TimePoint<> elapsed;
    std::chrono::nanoseconds user, system;
    llvm::sys::Process::GetTimeUsage(elapsed, user, system);
    const std::chrono::duration<double> time =
        ofProcess
            ? user + system
            : std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed.time_since_epoch());
    return time.count();
  }

  bool ofProcess;
  double start;
};

} // namespace mono::bench

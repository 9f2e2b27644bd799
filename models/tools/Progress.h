// What a long run is doing, said on stderr while it lasts.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mono::tools {

/// Where and how often progress is told.
struct ProgressStyle {
  /// A terminal has one line that is written again and again, up to this many columns; anything
  /// else (0) a line each time.
  unsigned columns = 0;
  /// Also the time before anything is said.
  std::chrono::milliseconds every = std::chrono::seconds(10);

  /// For stderr: ten times a second on a terminal, else every ten seconds.
  static ProgressStyle ofStderr();
};

/// Tells the step and its detail, and the seconds since it was made, from a thread of its own that
/// starts with the first step. May be told from any thread.
class Progress {
public:
  /// Tells `out`; nothing if it is null.
  Progress(llvm::raw_ostream *out, ProgressStyle style);
  ~Progress() { finish(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// What is done now, e.g. "launch 1 of 3". Its detail is empty at first.
  void step(std::string what);
  /// How far it is, e.g. "37% posted".
  void detail(std::string text);
  /// Tells once now, whenever the next time would be; something only after a step.
  void tell();
  /// Since it was made.
  double seconds() const;
  /// Says no more and clears the line of a terminal, so that results can follow.
  void finish();

private:
  void tellUntilFinished();
  void tellLine();
  std::string line() const;

  llvm::raw_ostream *out;
  ProgressStyle style;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex lock;
  std::condition_variable wake;
  std::string current, how;
  bool finished = false;
  bool onScreen = false; ///< the terminal's line holds something
  std::thread teller;
};

} // namespace mono::tools

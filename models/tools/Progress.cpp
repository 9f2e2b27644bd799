// The telling thread, and the two forms of lines.
#include "models/tools/Progress.h"

#include "llvm/Support/Process.h"

#include <fmt/format.h>

using namespace llvm;

namespace mono::tools {

ProgressStyle ProgressStyle::ofStderr() {
  ProgressStyle style;
  if (!sys::Process::StandardErrIsDisplayed())
    return style;
  // What does not say how wide it is gets what fits nearly everywhere.
  unsigned columns = sys::Process::StandardErrColumns();
  style.columns = columns ? columns : 80;
  style.every = std::chrono::milliseconds(100);
  return style;
}

Progress::Progress(raw_ostream *out, ProgressStyle style) : out(out), style(style) {}

void Progress::step(std::string what) {
  std::lock_guard guard(lock);
  current = std::move(what);
  how.clear();
  if (out && !finished && !teller.joinable())
    teller = std::thread([this] { tellUntilFinished(); });
}

void Progress::tell() {
  std::lock_guard guard(lock);
  if (teller.joinable() && !finished)
    tellLine();
}

void Progress::detail(std::string text) {
  std::lock_guard guard(lock);
  how = std::move(text);
}

double Progress::seconds() const {
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count();
}

std::string Progress::line() const {
  return fmt::format("{:.0f} s: {}{}{}", seconds(), current, how.empty() ? "" : ", ", how);
}

void Progress::tellUntilFinished() {
  std::unique_lock guard(lock);
  while (!wake.wait_for(guard, style.every, [&] { return finished; }))
    tellLine();
}

/// The lock is held.
void Progress::tellLine() {
  if (style.columns == 0) {
    *out << line() << '\n';
  } else {
    // Back to the begin, the text, and nothing behind it. The last column would break the line.
    *out << '\r' << line().substr(0, style.columns - 1) << "\x1b[K";
    onScreen = true;
  }
  out->flush();
}

void Progress::finish() {
  {
    std::lock_guard guard(lock);
    if (finished || !teller.joinable())
      return;
    finished = true;
  }
  wake.notify_all();
  teller.join();
  if (onScreen)
    *out << "\r\x1b[K";
}

} // namespace mono::tools

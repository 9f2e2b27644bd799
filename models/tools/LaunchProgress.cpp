// Sampling of mailboxes, and its text.
#include "models/tools/LaunchProgress.h"

#include <algorithm>

using namespace llvm;

namespace mono::tools {

void LaunchProgress::begin(const Group &group, const emu::Machine &on, uint32_t number) {
  constexpr uint64_t samplesOfMailbox = 32, wordBytes = 8;
  const Manifest &manifest = group.manifest();
  stages.clear();
  for (const Stage &stage : manifest.stages)
    stages.push_back(stage.name);
  ranks = group.ranks();
  tag = number;
  samples.clear();
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (const Mailbox &mailbox : manifest.mailboxes) {
      if (mailbox.kind != MailboxKind::Tagged)
        continue;
      std::optional<unsigned> stage = manifest.firstPoster(mailbox.name);
      DevicePtr slot = group.slotMemory(rank, mailbox, number % mailbox.slots);
      uint64_t words = mailbox.slotBytes() / wordBytes;
      uint64_t count = std::min(words, samplesOfMailbox);
      for (uint64_t n = 0; n < count; ++n)
        samples.push_back({rank, stage ? int(*stage) : -1, slot + n * words / count * wordBytes});
    }
  machine = &on;
}

void LaunchProgress::end() { machine = nullptr; }

void LaunchProgress::told(uint64_t executed) {
  auto now = std::chrono::steady_clock::now();
  if (!machine || now - last < std::chrono::milliseconds(100))
    return;
  last = now;
  progress.detail(describe(executed));
}

std::string LaunchProgress::describe(uint64_t executed) const {
  std::vector<int> reached(ranks, -1);
  size_t posted = 0;
  for (const Sample &sample : samples) {
    if (machine->peek(sample.word) >> 32 != tag)
      continue;
    ++posted;
    reached[sample.rank] = std::max(reached[sample.rank], sample.stage);
  }
  std::string text = fmt::format("{} M instructions", executed / 1'000'000);
  if (samples.empty())
    return text;
  return fmt::format("{}% posted, {}, {}", 100 * posted / samples.size(),
                     describeStages(reached, stages), text);
}

std::string describeStages(ArrayRef<int> reached, ArrayRef<std::string> stages) {
  std::string text;
  for (size_t first = 0; first < reached.size();) {
    size_t next = first + 1;
    while (next < reached.size() && reached[next] == reached[first])
      ++next;
    std::string who =
        next - first == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, next - 1);
    std::string where = reached[first] < 0 ? std::string("the begin")
                                           : fmt::format("'{}'", stages[size_t(reached[first])]);
    text += fmt::format("{}{} at {}", text.empty() ? "ranks " : ", ", who, where);
    first = next;
  }
  return text;
}

} // namespace mono::tools

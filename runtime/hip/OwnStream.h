// The stream of a device that stands for a null one, and whose launches may still run on it: HIP
// tells whoever waits that something went wrong, not in which launch.
#pragma once

#include "runtime/Error.h"
#include "runtime/LaunchFailure.h"
#include "runtime/hip/HipTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mono::hip {

class OwnStream {
public:
  api::Stream handle = nullptr;

  /// Whether a caller's stream is this one.
  bool is(api::Stream stream) const { return !stream || stream == handle; }

  /// A launch with this failure, which may be null, was started.
  void note(const std::shared_ptr<LaunchFailure> &failure) {
    std::lock_guard guard(lock);
    if (!llvm::is_contained(started, failure))
      started.push_back(failure);
  }

  /// Waits by `synchronize`, for whatever was started before. Its error is recorded with all of
  /// that, since any may have caused it.
  llvm::Error wait(llvm::function_ref<llvm::Error()> synchronize) {
    std::vector<std::shared_ptr<LaunchFailure>> awaited = take();
    llvm::Error error = synchronize();
    if (!error)
      return error;
    std::string text = llvm::toString(std::move(error));
    for (const auto &failure : awaited)
      if (failure)
        failure->record(text);
    bool isRecorded = !awaited.empty() && !llvm::is_contained(awaited, nullptr);
    return isRecorded ? llvm::make_error<RecordedLaunchError>(text) : makeError("{}", text);
  }

private:
  std::vector<std::shared_ptr<LaunchFailure>> take() {
    std::lock_guard guard(lock);
    return std::exchange(started, {});
  }

  std::mutex lock;
  std::vector<std::shared_ptr<LaunchFailure>> started; ///< each once; null: of nobody
};

} // namespace mono::hip

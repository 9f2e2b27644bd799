// monorun FILE.mlir|FILE.hsaco: runs a schedule on all its ranks, on the emulator or on GPUs.
#include "models/tools/Options.h"
#include "models/tools/Run.h"

int main(int argc, char **argv) {
  using namespace mono::tools;
  auto options = parseCommandLine(argc, argv);
  if (const ExitStatus *status = std::get_if<ExitStatus>(&options))
    return static_cast<int>(*status);
  return static_cast<int>(run(std::get<RunOptions>(options)));
}

// One run of monorun: source, devices, inputs, launches, verdict, outputs.
#pragma once

#include "models/tools/Options.h"

namespace mono::tools {

/// Does what the options say. Results go to stdout, messages to stderr.
ExitStatus run(const RunOptions &options);

} // namespace mono::tools

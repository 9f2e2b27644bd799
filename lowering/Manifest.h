// The manifest of a placed schedule: what a runtime must know to launch the kernel
// (docs/manifest.md).
#pragma once

#include "dialect/Mono.h"
#include <string>

namespace mono {

/// Name of the section of the code object that holds the manifest.
inline constexpr const char *kManifestSection = ".mono.manifest";
/// Attribute of the module: {file, hash} of the source.
inline constexpr const char *kSourceAttr = "mono.source";
/// Attribute of the gpu.module: the manifest.
inline constexpr const char *kManifestAttr = "mono.manifest";
/// "monoc 0.1.0".
std::string toolVersion();

/// JSON text for `schedule`, compiled with that watchdog budget (0: none).
std::string manifestOf(ScheduleOp schedule, int64_t watchdogCycles);

} // namespace mono

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

/// What a marker of a task says: m0 at s_ttracedata. Stages are numbered in file order.
constexpr int64_t kMarkerTaskBits = 20;
constexpr int64_t markerOf(int64_t stage, int64_t task) { return stage << kMarkerTaskBits | task; }

/// JSON text for `schedule`, compiled with that watchdog budget (0: none), with or without markers.
std::string manifestOf(ScheduleOp schedule, int64_t watchdogCycles, bool markers);

} // namespace mono

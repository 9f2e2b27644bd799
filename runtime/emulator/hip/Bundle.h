// Code objects out of what HIP programs hold: raw ELF, offload bundles, compressed bundles.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace mono::hipemu {

/// The gfx950 code object in `image`: an ELF file as it is, or the entry of a
/// "__CLANG_OFFLOAD_BUNDLE__" (plain, or compressed as "CCOB") whose target fits
/// gfx950:sramecc+:xnack-. An error that lists the targets there are, if none fits.
llvm::Expected<std::vector<uint8_t>> extractCodeObject(llvm::StringRef image);

/// The length of an image in memory, from its own headers; for callers that have only a pointer,
/// which must be readable that far. An error for an unknown format, and for version 1 of the
/// compressed format, which does not say.
llvm::Expected<uint64_t> imageLength(const void *image);

/// Whether code for `target`, e.g. "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-", runs on the device.
bool fitsDevice(llvm::StringRef target);

} // namespace mono::hipemu

// The second linker: AMD's code object manager (comgr), a library of ROCm that is opened when it is
// first asked for. Building and running without it is the normal case.
#pragma once

#include "lowering/codeobject/CodeObject.h"

#include <string>

namespace mono {

/// Links a relocatable into a loadable code object with comgr 3 or later, one call at a time. The
/// library is libamd_comgr.so.3 or .2, the first that opens, or the file that the environment
/// variable MONO_COMGR_LIBRARY names; later calls use what the first one found. Errors: no library,
/// a version that does not know gfx950, and what comgr's linker says.
llvm::Expected<Bytes> linkWithComgr(llvm::ArrayRef<uint8_t> relocatable);

/// The comgr that linkWithComgr() uses.
struct ComgrIdentity {
  std::string version; ///< "3.0"
  const void *code;    ///< an address inside the library
};

/// Opens the library if it is not open yet; the errors are those of linkWithComgr() before it
/// links.
llvm::Expected<ComgrIdentity> identifyComgr();

} // namespace mono

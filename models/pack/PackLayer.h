// The weights of one layer, as a kernel reads them, into a file a rank.
#pragma once

#include "models/Checkpoint.h"
#include "runtime/Manifest.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mono::models {

/// How far a file is.
struct PackProgress {
  unsigned rank = 0;
  std::string operand;    ///< about to be packed
  uint64_t doneBytes = 0; ///< of the file's data
  uint64_t allBytes = 0;
};

/// The tensors a kernel needs of a checkpoint's layer `layer`. Error when the kernel is of no
/// schedule that can be packed for, or its operands are not those of that schedule.
llvm::Expected<std::vector<CheckpointTensor>> layerTensorsOf(const Manifest &manifest,
                                                             unsigned layer);

/// Writes the weight operands of `rank`, each in the layout the kernel reads, as tensors named like
/// the operands. Metadata: `layout.OPERAND`, `schedule`, `layer`, `rank`, `param.NAME`. One slice
/// of an operand is in memory at a time. Errors as in layerTensorsOf() and of the file system; the
/// checkpoint must have all those tensors.
llvm::Error packLayer(const Manifest &manifest, unsigned layer, const Checkpoint &checkpoint,
                      unsigned rank, llvm::StringRef path,
                      llvm::function_ref<void(const PackProgress &)> progress);

} // namespace mono::models

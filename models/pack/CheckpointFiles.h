// A checkpoint in a folder of safetensors files, as Hugging Face lays them out, read as the model
// wants its tensors.
#pragma once

#include "models/Checkpoint.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace mono::models {

class CheckpointFiles : public Checkpoint {
public:
  /// Maps the files of `folder` (model.safetensors.index.json and what it names, or one
  /// model.safetensors) that hold these tensors. Tensors must have the dtype and shape asked for,
  /// with two exceptions, each noted once (see notes()):
  /// - F32 tensors may be BF16, which widens exactly, unless they are routing biases, whose spread
  ///   BF16 destroys;
  /// - `shared_experts` may be BF16 [N, K] in place of MXFP4 and are then quantised when read
  ///   (quantiseMxfp4).
  /// Errors name the folder or file and the tensor.
  static llvm::Expected<std::unique_ptr<CheckpointFiles>>
  open(llvm::StringRef folder, llvm::ArrayRef<CheckpointTensor> tensors);

  void read(const CheckpointTensor &tensor, uint64_t offset,
            llvm::MutableArrayRef<uint8_t> out) const override;

  /// What was converted, for people, e.g. "shared experts are BF16: quantised to MXFP4".
  llvm::ArrayRef<std::string> notes() const { return remarks; }

private:
  enum class Conversion { None, Widen, QuantiseCodes, QuantiseScales };
  struct Source {
    const TensorView *view = nullptr;
    Conversion conversion = Conversion::None;
  };
  CheckpointFiles() = default;

  llvm::Error readIndex(llvm::StringRef folder);
  llvm::Expected<const TensorView *> find(llvm::StringRef folder, llvm::StringRef name);
  llvm::Expected<Source> match(llvm::StringRef folder, const CheckpointTensor &tensor);
  void note(llvm::StringRef remark);

  llvm::StringMap<std::string> fileOf; ///< by tensor; empty when there is one file
  llvm::StringMap<SafetensorsFile> files;
  llvm::StringMap<Source> sources;
  std::vector<std::string> remarks;
};

} // namespace mono::models

// A small GLM-5 layer as safetensors files, right or with one thing wrong.
#pragma once

#include "models/SyntheticCheckpoint.h"
#include "models/glm5/LayerTensors.h"

#include <map>

namespace mono::test {

class TinyCheckpoint {
public:
  TinyCheckpoint();

  /// The tensors a kernel asks for.
  std::vector<models::CheckpointTensor> catalogue() const;
  /// Where their values come from.
  const models::Checkpoint &source() const { return values; }

  // Each names its tensor by the end of its name.
  void remove(llvm::StringRef name) { stored.erase(find(name)); }
  void retype(llvm::StringRef name, DType dtype) { find(name)->second.dtype = dtype; }
  void reshape(llvm::StringRef name, Shape shape);
  /// F32 to BF16.
  void narrow(llvm::StringRef name);
  /// An expert's matrix in BF16 without scales, with the values of plainExpert().
  void plainExpertAt(size_t expert, models::glm5::Projection projection);
  void plainSharedExperts();
  /// BF16 values [N, K] in place of the codes of an expert's matrix.
  std::vector<uint16_t> plainExpert(const models::CheckpointTensor &codes) const;

  /// Writes the files; the folder is made.
  void write(const std::string &folder) const;

  models::glm5::LayerSizes sizes;
  unsigned shards = 2;
  bool withIndex = true;

private:
  struct Stored {
    DType dtype;
    Shape shape;
    std::vector<uint8_t> bytes;
  };
  std::map<std::string, Stored>::iterator find(llvm::StringRef name);

  models::SyntheticCheckpoint values;
  std::map<std::string, Stored> stored;
};

} // namespace mono::test

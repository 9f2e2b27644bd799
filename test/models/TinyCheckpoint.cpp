// Writing of small checkpoints.
#include "test/models/TinyCheckpoint.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mono::models;
using namespace mono::models::glm5;

namespace mono::test {

TinyCheckpoint::TinyCheckpoint() : values(SyntheticParams{}) {
  sizes.hidden = 128;
  sizes.heads = 4;
  sizes.qLora = 32;
  sizes.kvLora = 32;
  sizes.nope = 32;
  sizes.rope = 8;
  sizes.vDim = 16;
  sizes.indexHeads = 2;
  sizes.indexDim = 16;
  sizes.topk = 8;
  sizes.experts = 4;
  sizes.moe = 128;
  sizes.chosen = 2;
  sizes.ranks = 2;
  sizes.context = 64;
  for (const CheckpointTensor &tensor : catalogue()) {
    Stored &entry = stored[tensor.name] = {tensor.dtype, tensor.shape, {}};
    entry.bytes.resize(tensor.rows() * tensor.rowBytes());
    values.read(tensor, 0, entry.bytes);
  }
}

std::vector<CheckpointTensor> TinyCheckpoint::catalogue() const {
  return LayerTensors(sizes, 3).all(true);
}

std::map<std::string, TinyCheckpoint::Stored>::iterator TinyCheckpoint::find(llvm::StringRef name) {
  auto found = llvm::find_if(
      stored, [&](const auto &entry) { return llvm::StringRef(entry.first).ends_with(name); });
  EXPECT_NE(found, stored.end()) << name.str();
  return found;
}

void TinyCheckpoint::reshape(llvm::StringRef name, Shape shape) {
  Stored &entry = find(name)->second;
  entry.shape = shape;
  size_t count = dtypeBytes(entry.dtype);
  for (int64_t dimension : shape)
    count *= static_cast<size_t>(dimension);
  entry.bytes.resize(count);
}

void TinyCheckpoint::narrow(llvm::StringRef name) {
  Stored &entry = find(name)->second;
  std::vector<uint8_t> narrowed(entry.bytes.size() / 2);
  for (size_t i = 0; i < narrowed.size(); i += 2) {
    float value = 0;
    std::memcpy(&value, &entry.bytes[2 * i], sizeof(value));
    uint16_t code = toBf16(value);
    std::memcpy(&narrowed[i], &code, sizeof(code));
  }
  entry.dtype = DType::BF16;
  entry.bytes = std::move(narrowed);
}

std::vector<uint16_t> TinyCheckpoint::plainExpert(const CheckpointTensor &codes) const {
  std::vector<uint16_t> plain(codes.elements() * 2);
  HashTensor(codes.name, 77).real(0.1f, 0, plain);
  return plain;
}

void TinyCheckpoint::plainExpertAt(size_t expert, Projection projection) {
  LayerTensors tensors(sizes, 3);
  CheckpointTensor codes = tensors.expert(expert, projection);
  std::vector<uint16_t> plain = plainExpert(codes);
  Stored &entry = stored[codes.name];
  entry.dtype = DType::BF16;
  entry.shape = codes.shape;
  entry.shape.back() *= 2;
  entry.bytes.resize(plain.size() * 2);
  std::memcpy(entry.bytes.data(), plain.data(), entry.bytes.size());
  stored.erase(tensors.expertScale(expert, projection).name);
}

void TinyCheckpoint::plainSharedExperts() {
  for (Projection projection : {Projection::Gate, Projection::Up, Projection::Down})
    plainExpertAt(sizes.experts, projection);
}

void TinyCheckpoint::write(const std::string &folder) const {
  ASSERT_FALSE(llvm::sys::fs::create_directories(folder));
  std::vector<std::vector<TensorView>> files(shards);
  std::string map;
  size_t index = 0;
  for (const auto &[name, entry] : stored) {
    size_t shard = index++ % shards;
    if (name.find("q_a_proj") != std::string::npos)
      shard = shards - 1; // a test asks for this one by its shard
    files[shard].push_back({name, entry.dtype, entry.shape, entry.bytes});
    map += fmt::format("{}\"{}\": \"model-{}.safetensors\"", map.empty() ? "" : ", ", name, shard);
  }
  for (size_t shard = 0; shard < shards; ++shard) {
    std::string name = withIndex ? fmt::format("model-{}.safetensors", shard) : "model.safetensors";
    llvm::Error error = writeSafetensors(folder + "/" + name, files[shard], {{"format", "pt"}});
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  if (!withIndex)
    return;
  std::error_code error;
  llvm::raw_fd_ostream out(folder + "/model.safetensors.index.json", error);
  ASSERT_FALSE(error);
  out << "{\"metadata\": {}, \"weight_map\": {" << map << "}}";
}

} // namespace mono::test

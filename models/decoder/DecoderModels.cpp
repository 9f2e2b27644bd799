// Constants of the models.
#include "models/decoder/DecoderModels.h"

#include <cmath>
#include <numbers>

using namespace llvm;

namespace mono::models::decoder {

std::vector<double> powerFrequencies(double theta, size_t dim) {
  std::vector<double> frequencies;
  for (size_t i = 0; i < dim / 2; ++i)
    frequencies.push_back(std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(dim)));
  return frequencies;
}

std::vector<double> llama3Frequencies(size_t dim) {
  constexpr double factor = 8, least = 1, most = 4, trained = 8192;
  std::vector<double> frequencies = powerFrequencies(500000, dim);
  for (double &frequency : frequencies) {
    double turns = trained * frequency / (2 * std::numbers::pi);
    double kept = std::clamp((turns - least) / (most - least), 0.0, 1.0);
    frequency *= kept + (1 - kept) / factor;
  }
  return frequencies;
}

std::vector<double> qwen3Frequencies(size_t dim) { return powerFrequencies(1e6, dim); }

static Expected<std::unique_ptr<Problem>>
random(const DecoderModel &model, const Manifest &manifest, uint64_t seed, bool ordered = false) {
  Expected<DecoderSizes> sizes = readDecoderSizes(model, manifest);
  if (!sizes)
    return sizes.takeError();
  sizes->ordered = ordered;
  if (Error error = checkDecoderSizes(*sizes))
    return error;
  return makeDecoderProblem(model, *sizes, seed);
}

static Expected<std::unique_ptr<Problem>>
variant(const DecoderModel &model, const Manifest &manifest, StringRef name, uint64_t seed) {
  if (name != "ordered")
    return makeError("schedule '{}' has no variant '{}'; it has ordered", model.schedule.str(),
                     name);
  return random(model, manifest, seed, /*ordered=*/true);
}

Expected<std::unique_ptr<Problem>> randomLlama3(const Manifest &manifest, uint64_t seed) {
  return random(llama3, manifest, seed);
}

Expected<std::unique_ptr<Problem>> randomQwen3Moe(const Manifest &manifest, uint64_t seed) {
  return random(qwen3Moe, manifest, seed);
}

Expected<std::unique_ptr<Problem>> variantOfLlama3(const Manifest &manifest, StringRef name,
                                                   uint64_t seed) {
  return variant(llama3, manifest, name, seed);
}

Expected<std::unique_ptr<Problem>> variantOfQwen3Moe(const Manifest &manifest, StringRef name,
                                                     uint64_t seed) {
  return variant(qwen3Moe, manifest, name, seed);
}

} // namespace mono::models::decoder

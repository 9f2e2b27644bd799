// The models with layers of this kind, and their test problems for the registry.
#pragma once

#include "models/Problem.h"
#include "models/decoder/DecoderSizes.h"

namespace mono::models::decoder {

/// theta^(-2i / dim) for i < dim / 2.
std::vector<double> powerFrequencies(double theta, size_t dim);
/// Llama 3.1's for contexts of 131072 tokens: theta 500000; pairs that turn less than once in 8192
/// tokens are slowed by 8, those that turn more than 4 times are kept, and between the two it is
/// interpolated (Hugging Face transformers, rope_type "llama3").
std::vector<double> llama3Frequencies(size_t dim);
/// theta 1e6.
std::vector<double> qwen3Frequencies(size_t dim);

inline constexpr DecoderModel llama3 = {"llama3_layer", 1e-5, /*hasQkNorm=*/false,
                                        /*hasExperts=*/false, llama3Frequencies};
inline constexpr DecoderModel qwen3Moe = {"qwen3_moe_layer", 1e-6, /*hasQkNorm=*/true,
                                          /*hasExperts=*/true, qwen3Frequencies};

/// A random problem under a seed; errors as in readDecoderSizes().
llvm::Expected<std::unique_ptr<Problem>> randomLlama3(const Manifest &manifest, uint64_t seed);
llvm::Expected<std::unique_ptr<Problem>> randomQwen3Moe(const Manifest &manifest, uint64_t seed);

/// The same with rows that are consecutive tokens of one sequence, which is the variant "ordered";
/// error when `name` is another.
llvm::Expected<std::unique_ptr<Problem>> variantOfLlama3(const Manifest &manifest,
                                                         llvm::StringRef name, uint64_t seed);
llvm::Expected<std::unique_ptr<Problem>> variantOfQwen3Moe(const Manifest &manifest,
                                                           llvm::StringRef name, uint64_t seed);

/// The problem of a model with these sizes. Only experts that a token chose or nearly chose have
/// weights; the others are NaN (scale 0xFF), so that reading a wrong one shows.
std::unique_ptr<Problem> makeDecoderProblem(const DecoderModel &model, const DecoderSizes &sizes,
                                            uint64_t seed);

} // namespace mono::models::decoder

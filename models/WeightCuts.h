// How the weight operands of a rank are cut from the tensors of a checkpoint, and products of
// activations with such tensors in double precision.
#pragma once

#include "models/Checkpoint.h"
#include "models/Matmul.h"

namespace mono::models {

/// Rows of a gate projection that stand together before those of the up projection of the same
/// units: one MFMA tile of each, so that a wave holds gate and up of the same units.
inline constexpr size_t gateRows = 16;

/// Rows [first, ...) of a matrix: as many as fill `out`.
void copyRows(const Checkpoint &checkpoint, const CheckpointTensor &tensor, size_t first,
              llvm::MutableArrayRef<uint8_t> out);
/// Columns [first, first + count) of all rows, each row followed by as many bytes of `filler` as
/// `out` has room for.
void copyColumns(const Checkpoint &checkpoint, const CheckpointTensor &tensor, size_t first,
                 size_t count, llvm::MutableArrayRef<uint8_t> out, uint8_t filler = 0);
/// Rows [first, first + count) of two matrices of one shape, gateRows of the one and of the other
/// in turn.
void copyGateUp(const Checkpoint &checkpoint, const CheckpointTensor &gate,
                const CheckpointTensor &up, size_t first, size_t count,
                llvm::MutableArrayRef<uint8_t> out);

/// For each position the cosines of position * frequency, then the sines, rounded from double to
/// f32: a [context, 2 * frequencies.size()] table.
void rotaryTable(llvm::ArrayRef<double> frequencies, llvm::MutableArrayRef<uint8_t> out);

/// activations [rows, columns of `weight`] times a bf16 tensor.
std::vector<double> multiplyBf16(const Checkpoint &checkpoint, const CheckpointTensor &weight,
                                 llvm::ArrayRef<double> activations);
/// What of a weight is multiplied: its value, or its magnitude, for bounds of errors.
enum class WeightPart { Value, Magnitude };
/// The same with MXFP4 codes, U8 [n, k / 2], and their E8M0 scales, U8 [n, k / 32].
std::vector<double> multiplyMxfp4(const Checkpoint &checkpoint, const CheckpointTensor &codes,
                                  const CheckpointTensor &scales,
                                  llvm::ArrayRef<double> activations,
                                  WeightPart part = WeightPart::Value);

} // namespace mono::models

// Which schedules come with a generator of inputs and a reference, by schedule name.
#pragma once

#include "models/Problem.h"
#include "runtime/Safetensors.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mono::models {

using Params = std::vector<std::pair<std::string, int64_t>>;

/// The references of one schedule.
struct Model {
  llvm::StringLiteral schedule;
  /// Where the schedule is: folder below models/ and file name.
  llvm::StringLiteral file;
  /// Random inputs under a seed, and the reference on them. Error when the manifest's operands are
  /// not those of the schedule the model knows.
  llvm::Expected<std::unique_ptr<Problem>> (*random)(const Manifest &, uint64_t seed);
  /// The same at an edge that has a name; null when the schedule has none. Error also when it has
  /// none of that name.
  llvm::Expected<std::unique_ptr<Problem>> (*variant)(const Manifest &, llvm::StringRef name,
                                                      uint64_t seed);
  /// The inputs and results of a golden case; null, as the next, when the schedule has none.
  llvm::Expected<std::unique_ptr<Problem>> (*golden)(const Manifest &, const SafetensorsFile &);
  /// The compile parameters a golden case asks for; what the user gives goes first.
  llvm::Expected<Params> (*goldenParams)(const SafetensorsFile &);
};

/// Null when no model knows the schedule.
const Model *findModel(llvm::StringRef schedule);
/// The model of a schedule file, known by its folder and name or by the schedule's own name; null
/// when no model has it.
const Model *findModelOfFile(llvm::StringRef path);
/// Names of all known schedules, for messages: "attn_out_router, ...".
std::string knownModels();

} // namespace mono::models

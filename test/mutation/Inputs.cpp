// Makes inputs, from a model or at random.
#include "test/mutation/Inputs.h"

#include "models/Registry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include <random>

using namespace llvm;

namespace mono::test {

static std::vector<uint8_t> randomBytes(const TensorType &type, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(type.bytes());
  if (type.element == ElementType::FP4E2M1 || type.element == ElementType::E8M0) {
    // Any codes, and scales around one.
    for (uint8_t &byte : bytes)
      byte = type.element == ElementType::E8M0 ? 124 + random() % 6 : random();
    return bytes;
  }
  unsigned width = elementBits(type.element) / 8;
  for (size_t at = 0; at < bytes.size(); at += width) {
    if (type.element == ElementType::I32) {
      support::endian::write32le(&bytes[at], random() % 1000);
      continue;
    }
    float value = (int64_t(random() % 2001) - 1000) / 512.0f;
    uint32_t bits = bit_cast<uint32_t>(value);
    if (type.element == ElementType::F32)
      support::endian::write32le(&bytes[at], bits);
    else
      support::endian::write16le(&bytes[at], bits >> 16);
  }
  return bytes;
}

Expected<Inputs> Inputs::create(const Manifest &manifest, unsigned launches) {
  Inputs inputs;
  inputs.operands = manifest.operands;
  const models::Model *model = models::findModel(manifest.schedule);
  for (unsigned launch = 0; model && launch < launches; ++launch) {
    auto problem = model->random(manifest, /*seed=*/launch + 1);
    if (!problem)
      return problem.takeError();
    inputs.problems.push_back(std::move(*problem));
  }
  return inputs;
}

std::vector<uint8_t> Inputs::of(const Operand &operand, unsigned rank, unsigned launch) {
  auto index = find_if(operands, [&](const Operand &o) { return o.name == operand.name; }) -
               operands.begin();
  if (problems.empty())
    return randomBytes(operand.type, (index * 64 + launch) * 64 + rank);
  auto [entry, isNew] = known.try_emplace({operand.name, rank, launch});
  if (isNew)
    entry->second = problems[launch]->input(rank, operands[index]);
  std::vector<uint8_t> bytes;
  while (bytes.size() < operand.type.bytes())
    append_range(bytes, entry->second);
  bytes.resize(operand.type.bytes());
  return bytes;
}

} // namespace mono::test

// gfx950-fuzz: long runs of the differential fuzzer.
#include "test/runtime/fuzz/Differ.h"

#include "llvm/Support/CommandLine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

using namespace mono::fuzz;

namespace cl = llvm::cl;

static cl::OptionCategory category("gfx950-fuzz options");
static cl::opt<uint64_t> firstSeed("seed", cl::desc("seed of the first program"), cl::init(1),
                                   cl::cat(category));
static cl::opt<uint64_t> programCount("count", cl::desc("number of programs"), cl::init(1000),
                                      cl::cat(category));
static cl::opt<unsigned> reportLimit("reports",
                                     cl::desc("differences reported in full for one mnemonic"),
                                     cl::init(1), cl::cat(category));
static cl::opt<bool> printProgram("print", cl::desc("print the programs, run nothing"),
                                  cl::cat(category));
static cl::opt<bool> printCoverage("coverage", cl::desc("print how often each mnemonic ran"),
                                   cl::cat(category));

static constexpr size_t kBatch = 64;

int main(int argc, char **argv) {
  // The assembler reports what it rejects through GoogleTest.
  testing::InitGoogleTest();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "compares the emulator with the literal wave\n");
  Differ differ;
  std::map<std::string, uint64_t> differences;
  for (uint64_t done = 0; done < programCount; done += kBatch) {
    std::vector<FuzzProgram> programs;
    for (uint64_t n = done; n < std::min<uint64_t>(done + kBatch, programCount); ++n)
      programs.push_back(generateProgram(firstSeed + n, differ.memoryBase()));
    if (printProgram) {
      for (const FuzzProgram &program : programs)
        for (const std::string &line : program.lines)
          fmt::print("{}\n", line);
      continue;
    }
    const CodeBatch batch(programs);
    for (size_t n = 0; n < programs.size(); ++n) {
      std::optional<Difference> difference = differ.compare(programs[n], batch, n);
      if (!difference)
        continue;
      const std::string name = difference->line < programs[n].lines.size()
                                   ? parseLine(programs[n].lines[difference->line]).mnemonic
                                   : "whole program";
      if (differences[name]++ >= reportLimit)
        continue;
      const FuzzProgram shortest = differ.shrink(programs[n], *difference);
      if (std::optional<Difference> again = differ.compare(shortest))
        difference = std::move(again);
      fmt::print("{}\n", differ.report(shortest, *difference));
      std::fflush(stdout);
    }
  }
  if (printCoverage)
    for (const std::string &name : generatedMnemonics())
      fmt::print("{} {}\n", name, differ.executed.lookup(name));
  uint64_t total = 0;
  for (const auto &[name, count] : differences) {
    fmt::print("{}: {} programs differ\n", name, count);
    total += count;
  }
  fmt::print("{} programs, {} instructions, {} differences\n", programCount.getValue(),
             differ.instructions, total);
  return total != 0;
}

// The fuzzer as a test: fixed seeds, and the literal parts on their own where a formula says what
// must come out.
#include "test/runtime/fuzz/Differ.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

using namespace mono::fuzz;

namespace {

/// Runs `count` programs from `firstSeed` on and reports the first difference, shrunk.
void runPrograms(Differ &differ, uint64_t firstSeed, uint64_t count) {
  constexpr uint64_t kBatch = 64;
  for (uint64_t done = 0; done < count; done += kBatch) {
    std::vector<FuzzProgram> programs;
    for (uint64_t n = done; n < std::min(done + kBatch, count); ++n)
      programs.push_back(generateProgram(firstSeed + n, differ.memoryBase()));
    const CodeBatch batch(programs);
    for (size_t n = 0; n < programs.size(); ++n) {
      std::optional<Difference> difference = differ.compare(programs[n], batch, n);
      if (!difference)
        continue;
      const FuzzProgram shortest = differ.shrink(programs[n], *difference);
      if (std::optional<Difference> again = differ.compare(shortest))
        difference = std::move(again);
      FAIL() << differ.report(shortest, *difference);
    }
  }
}

TEST(Fuzz, RandomProgramsAgree) {
  Differ differ;
  runPrograms(differ, 20261130, 6400);
  if (HasFatalFailure())
    return;
  // Every mnemonic of the tables and templates has run.
  for (const std::string &name : generatedMnemonics())
    EXPECT_GT(differ.executed.lookup(name), 0u) << name << " never ran";
}

/// A difference there is must be found, and shrink to the instruction that makes it.
TEST(Fuzz, FindsAndShrinksADifference) {
  Differ differ;
  FuzzProgram program = generateProgram(1, differ.memoryBase());
  program.lines = {"s_mov_b64 exec, -1", "v_mov_b32_e32 v0, 1.0", "v_mov_b32_e32 v1, 0x12345",
                   // The literal wave takes the text at its word and knows no such register.
                   "v_mov_b32_e32 v2, src_shared_base", "v_mov_b32_e32 v3, v2"};
  const std::optional<Difference> difference = differ.compare(program);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->line, 3u);
  const FuzzProgram shortest = differ.shrink(program, *difference);
  ASSERT_EQ(shortest.lines.size(), 1u);
  EXPECT_EQ(shortest.lines[0], "v_mov_b32_e32 v2, src_shared_base");
  EXPECT_NE(differ.report(shortest, *difference).find("seed 1"), std::string::npos);
}

TEST(Fuzz, SameSeedSameProgram) {
  const FuzzProgram a = generateProgram(77, 0x1000), b = generateProgram(77, 0x1000);
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.initial.vgprs, b.initial.vgprs);
  EXPECT_NE(a.lines, generateProgram(78, 0x1000).lines);
}

/// The literal arithmetic against the host's, which rounds to nearest.
TEST(LiteralFloat, AgreesWithTheHost) {
  Random random(5);
  for (unsigned n = 0; n < 20000; ++n) {
    const double a = std::bit_cast<double>(random.next()), b = std::bit_cast<double>(random.next());
    const double c = n % 2 ? -a * b : std::bit_cast<double>(random.next());
    auto expectSame = [](double host, const Number &literal, const char *what) {
      const double got = toDouble(literal);
      EXPECT_TRUE(std::bit_cast<uint64_t>(host) == std::bit_cast<uint64_t>(got) ||
                  (std::isnan(host) && std::isnan(got)))
          << what << ": host " << host << ", literal " << got;
    };
    const Number x = fromDouble(a), y = fromDouble(b), z = fromDouble(c);
    expectSame(a + b, add(x, y, Round::Even), "add");
    expectSame(a * b, multiply(x, y), "multiply");
    expectSame(a / b, divide(x, y), "divide");
    expectSame(std::fma(a, b, c), fma(x, y, z, Round::Even), "fma");
    expectSame(std::sqrt(std::fabs(a)), squareRoot(fromDouble(std::fabs(a))), "square root");
    expectSame(float(a), unpack(kF32, pack(kF32, x, Round::Even)), "to f32");
  }
}

TEST(LiteralFloat, DirectedRoundingBracketsTheNumber) {
  const Number third = divide(integer(1), integer(3));
  EXPECT_EQ(pack(kF32, third, Round::Down), 0x3eaaaaaau);
  EXPECT_EQ(pack(kF32, third, Round::Zero), 0x3eaaaaaau);
  EXPECT_EQ(pack(kF32, third, Round::Up), 0x3eaaaaabu);
  EXPECT_EQ(pack(kF32, third.negated(), Round::Up), 0xbeaaaaaau);
  EXPECT_EQ(pack(kF16, integer(70000), Round::Zero), 0x7bffu);
  EXPECT_EQ(pack(kF16, integer(70000), Round::Even), 0x7c00u);
}

} // namespace

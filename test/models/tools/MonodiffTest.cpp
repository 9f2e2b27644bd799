// monodiff on files made by hand: what it says, and its exit status.
#include "runtime/Safetensors.h"
#include "test/e2e/Process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <bit>
#include <cmath>

using namespace mono;
using namespace mono::test;

namespace {

struct Tensor {
  std::string name;
  DType dtype;
  Shape shape;
  std::vector<uint8_t> bytes;
};

/// Elements of two bytes.
Tensor bf16(std::string name, Shape shape, std::vector<uint16_t> codes) {
  Tensor tensor{std::move(name), DType::BF16, std::move(shape),
                std::vector<uint8_t>(2 * codes.size())};
  for (size_t n = 0; n < codes.size(); ++n)
    llvm::support::endian::write16le(&tensor.bytes[2 * n], codes[n]);
  return tensor;
}

Tensor f64(std::string name, Shape shape, std::vector<double> values) {
  Tensor tensor{std::move(name), DType::F64, std::move(shape),
                std::vector<uint8_t>(8 * values.size())};
  for (size_t n = 0; n < values.size(); ++n)
    llvm::support::endian::write64le(&tensor.bytes[8 * n], std::bit_cast<uint64_t>(values[n]));
  return tensor;
}

class Monodiff : public ProcessTest {
protected:
  std::string file(const std::string &name, const std::vector<Tensor> &tensors,
                   const std::map<std::string, std::string> &metadata = {}) {
    std::vector<TensorView> views;
    for (const Tensor &tensor : tensors)
      views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
    EXPECT_FALSE(bool(writeSafetensors(path(name), views, metadata)));
    return path(name);
  }
  /// The output, on this status.
  std::string diff(int status, std::vector<std::string> arguments) {
    ProcessResult result = run(MONODIFF, arguments);
    EXPECT_EQ(result.status, status) << result.err << result.out;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  void finds(int status, const std::string &text, std::vector<std::string> arguments) {
    std::string out = diff(status, std::move(arguments));
    EXPECT_NE(out.find(text), std::string::npos) << out;
  }
  /// What is printed of the tensor, with single spaces.
  std::string line(const std::string &out, const std::string &tensor) {
    llvm::SmallVector<llvm::StringRef> words;
    rawLine(out, tensor).split(words, ' ', -1, false);
    return llvm::join(words, " ");
  }
  llvm::StringRef rawLine(const std::string &out, const std::string &tensor) {
    size_t begin = out.find("\n" + tensor + " ");
    return begin == std::string::npos
               ? ""
               : llvm::StringRef(out).drop_front(begin + 1).split('\n').first;
  }
};

TEST_F(Monodiff, TheSameIsStatusZero) {
  std::string a = file("a", {bf16("x", {2}, {0x3F80, 0x4000})});
  EXPECT_EQ(diff(0, {a, a}), "0 of 1 tensors differ\n");
  finds(0, "0 of 2", {a, a, "--all"});
  EXPECT_EQ(line(diff(0, {a, a, "--all"}), "x"),
            "x BF16 [2] 0 of 2 - - - 0.00e+00 0.00e+00 0 0.00e+00");
}

/// 1 and the next bf16 are 2^-7 apart; 2 and 4 are 128 codes apart. The second row is off by 2
/// of 4.
TEST_F(Monodiff, MeasuresTheDifference) {
  std::string a = file("a", {bf16("x", {2, 3}, {0, 0x3F80, 0x3F80, 0, 0, 0x4000})});
  std::string b = file("b", {bf16("x", {2, 3}, {0, 0x3F80, 0x3F81, 0, 0, 0x4080})});
  std::string out = diff(1, {a, b});
  EXPECT_EQ(line(out, "x"), "x BF16 [2, 3] 2 of 6 [0, 2] 1 1.0078 2.00e+00 5.00e-01 128 5.00e-01");
  EXPECT_NE(out.find("1 of 1 tensors differ"), std::string::npos);
  EXPECT_NE(out.find("no mailboxes in both to tell the stage by"), std::string::npos);
}

TEST_F(Monodiff, TakesSpecialValuesForWhatTheyAre) {
  // Zeros of either sign, a NaN against a number, two NaNs.
  std::string a = file("a", {bf16("zero", {1}, {0}), bf16("nan", {1}, {0x7FC0}),
                             bf16("nans", {1}, {0x7FC0}), bf16("inf", {1}, {0x7F80})});
  std::string b = file("b", {bf16("zero", {1}, {0x8000}), bf16("nan", {1}, {0x3F80}),
                             bf16("nans", {1}, {0xFFC0}), bf16("inf", {1}, {0x7F7F})});
  std::string out = diff(1, {a, b});
  EXPECT_EQ(line(out, "zero"), "zero BF16 [1] 1 of 1 [0] 0 -0 0.00e+00 0.00e+00 0 0.00e+00");
  EXPECT_EQ(line(out, "nan"), "nan BF16 [1] 1 of 1 [0] nan 1 inf inf 0 inf");
  EXPECT_EQ(line(out, "nans"), "nans BF16 [1] 1 of 1 [0] nan -nan 0.00e+00 0.00e+00 0 inf");
  EXPECT_EQ(line(out, "inf"), "inf BF16 [1] 1 of 1 [0] inf 3.3895e+38 inf inf 1 inf");
}

TEST_F(Monodiff, IntegersHaveNoUlps) {
  std::string a = file("a", {{"i", DType::I32, {1}, {1, 0, 0, 0}}});
  std::string b = file("b", {{"i", DType::I32, {1}, {255, 255, 255, 255}}});
  EXPECT_EQ(line(diff(1, {a, b}), "i"), "i I32 [1] 1 of 1 [0] 1 -1 2.00e+00 2.00e+00 - 2.00e+00");
}

TEST_F(Monodiff, FindsTheFirstStage) {
  std::map<std::string, std::string> stages = {{"posted_by.late", "2 router"},
                                               {"posted_by.early", "1 the sum"}};
  auto tensors = [](uint16_t code) {
    return std::vector<Tensor>{bf16("y", {1}, {code}), bf16("rank0/mailbox/late", {1}, {code}),
                               bf16("rank0/mailbox/early", {1}, {0}),
                               bf16("rank1/mailbox/early", {1}, {code})};
  };
  std::string a = file("a", tensors(0), stages), b = file("b", tensors(1), stages);
  std::string out = diff(1, {a, b});
  EXPECT_LT(out.find("rank1/mailbox/early"), out.find("rank0/mailbox/late"));
  EXPECT_LT(out.find("rank0/mailbox/late"), out.find("\ny "));
  EXPECT_NE(out.find("the first stage whose mailbox differs is 'the sum' (rank1/mailbox/early)"),
            std::string::npos)
      << out;
  std::vector<Tensor> other = tensors(0);
  other[0] = bf16("y", {1}, {7});
  finds(1, "1 of 4 tensors differ\nno mailbox differs\n", {a, file("c", other, stages)});
}

TEST_F(Monodiff, TellsSetsShapesAndTypesApart) {
  std::string a = file("a", {bf16("only", {1}, {0}), bf16("shape", {2}, {0, 0})},
                       {{"param.S", "1"}, {"schedule", "one"}});
  std::string b = file("b", {bf16("shape", {2, 1}, {0, 0}), {"type", DType::U8, {1}, {0}}},
                       {{"param.S", "2"}, {"param.T", "1"}, {"schedule", "one"}});
  EXPECT_EQ(diff(1, {a, b}), "param.S: 1 in A, 2 in B\n"
                             "param.T: not given in A, 1 in B\n"
                             "only                         only in A: BF16 [1]\n"
                             "shape                        BF16 [2] in A, but BF16 [2, 1] in B\n"
                             "type                         only in B: U8 [1]\n"
                             "1 of 1 tensors differ, 1 only in A, 1 only in B\n"
                             "no mailboxes in both to tell the stage by: monorun --outputs=F "
                             "--mailboxes=all writes them\n");
}

/// What one file does not have cannot differ.
TEST_F(Monodiff, AMissingMailboxIsNotTheFirstToDiffer) {
  std::map<std::string, std::string> stages = {{"posted_by.early", "0 begin"},
                                               {"posted_by.late", "1 end"}};
  std::string a = file("a",
                       {bf16("rank0/mailbox/early", {1}, {0}), bf16("rank0/mailbox/late", {1}, {0}),
                        bf16("y", {1}, {0})},
                       stages);
  std::string late = file("b", {bf16("rank0/mailbox/late", {1}, {1}), bf16("y", {1}, {0})});
  finds(1,
        "1 of 2 tensors differ, 1 only in A\n"
        "the first stage whose mailbox differs is 'end' (rank0/mailbox/late)\n",
        {a, late});
  std::string y = file("c", {bf16("y", {1}, {1})});
  finds(1, "1 of 1 tensors differ, 2 only in A\nno mailboxes in both to tell the stage by", {a, y});
  std::string same = file("d", {bf16("y", {1}, {0})});
  std::string out = diff(1, {same, a});
  EXPECT_EQ(line("\n" + out, "rank0/mailbox/early"), "rank0/mailbox/early only in B: BF16 [1]");
  EXPECT_NE(out.find("0 of 1 tensors differ, 2 only in B\n"), std::string::npos) << out;
}

TEST_F(Monodiff, LeavesOutWhatOneFileHas) {
  std::string a = file("a", {bf16("x", {1}, {0}), bf16("y", {1}, {0})});
  std::string same = file("b", {bf16("y", {1}, {0})});
  EXPECT_EQ(diff(0, {a, same, "--common"}), "0 of 1 tensors differ, 1 only in A\n");
  finds(1, "1 of 1 tensors differ", {a, file("c", {bf16("y", {1}, {1})}), "--common"});
  // Nothing is right because nothing was compared.
  fails(MONODIFF, 2, "monodiff: error: no tensor of A is in B, too: nothing to compare",
        {a, file("d", {bf16("z", {1}, {0})}), "--common"});
  fails(MONODIFF, 2, "nothing to compare", {a, file("d", {bf16("z", {1}, {0})})});
  fails(MONODIFF, 2, "nothing to compare", {file("e", {}), file("f", {})});
}

/// (3, 4) has the length 5, and the bf16 after 4 is 2^-5 off: 6.25e-3.
TEST_F(Monodiff, JudgesRowsByABar) {
  std::string out = file("out", {bf16("y", {2, 2}, {0x4040, 0x4080, 0x4040, 0x4081})});
  std::string reference = file("ref", {f64("y", {2, 2}, {3, 4, 3, 4})});
  EXPECT_EQ(line(diff(0, {out, reference, "--bar=6.3e-3"}), "y"),
            "y BF16, F64 [2, 2] 1 of 4 [1, 1] 4.0312 4 3.12e-02 7.75e-03 - 6.25e-03 good");
  finds(0, "0 of 1 tensors are beyond the bar of 6.3e-03\n", {out, reference, "--bar=6.3e-3"});
  EXPECT_EQ(line(diff(1, {out, reference, "--bar=6.2e-3"}), "y"),
            "y BF16, F64 [2, 2] 1 of 4 [1, 1] 4.0312 4 3.12e-02 7.75e-03 - 6.25e-03 bad");
  finds(1, "1 of 1 tensors are beyond the bar of 6.2e-03\n", {out, reference, "--bar=6.2e-3"});
  // Without a bar types are a difference, and numbers are there all the same.
  EXPECT_EQ(line(diff(1, {out, reference}), "y"),
            "y BF16, F64 [2, 2] 1 of 4 [1, 1] 4.0312 4 3.12e-02 7.75e-03 - 6.25e-03");
  std::string exact = file("exact", {bf16("y", {2}, {0x4040, 0x4080})});
  std::string wide = file("wide", {f64("y", {2}, {3, 4})});
  finds(1, "1 of 1 tensors differ", {exact, wide});
  diff(0, {exact, wide, "--bar=0"});
}

/// B is what errors are relative to.
TEST_F(Monodiff, TheSecondFileIsTheReference) {
  std::string zero = file("zero", {f64("y", {1, 2}, {0, 0})});
  std::string some = file("some", {f64("y", {1, 2}, {3, 4})});
  finds(0, " 1.00e+00  good\n", {zero, some, "--bar=1"});
  finds(1, " inf  bad\n", {some, zero, "--bar=1"});
}

TEST_F(Monodiff, NothingIsWithinABarOfNan) {
  std::string bad = file("a", {bf16("y", {1}, {0x7FC0})});
  finds(1, " inf  bad\n", {bad, file("b", {f64("y", {1}, {1})}), "--bar=1"});
  finds(1, " inf  bad\n", {bad, file("c", {f64("y", {1}, {NAN})}), "--bar=1"});
  finds(1, " inf  bad\n", {bad, bad, "--bar=1"});
}

TEST_F(Monodiff, IntegersAreEqualWithinABar) {
  std::string narrow = file("a", {{"i", DType::I32, {1}, {255, 255, 255, 255}}});
  std::string wide = file("b", {{"i", DType::I64, {1}, std::vector<uint8_t>(8, 255)}});
  std::string other = file("c", {{"i", DType::I64, {1}, {254, 255, 255, 255, 255, 255, 255, 255}}});
  finds(0, " good\n", {narrow, wide, "--bar=1"});
  finds(1, " bad\n", {narrow, other, "--bar=1"});
  finds(1, "1 of 1 tensors differ", {narrow, wide});
  // 2^53 and 2^53 + 1 are one double.
  std::string even = file("e", {{"i", DType::I64, {1}, {0, 0, 0, 0, 0, 0, 32, 0}}});
  std::string odd = file("f", {{"i", DType::U64, {1}, {1, 0, 0, 0, 0, 0, 32, 0}}});
  finds(1, " bad\n", {even, odd, "--bar=1"});
  std::string real = file("d", {f64("i", {1}, {-1})});
  EXPECT_EQ(line("\n" + diff(1, {narrow, real, "--bar=1"}), "i"),
            "i I32 [1] in A, but F64 [1] in B");
}

TEST_F(Monodiff, TheBarTellsTheStage) {
  std::map<std::string, std::string> stages = {{"posted_by.early", "0 begin"},
                                               {"posted_by.late", "1 end"}};
  // The first is off by 2^-7 of 1, the second by half of 4.
  std::string a = file("a",
                       {bf16("rank0/mailbox/early", {1}, {0x3F81}),
                        bf16("rank0/mailbox/late", {1}, {0x4000}), bf16("y", {1}, {0x3F80})},
                       stages);
  std::string b = file("b", {bf16("rank0/mailbox/early", {1}, {0x3F80}),
                             bf16("rank0/mailbox/late", {1}, {0x4080}), bf16("y", {1}, {0})});
  finds(1, "the first stage whose mailbox is beyond the bar is 'end' (rank0/mailbox/late)\n",
        {a, b, "--bar=1e-2"});
  finds(1, "no mailbox is beyond the bar\n", {a, b, "--bar=0.5"});
}

/// A file without metadata was not written by monorun.
TEST_F(Monodiff, AReferenceNamesNoParameters) {
  std::string a = file("a", {bf16("y", {1}, {0})}, {{"param.S", "1"}, {"schedule", "one"}});
  EXPECT_EQ(diff(0, {a, file("b", {bf16("y", {1}, {0})})}), "0 of 1 tensors differ\n");
}

TEST_F(Monodiff, ColumnsAreAsWideAsNames) {
  std::string name = "rank0/mailbox/a_name_that_is_long";
  std::string a = file("a", {bf16(name, {1}, {0}), bf16("y", {1}, {0})});
  std::string b = file("b", {bf16(name, {1}, {1}), bf16("y", {1}, {1})});
  std::string out = diff(1, {a, b});
  size_t column = llvm::StringRef(out).split('\n').first.find("type");
  EXPECT_EQ(rawLine(out, name).find("BF16"), column) << out;
  EXPECT_EQ(rawLine(out, "y").find("BF16"), column) << out;
}

/// Ranks that agree are one tensor; against ranks that do not, each is compared.
TEST_F(Monodiff, ComparesOneForAllWithOneForEach) {
  std::string a = file("a", {bf16("y", {1}, {5})});
  std::string b = file("b", {bf16("rank0/y", {1}, {5}), bf16("rank1/y", {1}, {6})});
  for (bool swapped : {false, true}) {
    std::string out = diff(1, swapped ? std::vector{b, a} : std::vector{a, b});
    EXPECT_EQ(line(out, "rank0/y"), "");
    EXPECT_NE(line(out, "rank1/y"), "") << out;
    EXPECT_NE(out.find("1 of 2 tensors differ"), std::string::npos) << out;
  }
}

TEST_F(Monodiff, BadInputIsStatusTwo) {
  std::string good = file("a", {bf16("x", {1}, {0})});
  fails(MONODIFF, 2, "monodiff: error: " + path("no.safetensors") + ": No such file",
        {good, path("no.safetensors")});
  fails(MONODIFF, 2, "not a safetensors file: expected at least 8 bytes, but got 2",
        {put("short", "xy"), good});
  fails(MONODIFF, 2, "monodiff: error: expected two files to compare, but got 1 (see --help)",
        {good});
  fails(MONODIFF, 2, "expected two files to compare, but got 3", {good, good, good});
  for (const char *bar : {"x", "-1", "nan", "inf", ""})
    fails(MONODIFF, 2, std::string("--bar: expected a number from 0 on, but got '") + bar + "'",
          {good, good, std::string("--bar=") + bar});
}

/// What is not told is no difference.
TEST_F(Monodiff, AFullDiskIsStatusTwo) {
  std::string same = file("a", {bf16("x", {1}, {0})});
  fails("/bin/sh", 2, "monodiff: error: can't write to stdout: No space left on device",
        {"-c", std::string(MONODIFF) + " " + same + " " + same + " > /dev/full"});
}

TEST_F(Monodiff, ComparesWhatBothHaveForAllRanks) {
  std::string a = file("a", {bf16("rank0/x", {1}, {2}), bf16("x", {1}, {1})});
  std::string b = file("b", {bf16("rank0/x", {1}, {2}), bf16("x", {1}, {9})});
  finds(1, "1 of 2 tensors differ", {a, b});
}

} // namespace

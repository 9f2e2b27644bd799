// monodiff on files made by hand: what it says, and its exit status.
#include "runtime/Safetensors.h"
#include "test/e2e/Process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

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
    size_t begin = out.find("\n" + tensor + " ");
    if (begin == std::string::npos)
      return "";
    llvm::SmallVector<llvm::StringRef> words;
    llvm::StringRef(out).drop_front(begin + 1).split('\n').first.split(words, ' ', -1, false);
    return llvm::join(words, " ");
  }
};

TEST_F(Monodiff, TheSameIsStatusZero) {
  std::string a = file("a", {bf16("x", {2}, {0x3F80, 0x4000})});
  EXPECT_EQ(diff(0, {a, a}), "0 of 1 tensors differ\n");
  finds(0, "0 of 2", {a, a, "--all"});
}

/// 1 and the next bf16 are 2^-7 apart; 2 and 4 are 128 codes apart.
TEST_F(Monodiff, MeasuresTheDifference) {
  std::string a = file("a", {bf16("x", {2, 3}, {0, 0x3F80, 0x3F80, 0, 0, 0x4000})});
  std::string b = file("b", {bf16("x", {2, 3}, {0, 0x3F80, 0x3F81, 0, 0, 0x4080})});
  std::string out = diff(1, {a, b});
  EXPECT_EQ(line(out, "x"), "x BF16 [2, 3] 2 of 6 [0, 2] 1 1.0078 2.00e+00 5.00e-01 128");
  EXPECT_NE(out.find("1 of 1 tensors differ"), std::string::npos);
  EXPECT_NE(out.find("no mailboxes to tell the stage by"), std::string::npos);
}

TEST_F(Monodiff, TakesSpecialValuesForWhatTheyAre) {
  // Zeros of either sign, a NaN against a number, two NaNs.
  std::string a = file("a", {bf16("zero", {1}, {0}), bf16("nan", {1}, {0x7FC0}),
                             bf16("nans", {1}, {0x7FC0}), bf16("inf", {1}, {0x7F80})});
  std::string b = file("b", {bf16("zero", {1}, {0x8000}), bf16("nan", {1}, {0x3F80}),
                             bf16("nans", {1}, {0xFFC0}), bf16("inf", {1}, {0x7F7F})});
  std::string out = diff(1, {a, b});
  EXPECT_EQ(line(out, "zero"), "zero BF16 [1] 1 of 1 [0] 0 -0 0.00e+00 0.00e+00 0");
  EXPECT_EQ(line(out, "nan"), "nan BF16 [1] 1 of 1 [0] nan 1 inf inf 0");
  EXPECT_EQ(line(out, "nans"), "nans BF16 [1] 1 of 1 [0] nan -nan 0.00e+00 0.00e+00 0");
  EXPECT_EQ(line(out, "inf"), "inf BF16 [1] 1 of 1 [0] inf 3.3895e+38 inf inf 1");
}

TEST_F(Monodiff, IntegersHaveNoUlps) {
  std::string a = file("a", {{"i", DType::I32, {1}, {1, 0, 0, 0}}});
  std::string b = file("b", {{"i", DType::I32, {1}, {255, 255, 255, 255}}});
  EXPECT_EQ(line(diff(1, {a, b}), "i"), "i I32 [1] 1 of 1 [0] 1 -1 2.00e+00 2.00e+00 -");
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
                             "3 of 3 tensors differ\n"
                             "no mailboxes to tell the stage by: monorun --outputs=F "
                             "--mailboxes=all writes them\n");
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
  fails(MONODIFF, 2, "monodiff: " + path("no.safetensors") + ": No such file",
        {good, path("no.safetensors")});
  fails(MONODIFF, 2, "not a safetensors file: expected at least 8 bytes, but got 2",
        {put("short", "xy"), good});
  fails(MONODIFF, 2, "Not enough positional command line arguments", {good});
}

} // namespace

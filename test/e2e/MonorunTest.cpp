// The command line of monorun as scripts see it: exit status, what is on stdout and on stderr.
#include "runtime/Safetensors.h"
#include "test/e2e/Process.h"
#include "test/runtime/ExchangeKernel.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace mono;
using namespace mono::test;

namespace {

class Monorun : public ProcessTest {
protected:
  std::string exchange() { return put("exchange.hsaco", exchangeCodeObject()); }

  /// An input file for the exchange kernel: `in` on both ranks is i * step.
  std::string inputs(uint32_t step, std::map<std::string, std::string> metadata = {}) {
    std::vector<uint8_t> bytes(exchangeElements * 4);
    for (unsigned i = 0; i < exchangeElements; ++i)
      llvm::support::endian::write32le(&bytes[4 * i], i * step);
    std::vector<TensorView> tensors = {{"in", DType::I32, {4, 64}, bytes}};
    EXPECT_FALSE(bool(writeSafetensors(path("in.safetensors"), tensors, metadata)));
    return path("in.safetensors");
  }

  ProcessResult run(const std::vector<std::string> &arguments) const {
    return ProcessTest::run(MONORUN, arguments);
  }
  void fails(int status, const std::string &message,
             const std::vector<std::string> &arguments) const {
    ProcessTest::fails(MONORUN, status, message, arguments);
  }
};

TEST_F(Monorun, UsageIsStatusTwo) {
  fails(2, "monorun: error: expected one FILE.mlir or FILE.hsaco to run, but got 0 (see --help)",
        {});
  fails(2, "to run, but got 2", {"x.hsaco", "y.hsaco"});
  fails(2, "to run, but got ''", {""});
  fails(2, "Unknown command line argument '--frobnicate'", {"--frobnicate", "x.hsaco"});
  fails(2, "-D: expected NAME=INT, but got 'S'", {"x.hsaco", "-D", "S"});
  fails(2, "-D: expected NAME=INT, but got 'S=four'", {"x.hsaco", "-DS=four"});
  fails(2, "--device: expected emu or hip, but got 'cuda'", {"x.hsaco", "--device=cuda"});
  fails(2, "--stats: expected text or json, but got 'xml'", {"x.hsaco", "--stats=xml"});
  fails(2, "--verify: expected a seed, but got 'x'", {"x.hsaco", "--verify=x"});
  fails(2, "--repeat: expected at least 1, but got 0", {"x.hsaco", "--repeat=0"});
  fails(2, "--inputs, --verify and --case each provide the inputs: give one of them",
        {"x.hsaco", "--verify", "--case=c"});
  fails(2, "--coherence: expected fast or adversarial:SEED, but got 'slow'",
        {"x.hsaco", "--coherence=slow"});
  fails(2, "--coherence: expected fast or adversarial:SEED, but got 'adversarial:x'",
        {"x.hsaco", "--coherence=adversarial:x"});
  fails(2, "--coherence is about the emulator: expected --device=emu",
        {"x.hsaco", "--coherence=adversarial:1", "--device=hip"});
  fails(2, "--checks: unknown check 'bound'; known: all, none, waitcnt",
        {"x.hsaco", "--checks=-bound"});
  fails(2, "--checks is about the emulator: expected --device=emu",
        {"x.hsaco", "--checks=none", "--device=hip"});
  fails(2, "--mfma-order: expected a seed, but got 'x'", {"x.hsaco", "--mfma-order=x"});
  fails(2, "--mfma-order is about the emulator: expected --device=emu",
        {"x.hsaco", "--mfma-order=1", "--device=hip"});
  fails(2, "--variant is about random inputs: expected --verify", {"x.hsaco", "--variant=large"});
  fails(2, "--outputs: expected the name of a file", {"x.hsaco", "--outputs="});
  fails(2, "--mailboxes says what else to write: expected --outputs",
        {"x.hsaco", "--mailboxes=all"});
  fails(2, "--trace and --break are about the emulator: expected --device=emu",
        {"x.hsaco", "--trace=t.json", "--device=hip"});
}

TEST_F(Monorun, BadFilesAreStatusOne) {
  fails(1, "nothing.hsaco: No such file or directory", {path("nothing.hsaco")});
  fails(1, "expected FILE.mlir or FILE.hsaco", {path("kernel.so")});
  fails(1, "bad.hsaco: not a code object", {put("bad.hsaco", "not an ELF file")});
  fails(1, "plain.hsaco: the code object has no manifest",
        {put("plain.hsaco", exchangeCodeObject("", 44))});
  fails(1, "is for 2 ranks, but --ranks says 8", {exchange(), "--ranks=8"});
  fails(1, "compiled for S = 4, but -D says 5", {exchange(), "-D", "S=5"});
  fails(1, "'exchange' does not say which task begins: expected one made with monoc --markers",
        {exchange(), "--trace=" + path("t.json")});
  fails(1, "does not say which task begins: expected one made with monoc --markers",
        {exchange(), "--dump=row@down:3"});
  fails(1, "the code object has no parameter 'CTX'", {exchange(), "-DCTX=1"});
  fails(1, "no reference is known for schedule 'exchange', only for attn_out_router",
        {exchange(), "--verify"});
  fails(1, "expected --inputs and --outputs, to compare with one of your own",
        {exchange(), "--verify"});
  fails(1, "no reference is known for schedule 'exchange'", {exchange(), "--case=" + inputs(1)});
  fails(1, "no golden cases are known for 'other', only for attn_out_router",
        {path("other.mlir"), "--case=" + inputs(1)});
  // Nothing is known of this schedule to verify it by.
  fails(1, "operand 'in' needs an input: give --inputs\n", {exchange()});
}

/// Before anything is read: a layer takes minutes.
TEST_F(Monorun, TargetsAreCheckedFirst) {
  fails(1, "none/out.safetensors: No such file or directory",
        {path("none.mlir"), "--outputs=" + path("none/out.safetensors")});
  fails(1, "can't write '" + path("none/t.json") + "': No such file or directory",
        {path("none.mlir"), "--trace=" + path("none/t.json")});
  fails(1, "can't write '" + path(".") + "': Is a directory",
        {path("none.mlir"), "--trace=" + path(".")});
}

TEST_F(Monorun, WhatIsReadIsNotWrittenOver) {
  std::string in = inputs(1), trace = path("t"), same = path("./t");
  auto refuses = [&](const std::string &option, const std::string &target,
                     std::vector<std::string> arguments) {
    arguments.push_back(option + "=" + target);
    fails(2, option + ": expected another file than '" + target + "', which is read or written",
          arguments);
  };
  refuses("--outputs", exchange(), {exchange(), "--inputs=" + in});
  refuses("--trace", in, {exchange(), "--inputs=" + in});
  refuses("--trace", same, {exchange(), "--inputs=" + in, "--outputs=" + trace});
  // Through a link to a file that is not there yet.
  std::string link = path("link");
  std::filesystem::create_symlink("t", link);
  refuses("--trace", link, {exchange(), "--inputs=" + in, "--outputs=" + trace});
  // What a schedule imports is known when it has been compiled.
  std::string library = put("library.mlir", ""), importer = put("importer.mlir", R"(
    mono.import "library.mlir"
    mono.schedule @s target("gfx950") grid(1 x 64) {
      %y = mono.operand "y" write [64] : f32
      mono.stage "s" (%t) tasks [1] base [0] {
        %x = arith.constant dense<1.0> : tensor<64xf32>
        mono.store %x, %y[0] : tensor<64xf32>
      }
    })");
  fails(1, "--outputs: expected another file than '" + library + "', which is read",
        {importer, "--outputs=" + library});
}

/// The name is as long as a name may be, that of the temporary file longer.
TEST_F(Monorun, WhatCannotBeWrittenTakesNothingElseAlong) {
  std::string file = path(std::string(255, 'o'));
  ProcessResult result =
      run({exchange(), "--inputs=" + inputs(1), "--repeat=2", "--outputs=" + file});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out.find("launches                               2\n"), 0u) << result.out;
  EXPECT_NE(result.err.find("monorun: error: " + file + ": File name too long"), std::string::npos)
      << result.err;
}

TEST_F(Monorun, BadInputFilesAreStatusOne) {
  std::string kernel = exchange();
  fails(1, "no.safetensors: No such file", {kernel, "--inputs=" + path("no.safetensors")});
  fails(1, "/dev/zero: expected a file, but it is a device", {kernel, "--inputs=/dev/zero"});
  fails(1, "not a safetensors file", {kernel, "--inputs=" + put("short.safetensors", "xy")});
  fails(1, "tensor 'in' is packed as mfma_rows<16>, but the operand wants row_major",
        {kernel, "--inputs=" + inputs(1, {{"layout.in", "mfma_rows<16>"}})});
  fails(1, "metadata key 'layout.in': expected layout row_major or mfma_rows<16>",
        {kernel, "--inputs=" + inputs(1, {{"layout.in", "swizzled"}})});
  for (const char *key : {"layout.im", "layout.rank0/in", "layout."})
    fails(1,
          std::string("metadata key '") + key +
              "': expected layout.NAME or layout.rankR/NAME of a tensor of the file",
          {kernel, "--inputs=" + inputs(1, {{key, "row_major"}})});
  fails(1, "; did you mean 'in'?; it has operands in",
        {kernel, "--inputs=" + inputs(1, {{"layout.im", "row_major"}})});

  std::vector<uint8_t> bytes(1024);
  auto file = [&](std::vector<TensorView> tensors) {
    EXPECT_FALSE(bool(writeSafetensors(path("t.safetensors"), tensors, {})));
    return "--inputs=" + path("t.safetensors");
  };
  fails(1, "tensor 'in': expected I32 [4, 64], but got F32 [4, 64]",
        {kernel, file({{"in", DType::F32, {4, 64}, bytes}})});
  fails(1, "tensor 'in': expected I32 [4, 64], but got I32 [256]",
        {kernel, file({{"in", DType::I32, {256}, bytes}})});
  fails(1,
        "no input for operand 'in' of rank 1: expected tensor 'in', or 'rank1/in' for this rank "
        "alone",
        {kernel, file({{"rank0/in", DType::I32, {4, 64}, bytes}})});
  fails(1, "tensor 'rank01/in': expected its name as 'rank1/in'",
        {kernel, file({{"rank01/in", DType::I32, {4, 64}, bytes}})});
  fails(1, "tensor 'rank2/in': expected a rank below 2",
        {kernel, file({{"rank2/in", DType::I32, {4, 64}, bytes}})});
  fails(1, "tensor 'In': kernel 'exchange' has no operand 'In'; it has in, out; did you mean 'in'?",
        {kernel, file({{"In", DType::I32, {4, 64}, bytes}})});
  fails(1, "has no operand 'w'; it has in, out",
        {kernel, file({{"w", DType::I32, {4, 64}, bytes}})});
  fails(1, "operand 'out' is an output, but the input file has it",
        {kernel, file({{"out", DType::I32, {4, 64}, bytes}})});
}

TEST_F(Monorun, AMissingDeviceIsStatusThree) {
  fails(3, "monorun: error: no such device: ", {exchange(), "--device=hip"});
}

TEST_F(Monorun, RunsFilesToFiles) {
  ProcessResult result = run(
      {exchange(), "--inputs=" + inputs(3), "--repeat=3", "--outputs=" + path("out.safetensors")});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  auto file = SafetensorsFile::open(path("out.safetensors"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto out = file->get("out", DType::I32, 2);
  ASSERT_TRUE(bool(out)) << llvm::toString(out.takeError());
  for (unsigned i = 0; i < exchangeElements; ++i)
    EXPECT_EQ(llvm::support::endian::read32le(&(*out)->data[4 * i]), 6 * i);
}

TEST_F(Monorun, SumsUpWhatItTook) {
  std::string kernel = exchange(), in = "--inputs=" + inputs(1);
  ProcessResult result = run({kernel, in, "--repeat=3"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find("launches                               3\nwave instructions "), 0u)
      << result.out;
  for (const char *line : {"\nseconds in launches ", "\nseconds in all ", "\npeak memory, MiB "})
    EXPECT_NE(result.out.find(line), std::string::npos) << result.out;
  EXPECT_EQ(run({kernel, in, "--quiet"}).out, "");

  result = run({kernel, in, "--stats=json"});
  auto json = llvm::json::parse(result.out);
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError()) << result.out;
  const llvm::json::Object &all = *json->getAsObject(), &summary = *all.getObject("summary");
  EXPECT_EQ(summary.getInteger("launches"), 1);
  // What the ranks have executed, by class.
  int64_t instructions = 0;
  for (const llvm::json::Value &rank : *all.getArray("ranks"))
    for (const auto &entry : *rank.getAsObject()->getObject("instructions"))
      instructions += *entry.second.getAsInteger();
  EXPECT_EQ(summary.getInteger("wave_instructions"), instructions);
  EXPECT_GT(*summary.getInteger("peak_memory_bytes"), 1 << 20);
}

/// Before the run, which may be long.
TEST_F(Monorun, OutputsMustBeWritable) {
  std::string kernel = exchange(), in = "--inputs=" + inputs(1);
  fails(1, "monorun: error: " + path("no/such") + ": No such file or directory",
        {kernel, in, "--outputs=" + path("no/such")});
  fails(1, "monorun: error: /dev/null: expected a regular file, or none, to replace",
        {kernel, in, "--outputs=/dev/null"});
}

/// Both ranks post `in` to both.
TEST_F(Monorun, WritesMailboxes) {
  std::string kernel = exchange(), out = path("out.safetensors");
  for (const char *which : {"parts", "all"}) {
    ProcessResult result = run({kernel, "--inputs=" + inputs(3), "--repeat=2", "--outputs=" + out,
                                std::string("--mailboxes=") + which});
    ASSERT_EQ(result.status, 0) << result.err;
    auto file = SafetensorsFile::open(out);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    for (const char *name : {"rank0/mailbox/parts", "rank1/mailbox/parts"}) {
      auto parts = file->get(name, DType::I32, 2);
      ASSERT_TRUE(bool(parts)) << llvm::toString(parts.takeError());
      EXPECT_EQ((*parts)->shape, (Shape{2, exchangeElements}));
      for (unsigned i = 0; i < 2 * exchangeElements; ++i)
        EXPECT_EQ(llvm::support::endian::read32le(&(*parts)->data[4 * i]),
                  3 * (i % exchangeElements));
    }
  }
  fails(1, "kernel 'exchange' has no mailbox 'part'; it has parts",
        {kernel, "--inputs=" + inputs(3), "--outputs=" + out, "--mailboxes=parts,part"});
}

/// The kernel adds what lies in memory on both ranks as i32 words: with the same input on both, the
/// output is twice the packed input.
TEST_F(Monorun, PacksRowMajorInputs) {
  std::string manifest = exchangeManifest();
  std::string plain = R"("shape": [4, 64], "element": "i32", "layout": "row_major")";
  std::string packed = R"("shape": [16, 32], "element": "bf16", "layout": "mfma_rows<16>")";
  std::string kernel =
      put("packed.hsaco",
          exchangeCodeObject(manifest.replace(manifest.find(plain), plain.size(), packed)));
  std::vector<uint8_t> rows(1024), lanes(1024);
  for (unsigned n = 0; n < 16; ++n)
    for (unsigned k = 0; k < 32; ++k) {
      auto value = static_cast<uint16_t>(n * 32 + k);
      llvm::support::endian::write16le(&rows[2 * (n * 32 + k)], value);
      llvm::support::endian::write16le(&lanes[2 * (k / 8 * 128 + n * 8 + k % 8)], value);
    }
  std::string in = path("in.safetensors"), out = path("out.safetensors");
  auto view = [](std::string name, llvm::ArrayRef<uint8_t> bytes) {
    return TensorView{std::move(name), DType::BF16, {16, 32}, bytes};
  };
  auto check = [&](const std::vector<TensorView> &tensors,
                   std::map<std::string, std::string> metadata) {
    ASSERT_FALSE(bool(writeSafetensors(in, tensors, metadata)));
    ProcessResult result = run({kernel, "--inputs=" + in, "--outputs=" + out});
    ASSERT_EQ(result.status, 0) << result.err;
    auto file = SafetensorsFile::open(out);
    ASSERT_TRUE(bool(file));
    for (unsigned i = 0; i < exchangeElements; ++i)
      EXPECT_EQ(llvm::support::endian::read32le(&file->find("out")->data[4 * i]),
                2 * llvm::support::endian::read32le(&lanes[4 * i]));
  };
  const std::string mfma = "mfma_rows<16>";
  check({view("in", rows)}, {});
  check({view("in", lanes)}, {{"layout.in", mfma}});
  // A layout of the operand holds for the tensors of the ranks, but what one says itself goes
  // first.
  std::vector<TensorView> packedRanks = {view("rank0/in", lanes), view("rank1/in", lanes)};
  check(packedRanks, {{"layout.in", mfma}});
  check(packedRanks, {{"layout.rank0/in", mfma}, {"layout.rank1/in", mfma}});
  check({view("rank0/in", rows), view("rank1/in", lanes)},
        {{"layout.in", mfma}, {"layout.rank0/in", "row_major"}});
  check({view("in", rows), view("rank1/in", lanes)}, {{"layout.rank1/in", mfma}});
}

TEST_F(Monorun, AnOutputNobodyWroteIsStatusOne) {
  std::string kernel = put("skip.hsaco", exchangeCodeObject(/*skipWorkgroup=*/1));
  fails(1, "operand 'out' of rank 0: ", {kernel, "--inputs=" + inputs(1)});
}

/// What had been posted says how far the run came.
TEST_F(Monorun, ShowsMailboxesAfterAFailure) {
  std::string kernel = put("skip.hsaco", exchangeCodeObject(/*skipWorkgroup=*/1));
  ProcessResult result =
      run({kernel, "--inputs=" + inputs(1), "--dump=parts", "--rank=1", "--quiet"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("operand 'out' of rank 0: "), std::string::npos) << result.err;
  EXPECT_EQ(
      result.out.find("mailbox 'parts' of rank 1, slot 0 of 2: i32 [2, 256], all of none\n"
                      "mailbox 'parts' of rank 1, slot 1 of 2: i32 [2, 256], all of launch 1\n"
                      "    [0] 0 1 2 ... 253 254 255\n"),
      0u)
      << result.out;
}

TEST_F(Monorun, StatsAreText) {
  ProcessResult result = run({exchange(), "--inputs=" + inputs(1), "--stats"});
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char *part : {"kernel exchange: 2 ranks of 4 workgroups of 64 threads", "\n1 launch, ",
                           "wave instructions", "bytes by memory level", "LDS (modelled)",
                           "8 waves per SIMD (32 workgroups per compute unit), limited by threads",
                           "bytes read", "peer mailboxes of other ranks"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in " << result.out;
}

/// 4 workgroups of one wavefront a rank read 1024 bytes of `in` and write 1024 of `out`.
TEST_F(Monorun, StatsAreJson) {
  ProcessResult result = run({exchange(), "--inputs=" + inputs(1), "--stats=json"});
  ASSERT_EQ(result.status, 0) << result.err;
  auto json = llvm::json::parse(result.out);
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError()) << result.out;
  const llvm::json::Object &all = *json->getAsObject();
  EXPECT_EQ(all.getObject("kernel")->getString("name"), "exchange");
  ASSERT_EQ(all.getArray("ranks")->size(), exchangeRanks);
  const llvm::json::Object &rank = *(*all.getArray("ranks"))[1].getAsObject();
  EXPECT_EQ(rank.getInteger("mfma"), 0);
  EXPECT_EQ(rank.getInteger("barriers"), 0);
  EXPECT_EQ(all.getObject("occupancy")->getInteger("workgroups_per_cu"), 32);
  std::map<std::string, std::pair<int64_t, int64_t>> bytes;
  for (const llvm::json::Value &entry : *rank.getArray("memory")) {
    const llvm::json::Object &memory = *entry.getAsObject();
    if (memory.getInteger("rank") == 1)
      bytes[memory.getString("name")->str()] = {*memory.getInteger("bytes_read"),
                                                *memory.getInteger("bytes_written")};
  }
  EXPECT_EQ(bytes["in"], (std::pair<int64_t, int64_t>(1024, 0)));
  EXPECT_EQ(bytes["out"], (std::pair<int64_t, int64_t>(0, 1024)));
}

} // namespace

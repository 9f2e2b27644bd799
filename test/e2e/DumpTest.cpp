// monorun --dump: mailboxes and LDS of small schedules, against values the schedules say.
#include "runtime/Safetensors.h"
#include "test/e2e/Process.h"

#include "llvm/Support/Endian.h"

using namespace mono;
using namespace mono::test;

namespace {

/// Task t of "double" posts 2 x of its 4 columns; "keep" puts all of them into LDS, padded, and
/// writes them out; "more" uses those bytes again.
const char *const kSchedule = R"(
mono.schedule @doubled target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [2, 8] : f32
  %y = mono.operand "y" write [2, 8] : f32
  %z = mono.operand "z" write [2, 8] : f32
  %box = mono.mailbox "box" tagged scope(device) slots(2) [2, 8] : f32
  %room = mono.region "room" [2, 8] pad(4) : f32
  %other = mono.region "other" [2, 8] : f32
  mono.stage "double" (%t) tasks [2] base [0] {
    %in = mono.load %x[0, %t * 4] [2, 4] : tensor<2x4xf32>
    %sum = arith.addf %in, %in : tensor<2x4xf32>
    mono.post %sum to %box[0, %t * 4] : tensor<2x4xf32>
  }
  mono.stage "keep" (%t) tasks [1] base [3] {
    mono.receive %box[0, 0] [2, 8] into %room
    %all = mono.load %room[0, 0] [2, 8] : tensor<2x8xf32>
    mono.store %all, %y[0, 0] : tensor<2x8xf32>
  }
  mono.stage "more" (%t) tasks [1] base [3] {
    %in = mono.load %x[0, 0] [2, 8] : tensor<2x8xf32>
    mono.store %in, %other[0, 0] : tensor<2x8xf32>
    %again = mono.load %other[0, 0] [2, 8] : tensor<2x8xf32>
    mono.store %again, %z[0, 0] : tensor<2x8xf32>
  }
}
)";

class Dump : public ProcessTest {
protected:
  void SetUp() override {
    ProcessTest::SetUp();
    schedule = put("doubled.mlir", kSchedule);
    // Element n is n / 2, so that of the mailbox is n.
    std::vector<uint8_t> bytes(64);
    for (unsigned n = 0; n < 16; ++n)
      llvm::support::endian::write32le(&bytes[4 * n], std::bit_cast<uint32_t>(float(n) / 2));
    inputs = "--inputs=" + path("in.safetensors");
    std::vector<TensorView> tensors = {{"x", DType::F32, {2, 8}, bytes}};
    ASSERT_FALSE(bool(writeSafetensors(path("in.safetensors"), tensors, {})));
  }
  std::string dump(std::vector<std::string> options) {
    std::vector<std::string> arguments = {schedule, inputs, "--quiet"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ProcessResult result = run(MONORUN, arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  void fails(int status, const std::string &message, std::vector<std::string> options) {
    options.insert(options.begin(), {schedule, inputs});
    ProcessTest::fails(MONORUN, status, message, options);
  }
  std::string schedule, inputs;
};

const char *const kRows = "    [0] 0 1 2 ... 5 6 7\n"
                          "    [1] 8 9 10 ... 13 14 15\n";

TEST_F(Dump, ShowsAllSlotsOfAMailbox) {
  std::string head = "mailbox 'box' of rank 0, slot ";
  EXPECT_EQ(dump({"--dump=box"}), head + "0 of 2: f32 [2, 8], all of none\n" + head +
                                      "1 of 2: f32 [2, 8], all of launch 1\n" + kRows);
  EXPECT_EQ(dump({"--dump=box", "--repeat=2"}),
            head + "0 of 2: f32 [2, 8], all of launch 2\n" + kRows + head +
                "1 of 2: f32 [2, 8], all of launch 1\n" + kRows);
}

TEST_F(Dump, ShowsLdsBehindATask) {
  EXPECT_EQ(dump({"--dump=room@keep:0"}),
            std::string("region 'room' of rank 0, workgroup 3, behind task keep:0: f32 [2, 8], "
                        "rows of 48 bytes from byte 0 of LDS on\n") +
                kRows);
  // Half of x.
  EXPECT_NE(dump({"--dump=other@more:0"}).find("    [1] 4 4.5 5 ... 6.5 7 7.5\n"),
            std::string::npos);
}

TEST_F(Dump, ShowsLdsWhereItBreaks) {
  std::string out = dump({"--dump=room,box", "--break=keep:0"});
  EXPECT_EQ(out.find("stopped where task keep:0 begins: rank 0, workgroup 3, wavefront 0\n  pc 0x"),
            0u)
      << out;
  // Nothing has come yet.
  EXPECT_NE(out.find("workgroup 3, where it stopped: f32 [2, 8], rows of 48 bytes from byte 0 of "
                     "LDS on; this workgroup has not written it\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("mailbox 'box' of rank 0, slot 1 of 2: "), std::string::npos) << out;
}

/// Workgroups 0 and 1 leave rows of x in "first"; "room" takes the same bytes after that, and only
/// workgroup 0 writes it.
const char *const kOverlaid = R"(
mono.schedule @overlaid target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [2, 8] : f32
  %y = mono.operand "y" write [2, 8] : f32
  %z = mono.operand "z" write [2, 8] : f32
  %v = mono.operand "v" write [1, 8] : f32
  %first = mono.region "first" [1, 8] : f32
  %room = mono.region "room" [1, 8] : f32
  mono.stage "fill" (%t) tasks [2] base [0] {
    %in = mono.load %x[%t, 0] [1, 8] : tensor<1x8xf32>
    mono.store %in, %first[0, 0] : tensor<1x8xf32>
    %again = mono.load %first[0, 0] [1, 8] : tensor<1x8xf32>
    mono.store %again, %y[%t, 0] : tensor<1x8xf32>
  }
  mono.stage "keep" (%t) tasks [1] base [0] {
    %in = mono.load %x[1, 0] [1, 8] : tensor<1x8xf32>
    mono.store %in, %room[0, 0] : tensor<1x8xf32>
  }
  mono.stage "between" (%t) tasks [2] base [0] {
    %in = mono.load %x[%t, 0] [1, 8] : tensor<1x8xf32>
    mono.store %in, %z[%t, 0] : tensor<1x8xf32>
  }
  mono.stage "use" (%t) tasks [1] base [0] {
    %in = mono.load %room[0, 0] [1, 8] : tensor<1x8xf32>
    mono.store %in, %v[0, 0] : tensor<1x8xf32>
  }
}
)";

TEST_F(Dump, ShowsNothingOfAnotherRegion) {
  schedule = put("overlaid.mlir", kOverlaid);
  const std::string unwritten = ": f32 [1, 8], rows of 32 bytes from byte 0 of LDS on; this "
                                "workgroup has not written it\n";
  EXPECT_EQ(dump({"--dump=room@between:1"}),
            "region 'room' of rank 0, workgroup 1, behind task between:1" + unwritten);
  std::string out = dump({"--dump=room", "--break=keep:0"});
  EXPECT_TRUE(llvm::StringRef(out).ends_with(
      "region 'room' of rank 0, workgroup 0, where it stopped" + unwritten))
      << out;
  // Row 1 of x: 8 / 2 to 15 / 2.
  EXPECT_EQ(dump({"--dump=room@between:0"}),
            "region 'room' of rank 0, workgroup 0, behind task between:0: f32 [1, 8], rows of 32 "
            "bytes from byte 0 of LDS on\n    [0] 4 4.5 5 ... 6.5 7 7.5\n");
  EXPECT_EQ(dump({"--dump=room@between:1", "--dump-to=" + path("d.safetensors")}), "");
  auto dumped = SafetensorsFile::open(path("d.safetensors"));
  ASSERT_TRUE(bool(dumped)) << llvm::toString(dumped.takeError());
  for (uint8_t written : dumped->find("rank0/region/room/written")->data)
    EXPECT_EQ(written, 0u);
}

TEST_F(Dump, WritesFiles) {
  std::string file = path("dump.safetensors");
  EXPECT_EQ(dump({"--dump=box,room@keep:0", "--dump-to=" + file}), "");
  auto dumped = SafetensorsFile::open(file);
  ASSERT_TRUE(bool(dumped)) << llvm::toString(dumped.takeError());
  auto slot = dumped->get("rank0/mailbox/box/slot1", DType::F32, 2);
  auto launch = dumped->get("rank0/mailbox/box/slot1/launch", DType::U32, 1);
  auto region = dumped->get("rank0/region/room", DType::F32, 2);
  auto written = dumped->get("rank0/region/room/written", DType::Bool, 2);
  ASSERT_TRUE(slot && launch && region && written);
  EXPECT_EQ((*launch)->shape, (Shape{16}));
  for (unsigned n = 0; n < 16; ++n) {
    uint32_t expected = std::bit_cast<uint32_t>(float(n));
    EXPECT_EQ(llvm::support::endian::read32le(&(*slot)->data[4 * n]), expected);
    EXPECT_EQ(llvm::support::endian::read32le(&(*region)->data[4 * n]), expected);
    EXPECT_EQ(llvm::support::endian::read32le(&(*launch)->data[4 * n]), 1u);
    EXPECT_EQ((*written)->data[n], 1u);
  }
  EXPECT_EQ(dumped->metadata().at("posted_by.box"), "0 double");
}

TEST_F(Dump, NamesAreLookedUp) {
  fails(1,
        "kernel 'doubled' has no mailbox 'bax'; did you mean 'box'?; it has box; a region is shown "
        "behind a task: expected --dump=bax@STAGE:TASK for one",
        {"--dump=bax"});
  fails(1, "expected --dump=room@STAGE:TASK for one", {"--dump=room"});
  fails(1, "mailbox 'box' is shown at the end of the run: expected --dump=box without a place",
        {"--dump=box@keep:0"});
  fails(1, "has no mailbox or region 'rooms'; did you mean 'room'?; it has box, room, other",
        {"--dump=rooms@keep:0"});
  fails(1, "region 'room': expected where to stop for it, --dump=room@STAGE:TASK or --break",
        {"--dump=room,other@more:0"});
  fails(1, "has no stage 'kept'", {"--dump=room@kept:0"});
  fails(1, "expected a task of stage 'keep' from 0 to 0, but got '1'", {"--dump=room@keep:1"});
  fails(1,
        "region 'room' is used from stage 'keep' to stage 'keep': in stage 'more' its bytes may be "
        "another's",
        {"--dump=room@more:0"});
  fails(1, "--rank: expected a rank below 1, but got 1", {"--dump=box", "--rank=1"});
}

TEST_F(Dump, OptionsMustFit) {
  fails(2, "--dump: expected MAILBOX or REGION@STAGE:TASK, but got 'room@keep'",
        {"--dump=room@keep"});
  fails(2, "--dump: expected MAILBOX or REGION@STAGE:TASK, but got '@keep:0'", {"--dump=@keep:0"});
  fails(2, "--dump: expected one place to stop at, but got 'keep:0' and 'more:0'",
        {"--dump=room@keep:0,other@more:0"});
  fails(2, "--dump-to says where to write what is shown: expected --dump", {"--dump-to=f"});
  fails(2, "--rank says what to show of, or where to stop: expected --dump or --break",
        {"--rank=0"});
  fails(2, "--dump=REGION@STAGE:TASK and --break each say where to stop: give one of them",
        {"--dump=room@keep:0", "--break=keep:0"});
  fails(2,
        "--outputs is written at the end of a run, but --dump=REGION@STAGE:TASK stops it before: "
        "give one of them",
        {"--dump=room@keep:0", "--outputs=f"});
  fails(2, "--outputs is written at the end of a run, but --break stops it before",
        {"--break=keep:0", "--outputs=f"});
  fails(2, "--stats is about a whole run, but --break stops it before: give one of them",
        {"--break=keep:0", "--stats"});
  fails(2, "regions of LDS are shown by the emulator: expected --device=emu",
        {"--dump=room@keep:0", "--device=hip"});
}

TEST_F(Dump, TakesNoMailboxesOfAnySize) {
  std::string text = kSchedule;
  std::string box = "slots(2) [2, 8] : f32";
  schedule =
      put("large.mlir", text.replace(text.find(box), box.size(), "slots(2) [2097153, 8] : f32"));
  fails(1, "mailbox 'box': expected at most 67108864 bytes per slot for --dump, but got 134217792",
        {"--dump=box"});
}

} // namespace

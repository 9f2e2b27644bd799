// Lane movement of compiled kernels against what the CDNA4 ISA says of each instruction.
#include "test/runtime/kernels/device/Device.h"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

#include <functional>
#include <numeric>

using namespace mono::emu::test;

namespace {

class CrossLane : public KernelSuite {};
INSTANTIATE_KERNELS(CrossLane, "O0", "O3");

/// Source lane of lane l, or -1 if it has none.
using LaneMap = std::function<int(int)>;

void expectRow(const std::vector<u32> &out, unsigned row, const std::vector<u32> &in,
               const LaneMap &map, u32 without, const char *what) {
  for (int l = 0; l < 64; ++l) {
    int source = map(l);
    EXPECT_EQ(out[64 * row + unsigned(l)], source < 0 ? without : in[unsigned(source)])
        << what << ", lane " << l;
  }
}

TEST_P(CrossLane, DppPatterns) {
  Differential run("CrossLane", GetParam());
  std::vector<u32> in = randomIntegers<u32>(64, 101);
  auto din = run.input(in);
  auto dout = run.output<u32>(13 * 64);
  ASSERT_EQ(run.device("dppPatterns", {}, din, dout), "");
  std::vector<u32> out = run.read(dout);
  const u32 kept = ~0u;
  auto sameRow = [](int l, int source) {
    return l / 16 == source / 16 && source >= 0 ? source : -1;
  };
  expectRow(out, 0, in, [](int l) { return l ^ 3; }, kept, "quad_perm");
  expectRow(out, 1, in, [&](int l) { return sameRow(l, l + 1); }, kept, "row_shl:1");
  expectRow(out, 2, in, [&](int l) { return l % 16 < 3 ? -1 : l - 3; }, kept, "row_shr:3");
  expectRow(out, 3, in, [&](int l) { return l % 16 < 3 ? -1 : l - 3; }, 0, "row_shr:3 bound_ctrl");
  expectRow(out, 4, in, [](int l) { return l / 16 * 16 + (l + 11) % 16; }, kept, "row_ror:5");
  expectRow(out, 5, in, [](int l) { return l ^ 15; }, kept, "row_mirror");
  expectRow(out, 6, in, [](int l) { return l ^ 7; }, kept, "row_half_mirror");
  expectRow(out, 7, in, [](int l) { return l == 63 ? -1 : l + 1; }, kept, "wave_shl:1");
  expectRow(out, 8, in, [](int l) { return l - 1; }, kept, "wave_shr:1");
  expectRow(out, 9, in, [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; }, kept, "row_bcast:15");
  expectRow(out, 10, in, [](int l) { return l < 32 ? -1 : 31; }, kept, "row_bcast:31");
  expectRow(out, 11, in, [](int l) { return l / 16 * 16 + 7; }, kept, "row_newbcast:7");
  auto masked = [](int l) { return 0xa >> l / 16 & 0x5 >> l / 4 % 4 & 1 ? l ^ 15 : -1; };
  expectRow(out, 12, in, masked, kept, "row_mirror with masks");
}

TEST_P(CrossLane, DppReduce) {
  Differential run("CrossLane", GetParam());
  auto in = run.input(randomIntegers<u32>(256, 102));
  auto out = run.output<u32>(4);
  ASSERT_EQ(run.device("dppReduce", {.grid = {2, 1, 1}, .block = {128, 1, 1}}, in, out), "");
  for (unsigned wave = 0; wave < 4; ++wave)
    EXPECT_EQ(run.read(out)[wave],
              std::accumulate(&in.host[64 * wave], &in.host[64 * wave] + 64, 0u));
}

TEST_P(CrossLane, DsPermutes) {
  Differential run("CrossLane", GetParam());
  std::vector<u32> in = randomIntegers<u32>(64, 103), lanes(64);
  for (u32 l = 0; l < 64; ++l)
    lanes[l] = (l * 37 + 11) % 64; // a permutation: 37 is odd
  auto din = run.input(in), dlanes = run.input(lanes);
  auto dout = run.output<u32>(6 * 64);
  ASSERT_EQ(run.device("dsPermutes", {}, din, dlanes, dout), "");
  std::vector<u32> out = run.read(dout);
  expectRow(out, 0, in, [&](int l) { return int(lanes[unsigned(l)]); }, 0, "bpermute");
  auto pusher = [&](int l) {
    return int(std::find(lanes.begin(), lanes.end(), u32(l)) - lanes.begin());
  };
  expectRow(out, 1, in, pusher, 0, "permute");
  expectRow(out, 2, in, [](int l) { return l ^ 1; }, 0, "xor 1");
  expectRow(out, 3, in, [](int l) { return l ^ 16; }, 0, "xor 16");
  expectRow(out, 4, in, [](int l) { return (l & 32) | (l & 16) | 7; }, 0, "and 16, or 7");
  expectRow(out, 5, in, [](int l) { return (l & ~3) | ((l + 1) & 3); }, 0, "quad_perm");
}

TEST_P(CrossLane, PermlaneSwaps) {
  Differential run("CrossLane", GetParam());
  std::vector<u32> a = randomIntegers<u32>(64, 104), b = randomIntegers<u32>(64, 105);
  auto da = run.input(a), db = run.input(b);
  auto dout = run.output<u32>(4 * 64);
  ASSERT_EQ(run.device("permlaneSwaps", {}, da, db, dout), "");
  std::vector<u32> out = run.read(dout);
  for (unsigned l = 0; l < 64; ++l) {
    // Odd rows of the first trade places with even rows of the second; with 32, halves do.
    EXPECT_EQ(out[l], l & 16 ? b[l - 16] : a[l]);
    EXPECT_EQ(out[64 + l], l & 16 ? b[l] : a[l + 16]);
    EXPECT_EQ(out[128 + l], l & 32 ? b[l - 32] : a[l]);
    EXPECT_EQ(out[192 + l], l & 32 ? b[l] : a[l + 32]);
  }
}

TEST_P(CrossLane, VotesOfLiveLanes) {
  Differential run("CrossLane", GetParam());
  std::vector<u32> in = randomIntegers<u32>(64, 106);
  in[17] = 7; // live, so that readlane 17 is what the program means
  auto din = run.input(in);
  auto masks = run.output<u64>(1);
  auto counts = run.output<u32>(64), first = run.output<u32>(64);
  ASSERT_EQ(run.device("votes", {}, din, masks, counts, first), "");
  u64 mask = 0;
  int firstLive = -1;
  for (int l = 0; l < 64; ++l) {
    bool live = in[unsigned(l)] % 3 != 0;
    if (live && firstLive < 0)
      firstLive = l;
    mask |= u64(live && in[unsigned(l)] % 2 == 1) << l;
  }
  EXPECT_EQ(run.read(masks)[0], mask);
  auto gotCounts = run.read(counts), gotFirst = run.read(first);
  for (unsigned l = 0; l < 64; ++l) {
    bool live = in[l] % 3 != 0;
    u32 below = u32(std::popcount(mask & ((u64(1) << l) - 1)));
    EXPECT_EQ(gotCounts[l], live ? below : 0) << l;
    EXPECT_EQ(gotFirst[l], live ? in[unsigned(firstLive)] + in[17] : 0) << l;
  }
}

TEST_P(CrossLane, ClocksAndRandom) {
  Differential run("CrossLane", GetParam());
  std::vector<u32> in = randomIntegers<u32>(64, 107);
  auto din = run.input(in);
  auto random = run.output<u32>(64);
  auto elapsed = run.output<u64>(2);
  ASSERT_EQ(run.device("clocks", {}, din, random, elapsed), "");
  std::vector<u32> got = run.read(random);
  for (unsigned l = 0; l < 64; ++l)
    EXPECT_EQ(got[l], in[l] << 1 ^ (in[l] >> 31 ? 0xc5u : 0u));
  EXPECT_GE(run.read(elapsed)[0], 64u * 10) << "s_sleep 10 lasts about 640 clocks";
  EXPECT_GT(run.read(elapsed)[1], 0u);
}

/// Sum of products of the `width`-bit fields of x and y, signed or not.
u32 dotOf(u32 x, u32 y, unsigned width, bool isSigned, u32 sum) {
  for (unsigned bit = 0; bit < 32; bit += width) {
    u32 fx = x << (32 - width - bit), fy = y << (32 - width - bit);
    sum += isSigned ? u32((i32(fx) >> (32 - width)) * (i32(fy) >> (32 - width)))
                    : (fx >> (32 - width)) * (fy >> (32 - width));
  }
  return sum;
}

TEST_P(CrossLane, DotProducts) {
  Differential run("CrossLane", GetParam());
  std::vector<u32> a = randomIntegers<u32>(64, 108), b = randomIntegers<u32>(64, 109);
  auto da = run.input(a), db = run.input(b);
  auto dout = run.output<u32>(6 * 64);
  ASSERT_EQ(run.device("dotProducts", {}, da, db, dout), "");
  std::vector<u32> out = run.read(dout);
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(out[l], dotOf(a[l], b[l], 16, true, 5));
    EXPECT_EQ(out[64 + l], dotOf(a[l], b[l], 8, true, 7));
    EXPECT_EQ(out[128 + l], dotOf(a[l], b[l], 8, false, 9));
    EXPECT_EQ(out[192 + l], dotOf(a[l], b[l], 4, true, 11));
    EXPECT_EQ(out[256 + l], dotOf(a[l], b[l], 4, false, 13));
    EXPECT_EQ(out[320 + l], (a[l] & 15) * (b[l] & 15) + (a[l] >> 4 & 15) * (b[l] >> 4 & 15) + 2);
  }
}

} // namespace

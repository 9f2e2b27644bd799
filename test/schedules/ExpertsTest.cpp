// schedules/experts.mlir against loops over the choices of a batch.
#include "test/schedules/OneCall.h"

#include <algorithm>
#include <random>
#include <set>

using namespace mono;
using namespace mono::test;

namespace {

struct Shape {
  int rows, chosen, experts;
  bool isAlike = false; ///< all rows choose the same experts
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.chosen << " of " << s.experts << ", " << s.rows << (s.isAlike ? " like rows" : " rows");
}

class Experts : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.rows * 100 + s.chosen)};

  /// Experts of each row, rising.
  std::vector<int32_t> choose() {
    std::vector<int32_t> ids;
    for (int row = 0; row < s.rows; ++row) {
      std::set<int32_t> chosen;
      while (int(chosen.size()) < s.chosen)
        chosen.insert(int32_t(random() % s.experts));
      ids.insert(ids.end(), chosen.begin(), chosen.end());
    }
    for (size_t i = 0; s.isAlike && i < ids.size(); ++i)
      ids[i] = ids[i % s.chosen];
    return ids;
  }
};

TEST_P(Experts, GroupsOfABatch) {
  OneGpu gpu(R"(mono.import "schedules/experts.mlir"
mono.schedule @experts target("gfx950") grid(1 x 512) {
  %S = mono.param "S" in [1 to 8]
  %K = mono.param "K" in [1 to 8]
  %E = mono.param "E" in [1 to 256]
  %one = arith.constant 1 : index
  %pairs = arith.muli %S, %K : index
  %G = arith.addi %pairs, %one : index
  %C = arith.addi %K, %one : index
  %allPairs = arith.muli %S, %C : index
  %ids = mono.operand "ids" read [%S, %K] : i32
  %share = mono.operand "share" read [%S, %C] : f32
  %list = mono.operand "list" write [%G] : i32
  %weight = mono.operand "weight" write [%G, %S] : f32
  %pair = mono.operand "pair" write [%G, %S] : i32
  %place = mono.operand "place" write [%allPairs] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %i = mono.load %ids[0, 0] [%S, %K] : tensor<?x?xi32>
    %groups = mono.call @expert_groups(%i, %E, %pairs, %pairs)
      : (tensor<?x?xi32>, index, index, index) -> tensor<?xi32>
    mono.store %groups, %list[0] : tensor<?xi32>
    %shared = arith.index_cast %E : index to i32
    %all = tensor.splat %shared[%S, %C] : tensor<?x?xi32>
    %choices = tensor.insert_slice %i into %all[0, 0] [%S, %K] [1, 1] : tensor<?x?xi32> into tensor<?x?xi32>
    %by = mono.call @chosen_by(%groups, %choices, %G, %S, %C)
      : (tensor<?xi32>, tensor<?x?xi32>, index, index, index) -> tensor<?x?x?xi1>
    %w = mono.load %share[0, 0] [%S, %C] : tensor<?x?xf32>
    %gw = mono.call @group_weights(%by, %w, %G, %S, %C)
      : (tensor<?x?x?xi1>, tensor<?x?xf32>, index, index, index) -> tensor<?x?xf32>
    mono.store %gw, %weight[0, 0] : tensor<?x?xf32>
    %gp = mono.call @group_pairs(%by, %G, %S, %C) : (tensor<?x?x?xi1>, index, index, index) -> tensor<?x?xi32>
    mono.store %gp, %pair[0, 0] : tensor<?x?xi32>
    %pr = mono.call @pair_rows(%by, %G, %S, %C, %allPairs)
      : (tensor<?x?x?xi1>, index, index, index, index) -> tensor<?xi32>
    mono.store %pr, %place[0] : tensor<?xi32>
  }
})",
             {}, {{"S", s.rows}, {"K", s.chosen}, {"E", s.experts}});
  std::vector<int32_t> ids = choose();
  int choices = s.chosen + 1, groups = s.rows * s.chosen + 1;
  std::vector<float> share(s.rows * choices);
  std::uniform_real_distribution<float> any(0.1f, 1);
  for (float &value : share)
    value = any(random);
  gpu.write("ids", ids);
  gpu.write("share", share);
  gpu.launchOnAnyMemory();

  // The shared expert, then the distinct chosen ones.
  std::vector<int32_t> list{s.experts};
  std::set<int32_t> distinct(ids.begin(), ids.end());
  list.insert(list.end(), distinct.begin(), distinct.end());
  list.resize(groups, -1);
  EXPECT_EQ(gpu.read<int32_t>("list", groups), list);

  std::vector<float> weight(groups * s.rows, 0.0f);
  std::vector<int32_t> pair(groups * s.rows, -1), place(s.rows * choices, -1);
  for (int g = 0; g < groups; ++g)
    for (int row = 0; row < s.rows; ++row)
      for (int choice = 0; choice < choices; ++choice) {
        int expert = choice < s.chosen ? ids[row * s.chosen + choice] : s.experts;
        if (expert != list[g])
          continue;
        weight[g * s.rows + row] = share[row * choices + choice];
        pair[g * s.rows + row] = row * choices + choice;
        place[row * choices + choice] = g * s.rows + row;
      }
  EXPECT_EQ(gpu.read<float>("weight", weight.size()), weight);
  EXPECT_EQ(gpu.read<int32_t>("pair", pair.size()), pair);
  EXPECT_EQ(gpu.read<int32_t>("place", place.size()), place);
}

INSTANTIATE_TEST_SUITE_P(Batches, Experts,
                         testing::Values(Shape{4, 8, 256}, Shape{8, 8, 256}, Shape{1, 8, 256},
                                         Shape{8, 8, 256, true}, Shape{3, 2, 7}, Shape{8, 8, 9}));

/// Without a shared expert: the list alone, and as many entries as there are experts at most.
TEST(DistinctExperts, RiseAndEnd) {
  auto distinct = [](std::vector<int32_t> ids, const char *experts, int64_t most) {
    std::string pairs = std::to_string(ids.size());
    return OneCall("experts", "distinct_experts", {{"ids", {2, int64_t(ids.size() / 2)}, "i32"}},
                   {"ids", experts, pairs, std::to_string(most)}, {{"y", {most}, "i32"}})
        .with("ids", ids)
        .run()
        .result<int32_t>("y");
  };
  EXPECT_EQ(distinct({5, 9, 0, 5}, "16", 4), (std::vector<int32_t>{0, 5, 9, -1}));
  EXPECT_EQ(distinct({0, 1, 2, 0, 1, 2}, "3", 3), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(distinct({7, 7}, "8", 2), (std::vector<int32_t>{7, -1}));
}

/// The regions hold what the routines give that are called one by one above.
TEST(StoreGroups, FillTheRegions) {
  OneGpu gpu(R"(mono.import "schedules/experts.mlir"
mono.schedule @groups target("gfx950") grid(1 x 256) {
  %count = arith.constant 5 : index
  %rows = arith.constant 2 : index
  %chosen = arith.constant 3 : index
  %pairs = arith.constant 6 : index
  %groups = mono.operand "groups" read [5] : i32
  %choices = mono.operand "choices" read [2, 3] : i32
  %share = mono.operand "share" read [2, 3] : f32
  %weight = mono.operand "weight" write [5, 2] : f32
  %pair = mono.operand "pair" write [5, 2] : i32
  %place = mono.operand "place" write [6] : i32
  %rw = mono.region "rw" [5, 2] : f32
  %rp = mono.region "rp" [5, 2] : i32
  %rl = mono.region "rl" [6] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %g = mono.load %groups[0] [5] : tensor<5xi32>
    %c = mono.load %choices[0, 0] [2, 3] : tensor<2x3xi32>
    %w = mono.load %share[0, 0] [2, 3] : tensor<2x3xf32>
    mono.call @store_groups(%g, %c, %w, %rw, %rp, %rl, %count, %rows, %chosen, %pairs)
      : (tensor<5xi32>, tensor<2x3xi32>, tensor<2x3xf32>, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
    %a = mono.load %rw[0, 0] [5, 2] : tensor<5x2xf32>
    mono.store %a, %weight[0, 0] : tensor<5x2xf32>
    %b = mono.load %rp[0, 0] [5, 2] : tensor<5x2xi32>
    mono.store %b, %pair[0, 0] : tensor<5x2xi32>
    %d = mono.load %rl[0] [6] : tensor<6xi32>
    mono.store %d, %place[0] : tensor<6xi32>
  }
})");
  // The second row has chosen two experts: its last choice is past the end.
  gpu.write("groups", std::vector<int32_t>{2, 4, 7, 9, -1});
  gpu.write("choices", std::vector<int32_t>{4, 7, 9, 2, 4, 100});
  gpu.write("share", std::vector<float>{0.5f, 0.25f, 0.125f, 0.75f, 1.0f, 0.0f});
  gpu.launchOnAnyMemory();
  EXPECT_EQ(gpu.read<float>("weight", 10),
            (std::vector<float>{0, 0.75f, 0.5f, 1, 0.25f, 0, 0.125f, 0, 0, 0}));
  EXPECT_EQ(gpu.read<int32_t>("pair", 10),
            (std::vector<int32_t>{-1, 3, 0, 4, 1, -1, 2, -1, -1, -1}));
  EXPECT_EQ(gpu.read<int32_t>("place", 6), (std::vector<int32_t>{2, 4, 6, 1, 3, -1}));
}

} // namespace

// schedules/experts.mlir against loops over the choices of a batch.
#include "test/lowering/Device/OneGpu.h"

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
  gpu.launch();

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

} // namespace

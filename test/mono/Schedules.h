// Small schedules for tests of the public interface.
#pragma once

#include <string>

namespace mono::test {

/// y = FACTOR x on [ROWS, 64] f32, one rank.
inline std::string scaleSchedule(const std::string &factor = "2.0") {
  return R"(mono.schedule @scale target("gfx950") grid(4 x 64) {
  %ROWS = mono.param "ROWS" in [1 to 64]
  %x = mono.operand "x" read [%ROWS, 64] : f32
  %y = mono.operand "y" write [%ROWS, 64] : f32
  mono.stage "scale" (%t) tasks [%ROWS] base [0] {
    %row = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    %factor = arith.constant dense<)" +
         factor + R"(> : tensor<1x64xf32>
    %scaled = arith.mulf %row, %factor : tensor<1x64xf32>
    mono.store %scaled, %y[%t, 0] : tensor<1x64xf32>
  }
}
)";
}

/// y = sum of x over two ranks, [64] f32.
inline const char *const kSumSchedule = R"(mono.schedule @sum target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" write [64] : f32
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %part = mono.load %x[0] [64] : tensor<64xf32>
    mono.post %part to %parts[%rank, 0] : tensor<64xf32>
  }
  mono.stage "sum" (%t) tasks [1] base [0] {
    %sum = mono.receive %parts[0, 0] [2, 64] sum : tensor<64xf32>
    mono.store %sum, %y[0] : tensor<64xf32>
  }
}
)";

/// y = h w^T with w [16, 32] bf16 in mfma_rows<16>.
inline const char *const kProjectSchedule = R"(
mono.schedule @project target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [1, 32] : bf16
  %w = mono.operand "w" read weight [16, 32] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [1, 16] : f32
  mono.stage "project" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
    %p = mono.contract %h[0, 0] [1, 32], %s : tensor<1x16xf32>
    mono.store %p, %y[0, 0] : tensor<1x16xf32>
  }
}
)";

} // namespace mono::test

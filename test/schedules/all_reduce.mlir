// A routine made of a stage: inlined into the schedule, its shapes those of the caller.
// RUN: mono-opt %s --mono-bind-parameters="params=TP=4" --mono-check-schedule | FileCheck %s
// RUN: monoc %s -D TP=8 --report | FileCheck %s --check-prefix=REPORT

mono.import "../../schedules/collective.mlir"

// CHECK-LABEL: mono.schedule @shares
mono.schedule @shares target("gfx950") grid(16 x 64) {
  %TP = mono.param "TP" in [1, 2, 4, 8]
  %rank = mono.ranks [%TP]
  // CHECK: %h = mono.operand "h" read [2, 256] : bf16
  %h = mono.operand "h" read [2, 256] : bf16
  %x = mono.operand "x" read [2, 256] : bf16
  %y = mono.operand "y" write [2, 256] : bf16
  %z = mono.operand "z" write [2, 256] : bf16
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [%TP, 2, 256] : bf16
  %result = mono.mailbox "result" tagged scope(device) slots(1) [2, 256] : bf16
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %h[0, 0] [2, 256] : tensor<2x256xbf16>
    mono.post %v to %parts[%rank, 0, 0] : tensor<2x256xbf16>
  }
  %two = arith.constant 2 : index
  %width = arith.constant 32 : index
  %tasks = arith.constant 8 : index
  // CHECK: mono.stage "all_reduce" (%t) tasks [8] base [2]
  // CHECK: mono.receive %parts[0, 0, %t * 32] [4, 2, 32] sum : tensor<2x32xf32>
  // CHECK: mono.post %{{.*}} to %result[0, %t * 32] : tensor<2x32xbf16>
  mono.call @all_reduce_residual(%parts, %x, %y, %result, %TP, %two, %width, %tasks, %two)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.stage "end" (%t) tasks [1] base [15] {
    %v = mono.receive %result[0, 0] [2, 256] : tensor<2x256xbf16>
    mono.store %v, %z[0, 0] : tensor<2x256xbf16>
  }
}
// REPORT: all_reduce{{ +}}8

// Two-shot all-reduce: each rank adds up its share and hands it to all; the residual of
// schedules/collective.mlir behind it.
mono.import "../../../schedules/collective.mlir"

mono.schedule @two_shot target("gfx950") grid(6 x 64) {
  %R = mono.param "R" in [2, 4]
  %rank = mono.ranks [%R]
  %x = mono.operand "x" read [%R, 64] : f32
  %r = mono.operand "r" read [2, 128] : bf16
  %y = mono.operand "y" write [2, 128] : bf16
  %z = mono.operand "z" write [%R, 64] : f32
  %w = mono.operand "w" write [2, 128] : bf16
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [%R, %R, 64] : f32
  %sums = mono.mailbox "sums" tagged scope(peers) slots(2) [%R, 64] : f32
  %rows = mono.mailbox "rows" tagged scope(peers) slots(2) [%R, 2, 128] : bf16
  %result = mono.mailbox "result" tagged scope(device) slots(1) [2, 128] : bf16
  mono.stage "scatter" (%t) tasks [%R] base [0] {
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %parts[%rank, %t, 0] : tensor<1x64xf32>
  }
  mono.stage "share" (%t) tasks [1] base [5] {
    %v = mono.receive %parts[0, %rank, 0] [%R, 1, 64] sum : tensor<1x64xf32>
    mono.post %v to %sums[%rank, 0] : tensor<1x64xf32>
  }
  mono.stage "gather" (%t) tasks [%R] base [1] {
    %v = mono.receive %sums[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %z[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "post_rows" (%t) tasks [1] base [2] {
    %v = mono.load %r[0, 0] [2, 128] : tensor<2x128xbf16>
    mono.post %v to %rows[%rank, 0, 0] : tensor<2x128xbf16>
  }
  %two = arith.constant 2 : index
  %sixtyfour = arith.constant 64 : index
  mono.call @all_reduce_residual(%rows, %r, %y, %result, %R, %two, %sixtyfour, %two, %two)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.stage "copy" (%t) tasks [2] base [0] {
    %v = mono.receive %result[%t, 0] [1, 128] : tensor<1x128xbf16>
    mono.store %v, %w[%t, 0] : tensor<1x128xbf16>
  }
}

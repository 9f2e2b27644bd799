// An all-reduce over ranks: every rank posts its row to the mailboxes of all ranks and sums what it
// receives, in rank order, so that all ranks get the same bits.
mono.schedule @all_reduce target("gfx950") grid(4 x 64) {
  %R = mono.param "R" in [2, 4, 8]
  %rank = mono.ranks [%R]
  %x = mono.operand "x" read [256] : f32
  %y = mono.operand "y" write [256] : f32
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [%R, 256] : f32

  mono.stage "post" (%t) tasks [4] base [0] {
    %part = mono.load %x[%t * 64] [64] : tensor<64xf32>
    mono.post %part to %parts[%rank, %t * 64] : tensor<64xf32>
  }
  mono.stage "sum" (%t) tasks [4] base [0] {
    %sum = mono.receive %parts[0, %t * 64] [%R, 64] sum : tensor<64xf32>
    mono.store %sum, %y[%t * 64] : tensor<64xf32>
  }
}

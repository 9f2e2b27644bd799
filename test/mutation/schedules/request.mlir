// One slot: a rank that is ready says so, and only then is written to. One thread receives the
// request; the three wavefronts that have nothing to receive must not run ahead of it.
mono.schedule @request target("gfx950") grid(2 x 256) {
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [2, 512] : f32
  %y = mono.operand "y" write [2, 512] : f32
  %ready = mono.mailbox "ready" tagged scope(peers) slots(2) [2, 2, 2] : f32
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [2, 2, 512] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %one = arith.constant dense<1.0> : tensor<2xf32>
    mono.post %one to %ready[%rank, %t, 0] : tensor<2xf32>
    %go = mono.receive %ready[0, 0, 0] [2, 2, 2] sum : tensor<2x2xf32>
    %v = mono.load %x[%t, 0] [1, 512] : tensor<1x512xf32>
    mono.post %v to %data[%rank, %t, 0] : tensor<1x512xf32>
    %w = mono.receive %data[0, %t, 0] [2, 1, 512] sum : tensor<1x512xf32>
    mono.store %w, %y[%t, 0] : tensor<1x512xf32>
  }
}

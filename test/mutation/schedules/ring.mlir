// Each rank reads its left neighbour only: the news of a reader goes all the way round.
mono.schedule @ring target("gfx950") grid(2 x 128) {
  %rank = mono.ranks [3]
  %x = mono.operand "x" read [2, 128] : f32
  %y = mono.operand "y" write [2, 128] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(3) [3, 2, 128] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %v = mono.load %x[%t, 0] [1, 128] : tensor<1x128xf32>
    mono.post %v to %m[%rank, %t, 0] : tensor<1x128xf32>
    %w = mono.receive %m[(%rank + 2) mod 3, %t, 0] [1, 1, 128] sum : tensor<1x128xf32>
    mono.store %w, %y[%t, 0] : tensor<1x128xf32>
  }
}

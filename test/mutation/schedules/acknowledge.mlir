// One slot, freed by an acknowledgement in the same launch. The acknowledgement is four times as
// wide as the wavefronts that have something to receive.
mono.schedule @acknowledge target("gfx950") grid(3 x 256) {
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [128] : f32
  %y = mono.operand "y" write [2, 128] : f32
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [2, 128] : f32
  %seen = mono.mailbox "seen" tagged scope(device) slots(1) [2, 512] : f32
  %done = mono.mailbox "done" tagged scope(peers) slots(1) [2, 512] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %x[0] [128] : tensor<128xf32>
    mono.post %v to %data[%rank, 0] : tensor<128xf32>
  }
  mono.stage "read" (%t) tasks [2] base [1] {
    %w = mono.receive %data[0, 0] [2, 128] sum : tensor<128xf32>
    mono.store %w, %y[%t, 0] : tensor<128xf32>
    %one = arith.constant dense<1.0> : tensor<512xf32>
    mono.post %one to %seen[%t, 0] : tensor<512xf32>
  }
  mono.stage "collect" (%t) tasks [1] base [0] {
    %all = mono.receive %seen[0, 0] [2, 512] sum : tensor<512xf32>
    mono.post %all to %done[%rank, 0] : tensor<512xf32>
    %go = mono.receive %done[0, 0] [2, 512] sum : tensor<512xf32>
  }
}

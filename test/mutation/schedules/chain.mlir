// A chain through workgroups that have several tasks each, with receives in front of posts.
mono.schedule @chain target("gfx950") grid(3 x 128) {
  %x = mono.operand "x" read [256] : f32
  %y = mono.operand "y" update [7, 256] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8, 256] : f32
  mono.stage "start" (%t) tasks [1] base [2] {
    %v = mono.load %x[0] [256] : tensor<256xf32>
    mono.post %v to %m[0, 0] : tensor<256xf32>
  }
  mono.stage "chain" (%t) tasks [7] base [1] {
    %own = mono.load %y[%t, 0] [1, 256] : tensor<1x256xf32>
    %v = mono.receive %m[%t, 0] [1, 256] : tensor<1x256xf32>
    %sum = arith.addf %own, %v : tensor<1x256xf32>
    mono.post %sum to %m[%t + 1, 0] : tensor<1x256xf32>
    mono.store %sum, %y[%t, 0] : tensor<1x256xf32>
  }
}

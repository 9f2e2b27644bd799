// The smallest schedule: y = 2 x, one row a workgroup.
mono.schedule @scale target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [4, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32

  mono.stage "scale" (%t) tasks [4] base [0] {
    %row = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    %two = arith.constant dense<2.0> : tensor<1x64xf32>
    %doubled = arith.mulf %row, %two : tensor<1x64xf32>
    mono.store %doubled, %y[%t, 0] : tensor<1x64xf32>
  }
}

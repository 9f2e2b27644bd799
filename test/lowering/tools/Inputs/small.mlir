mono.schedule @small target("gfx950") grid(4 x 64) {
  %S = mono.param "S" in [1 to 8]
  %a = mono.operand "a" read [%S, 64] : f32
  %b = mono.operand "b" write [%S, 64] : f32
  mono.stage "copy" (%t) tasks [%S] base [0] {
    %x = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %x, %b[%t, 0] : tensor<1x64xf32>
  }
}

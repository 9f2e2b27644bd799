// LDS regions that follow each other in the same bytes, and a pinned one, on workgroups that run
// several tasks and skip stages.
mono.schedule @regions target("gfx950") grid(2 x 128) {
  %x = mono.operand "x" read [4, 256] : f32
  %y = mono.operand "y" write [4, 256] : f32
  %x_row = mono.operand "x_row" read [256] : f32
  %z = mono.operand "z" write [2, 4] : f32
  %w = mono.operand "w" write [2, 256] : f32
  %a = mono.region "a" [2, 256] pad(4) : f32
  %b = mono.region "b" [256] : f32 at 2048
  %c = mono.region "c" [4, 256] : f32
  mono.stage "fill" (%t) tasks [4] base [0] {
    %v = mono.load %x[%t, 0] [1, 256] : tensor<1x256xf32>
    mono.store %v, %a[%t floordiv 2, 0] : tensor<1x256xf32>
  }
  mono.stage "turn" (%t) tasks [4] base [0] {
    %left = mono.load %a[%t floordiv 2, 128] [1, 128] : tensor<1x128xf32>
    %right = mono.load %a[%t floordiv 2, 0] [1, 128] : tensor<1x128xf32>
    mono.store %left, %y[%t, 0] : tensor<1x128xf32>
    mono.store %right, %y[%t, 128] : tensor<1x128xf32>
  }
  mono.stage "sum" (%t) tasks [2] base [1] {
    %v = mono.load %x[0, 0] [4, 256] : tensor<4x256xf32>
    mono.store %v, %c[0, 0] : tensor<4x256xf32>
    %row = mono.load %x_row[0] [256] : tensor<256xf32>
    mono.store %row, %b[0] : tensor<256xf32>
    %rows = mono.load %c[0, 0] [4, 256] : tensor<4x256xf32>
    %zero = arith.constant 0.0 : f32
    %init = tensor.splat %zero : tensor<4xf32>
    %sum = linalg.reduce { arith.addf } ins(%rows : tensor<4x256xf32>) outs(%init : tensor<4xf32>)
      dimensions = [1]
    mono.store %sum, %z[%t, 0] : tensor<4xf32>
    %again = mono.load %b[0] [256] : tensor<256xf32>
    mono.store %again, %w[%t, 0] : tensor<256xf32>
  }
}

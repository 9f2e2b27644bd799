// RUN: mono-opt %s --mono-place-memory | FileCheck %s

// The largest first, equals in the order of the file: "short" at the bottom, "long" above it, and no
// place for "second" of stage "late", where "long" leaves two gaps. Another order has one.
// CHECK-LABEL: mono.schedule @gaps
// CHECK-SAME: mono.lds_bytes = 153600 : i64
// CHECK-SAME: mono.lds_lower_bound = 153600 : i64
mono.schedule @gaps target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [70, 256] : f32
  %y = mono.operand "y" write [4, 256] : f32
  %short = mono.region "short" [70, 256] : f32
  %long = mono.region "long" [70, 256] : f32
  %first = mono.region "first" [40, 256] : f32
  %second = mono.region "second" [40, 256] : f32
  mono.stage "early" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [70, 256] : tensor<70x256xf32>
    mono.store %v, %short[0, 0] : tensor<70x256xf32>
    mono.store %v, %long[0, 0] : tensor<70x256xf32>
    %o = mono.load %short[1, 0] [1, 256] : tensor<1x256xf32>
    mono.store %o, %y[0, 0] : tensor<1x256xf32>
  }
  mono.stage "late" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [40, 256] : tensor<40x256xf32>
    mono.store %v, %first[0, 0] : tensor<40x256xf32>
    mono.store %v, %second[0, 0] : tensor<40x256xf32>
    %o = mono.load %first[2, 0] [1, 256] : tensor<1x256xf32>
    mono.store %o, %y[1, 0] : tensor<1x256xf32>
    %p = mono.load %long[3, 0] [1, 256] : tensor<1x256xf32>
    mono.store %p, %y[2, 0] : tensor<1x256xf32>
    %q = mono.load %second[4, 0] [1, 256] : tensor<1x256xf32>
    mono.store %q, %y[3, 0] : tensor<1x256xf32>
  }
}

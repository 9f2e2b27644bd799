// A proof is what the compiler found, not what a file says of itself.
// RUN: mono-opt %s --mono-bind-parameters | FileCheck %s --implicit-check-not=mono.hears_all --implicit-check-not=mono.short_scratch

// CHECK: mono.params = {}
mono.schedule @notes target("gfx950") grid(1 x 64) attributes {mono.hears_all, mono.params = {S = 8 : i64}} {
  %n = arith.constant 2 : index
  %rank = mono.ranks [%n]
  %a = mono.operand "a" read [64] : f32
  %y = mono.operand "y" write [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] {mono.short_scratch} : tensor<64xf32>
    mono.store %v, %y[0] : tensor<64xf32>
  }
}

// Tensors made outside the stages are made anew in each stage that uses them, with all they need.
// RUN: mono-opt %s --mono-bind-parameters --mono-check-schedule | FileCheck %s

// CHECK-LABEL: mono.schedule @constants
// CHECK-NOT: tensor
// CHECK: mono.stage "first"
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<3.000000e+00> : tensor<64xf32>
// CHECK-NEXT: %[[E:.*]] = tensor.empty() : tensor<4x64xf32>
// CHECK-NEXT: %[[B:.*]] = linalg.broadcast ins(%[[C]] : tensor<64xf32>) outs(%[[E]] : tensor<4x64xf32>)
// CHECK-NEXT: mono.store %[[B]]
// CHECK: mono.stage "second"
// CHECK-NEXT: %[[D:.*]] = arith.constant dense<3.000000e+00> : tensor<64xf32>
// CHECK-NEXT: mono.store %[[D]]
// CHECK: mono.stage "third"
// CHECK-NEXT: }
mono.schedule @constants target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [4, 64] : f32
  %z = mono.operand "z" write [64] : f32
  %c = arith.constant dense<3.0> : tensor<64xf32>
  %unused = arith.addf %c, %c : tensor<64xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %b = linalg.broadcast ins(%c : tensor<64xf32>) outs(%e : tensor<4x64xf32>) dimensions = [0]
  mono.stage "first" (%t) tasks [1] base [0] {
    mono.store %b, %y[0, 0] : tensor<4x64xf32>
  }
  mono.stage "second" (%t) tasks [1] base [1] {
    mono.store %c, %z[0] : tensor<64xf32>
  }
  mono.stage "third" (%t) tasks [1] base [2] {
  }
}

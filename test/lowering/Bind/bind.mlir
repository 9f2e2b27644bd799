// Parameters become constants, routines are inlined, shapes become static.
// RUN: mono-opt %s --mono-bind-parameters="params=S=3,TP=2" | FileCheck %s

mono.import "Inputs/lib.mlir"

// CHECK-NOT: mono.routine
// CHECK-LABEL: mono.schedule @bound
// CHECK-SAME: mono.params = {D = 5 : i64, S = 3 : i64, TP = 2 : i64}
mono.schedule @bound target("gfx950") grid(4 x 64) {
  %S = mono.param "S" in [1 to 8]
  %TP = mono.param "TP" in [1, 2, 4, 8]
  %D = mono.param "D" in [1 to 8] default 5
  // CHECK: mono.ranks [2]
  %rank = mono.ranks [%TP]
  // CHECK: mono.operand "a" read [3, 512] : f32
  %a = mono.operand "a" read [%S, 1024 floordiv symbol(%TP)] : f32
  // CHECK: mono.operand "b" write [3, 128] : f32
  %b = mono.operand "b" write [%S, 128] : f32
  %thousand = arith.constant 1024 : index
  %half = arith.divui %thousand, %TP : index
  // CHECK: mono.operand "c" read [512, 5] : f32
  %c = mono.operand "c" read [%half, %D] : f32
  // CHECK: mono.stage "s" (%[[T:.*]]) tasks [4] base [0]
  mono.stage "s" (%t) tasks [%TP * 2] base [0] {
    // CHECK: %[[X:.*]] = mono.load %{{.*}}[0, %[[T]] * 128] [3, 128] : tensor<3x128xf32>
    %x = mono.load %a[0, %t * 128] [%S, 128] : tensor<?x128xf32>
    // CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]] : tensor<3x128xf32>
    // CHECK-NEXT: %[[Z:.*]] = arith.addf %[[Y]], %[[Y]] : tensor<3x128xf32>
    %z = mono.call @quadruple(%x) : (tensor<?x128xf32>) -> tensor<?x128xf32>
    // CHECK-NEXT: mono.store %[[Z]]
    mono.store %z, %b[0, 0] : tensor<?x128xf32>
  }
}

// Routines, calls and imports.
// RUN: mono-opt %s --verify-roundtrip | FileCheck %s

// CHECK: mono.import "Inputs/scale.mlir"
mono.import "Inputs/scale.mlir"

// CHECK-LABEL: mono.routine @double(%{{.*}}: tensor<?x?xf32>) -> tensor<?x?xf32>
mono.routine @double(%x : tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = arith.addf %x, %x : tensor<?x?xf32>
  // CHECK: mono.yield %{{.*}} : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// CHECK-LABEL: mono.schedule @calls
mono.schedule @calls target("gfx950") grid(1 x 64) {
  %S = mono.param "S" in [1 to 8]
  %in = mono.operand "in" read [%S, 128] : f32
  mono.stage "only" (%t) tasks [1] base [0] {
    %x = mono.load %in[0, 0] [%S, 128] : tensor<?x128xf32>
    // CHECK: mono.call @double(%{{.*}}) : (tensor<?x128xf32>) -> tensor<?x128xf32>
    %y = mono.call @double(%x) : (tensor<?x128xf32>) -> tensor<?x128xf32>
  }
}

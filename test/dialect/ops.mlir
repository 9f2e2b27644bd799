// Every op of a schedule parses, prints, and parses to the same again.
// RUN: mono-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: mono.schedule @copy target("gfx950") grid(256 x 512)
mono.schedule @copy target("gfx950") grid(256 x 512) {
  %x = mono.operand "x" read [4, 256] : f32
  %y = mono.operand "y" write [4, 256] : f32
  // CHECK: mono.stage "copy" (%[[T:.*]]) tasks [4] base [0]
  mono.stage "copy" (%t) tasks [4] base [0] {
    // CHECK: mono.load %{{.*}}[%[[T]], 0] [1, 256] : tensor<1x256xf32>
    %v = mono.load %x[%t, 0] [1, 256] : tensor<1x256xf32>
    // CHECK: mono.store %{{.*}}, %{{.*}}[%[[T]], 0] : tensor<1x256xf32>
    mono.store %v, %y[%t, 0] : tensor<1x256xf32>
  }
}

// CHECK-LABEL: mono.schedule @all
mono.schedule @all target("gfx950") grid(256 x 512) {
  // CHECK: mono.param "S" in [1 to 8]
  %S = mono.param "S" in [1 to 8]
  // CHECK: mono.param "TP" in [1, 2, 4, 8] default 1
  %TP = mono.param "TP" in [1, 2, 4, 8] default 1
  // CHECK: mono.ranks [%{{.*}}]
  %rank = mono.ranks [%TP]
  // CHECK: mono.operand "h" read [%{{.*}}, 2048] : bf16
  %h = mono.operand "h" read [%S, 2048] : bf16
  %x = mono.operand "x" read [%S, 6144] : bf16
  %y = mono.operand "y" write [%S, 6144] : bf16
  %w_o = mono.operand "w_o" read weight [6144, 2048] : bf16, #mono.mfma_rows<16>
  // CHECK: mono.operand "w" read weight [6144, 16384 floordiv symbol(%{{.*}})] : bf16, #mono.mfma_rows<16>
  %w_all = mono.operand "w" read weight [6144, 16384 floordiv symbol(%TP)] : bf16, #mono.mfma_rows<16>
  // CHECK: mono.mailbox "partial" tagged scope(peers) slots(2) [%{{.*}}, %{{.*}}, 6144] : bf16
  %sum = mono.mailbox "partial" tagged scope(peers) slots(2) [%TP, %S, 6144] : bf16
  %rows = mono.mailbox "rows" tagged scope(device) slots(1) [%S, 6144] : bf16
  %scores = mono.mailbox "scores" tagged scope(device) slots(1) [%S, 256] : f32
  // CHECK: mono.region "row" [%{{.*}}, 6144] pad(8) : bf16
  %row = mono.region "row" [%S, 6144] pad(8) : bf16
  // CHECK: mono.stage "o_proj"
  mono.stage "o_proj" (%t) tasks [192] base [0] {
    // CHECK: mono.stream %{{.*}}[%{{.*}} * 32, 0] [32, 2048] split_k(8)
    %w = mono.stream %w_o[%t * 32, 0] [32, 2048] split_k(8)
    // CHECK: mono.contract %{{.*}}[0, 0] [%{{.*}}, 2048], %{{.*}} : tensor<?x32xf32>
    %p = mono.contract %h[0, 0] [%S, 2048], %w : tensor<?x32xf32>
    %p16 = arith.truncf %p : tensor<?x32xf32> to tensor<?x32xbf16>
    // CHECK: mono.post %{{.*}} to %{{.*}}[%{{.*}}, 0, %{{.*}} * 32] : tensor<?x32xbf16>
    mono.post %p16 to %sum[%rank, 0, %t * 32] : tensor<?x32xbf16>
  }
  mono.stage "reduce" (%t) tasks [48] base [192] {
    %v = mono.load %x[0, %t * 128] [%S, 128] : tensor<?x128xbf16>
    // CHECK: mono.receive %{{.*}}[0, 0, %{{.*}} * 128] [%{{.*}}, %{{.*}}, 128] sum : tensor<?x128xf32>
    %s = mono.receive %sum[0, 0, %t * 128] [%TP, %S, 128] sum : tensor<?x128xf32>
    mono.store %v, %y[0, %t * 128] : tensor<?x128xbf16>
    mono.post %v to %rows[0, %t * 128] : tensor<?x128xbf16>
  }
  mono.stage "select" (%t) tasks [1] base [240] {
    // CHECK: mono.receive %{{.*}}[0, 0] [%{{.*}}, 6144] into %{{.*}}
    mono.receive %rows[0, 0] [%S, 6144] into %row
    %sigma = mono.receive %scores[0, 0] [%S, 256] : tensor<?x256xf32>
    %key = arith.addf %sigma, %sigma : tensor<?x256xf32>
    // CHECK: mono.select top [8] of %{{.*}} taking %{{.*}} : tensor<?x256xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    %ids, %weights = mono.select top [8] of %key taking %sigma
      : tensor<?x256xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
  }
}

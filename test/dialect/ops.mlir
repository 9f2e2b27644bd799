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
  %none = arith.constant 0 : index
  %rest = arith.remui %S, %TP : index
  %even = arith.cmpi eq, %rest, %none : index
  // CHECK: mono.require %{{.*}}, "expected TP to divide S"
  mono.require %even, "expected TP to divide S"
  // CHECK: mono.ranks [%{{.*}}]
  %rank = mono.ranks [%TP]
  // CHECK: mono.operand "h" read [%{{.*}}, 2048] : bf16
  %h = mono.operand "h" read [%S, 2048] : bf16
  %x = mono.operand "x" read [%S, 6144] : bf16
  %y = mono.operand "y" write [%S, 6144] : bf16
  // CHECK: mono.size %{{.*}} axis 1 : !mono.buffer
  %columns = mono.size %x axis 1 : !mono.buffer
  %w_o = mono.operand "w_o" read weight [6144, 2048] : bf16, #mono.mfma_rows<16>
  // CHECK: mono.operand "w" read weight [6144, 16384 floordiv symbol(%{{.*}})] : bf16, #mono.mfma_rows<16>
  %w_all = mono.operand "w" read weight [6144, 16384 floordiv symbol(%TP)] : bf16, #mono.mfma_rows<16>
  // CHECK: mono.mailbox "partial" tagged scope(peers) slots(2) [%{{.*}}, %{{.*}}, 6144] : bf16
  %sum = mono.mailbox "partial" tagged scope(peers) slots(2) [%TP, %S, 6144] : bf16
  %rows = mono.mailbox "rows" tagged scope(device) slots(1) [%S, 6144] : bf16
  %scores = mono.mailbox "scores" tagged scope(device) slots(1) [%S, 256] : f32
  // CHECK: mono.region "row" [%{{.*}}, 6144] pad(8) : bf16
  %row = mono.region "row" [%S, 6144] pad(8) : bf16
  // CHECK: mono.region "low" [%{{.*}}, 512] pad(8) : bf16 at 0
  %low = mono.region "low" [%S, 512] pad(8) : bf16 at 0
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

// Number formats that parameters choose, and codes with their scales.
// CHECK-LABEL: mono.schedule @formats
mono.schedule @formats target("gfx950") grid(256 x 512) {
  // CHECK: mono.param "ATTN" in [bf16, mxfp8] default bf16
  %ATTN = mono.param "ATTN" in [bf16, mxfp8] default bf16
  // CHECK: mono.operand "w" read weight [6144, 2048] : bf16 or f8E4M3FN if %{{.*}}, #mono.mfma_rows<16>
  %w_any = mono.operand "w" read weight [6144, 2048] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_m = mono.operand "w_m" read weight [32, 1024] : f8E4M3FN, #mono.mfma_rows<16>
  %w_m_scale = mono.operand "w_m_scale" read weight [32, 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_b = mono.operand "w_b" read weight [160, 1024] : f8E4M3FN, #mono.mfma_rows<16>
  %block_scale = mono.operand "block_scale" read weight [2, 8] : f32
  %codes = mono.region "codes" [4, 1024] pad(16) : f8E4M3FN
  %scales = mono.region "scales" [4, 32] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %m = mono.stream %w_m[0, 0] [32, 1024] scaled %w_m_scale split_k(8)
    // CHECK: mono.contract %{{.*}}[0, 0] [4, 1024] scaled %{{.*}}, %{{.*}} : tensor<4x32xf32>
    %z = mono.contract %codes[0, 0] [4, 1024] scaled %scales, %m : tensor<4x32xf32>
    // CHECK: mono.stream %{{.*}}[%{{.*}} * 32, 0] [32, 1024] scaled %{{.*}} split_k(8)
    %b = mono.stream %w_b[%t * 32, 0] [32, 1024] scaled %block_scale split_k(8)
  }
}

// CHECK-LABEL: mono.schedule @rows
mono.schedule @rows target("gfx950") grid(256 x 512) {
  // CHECK: mono.operand "w_up" read weight [8, 128, 1024] : f4E2M1FN, #mono.mfma_rows<16>
  %w_up = mono.operand "w_up" read weight [8, 128, 1024] : f4E2M1FN, #mono.mfma_rows<16>
  // CHECK: mono.operand "w_up_scale" read weight [8, 128, 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_up_scale = mono.operand "w_up_scale" read weight [8, 128, 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_one = mono.operand "w_one" read weight [128, 1024] : f4E2M1FN, #mono.mfma_rows<16>
  %w_one_scale = mono.operand "w_one_scale" read weight [128, 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %cache = mono.operand "cache" update [100, 128] : bf16
  %table = mono.operand "table" read [4, 25] : i32
  %list = mono.operand "list" read [8] : i32
  %rowMap = mono.operand "row_map" read [8, 4] : i32
  %x = mono.operand "x" read [8, 64] : bf16
  %parts = mono.mailbox "parts" tagged scope(device) slots(1) [2, 8, 128] : bf16
  %new = mono.region "new" [4, 128] pad(8) : bf16
  %keys = mono.region "keys" [8, 128] pad(8) : bf16
  %head = mono.region "head" [1, 8, 128] : bf16
  %u = mono.region "u" [16, 1024] pad(8) : bf16
  mono.stage "gather" (%t) tasks [1] base [0] {
    %ids = mono.load %list[0] [8] : tensor<8xi32>
    // CHECK: mono.distinct %{{.*}} : tensor<8xi32>{{$}}
    %at = mono.distinct %ids : tensor<8xi32>
    %four = tensor.extract_slice %at[0] [4] [1] : tensor<8xi32> to tensor<4xi32>
    // CHECK: mono.gather %{{.*}} or %{{.*}} places(%{{.*}} : tensor<4xi32>) at %{{.*}} into %{{.*}} : tensor<8xi32>{{$}}
    mono.gather %cache or %new places(%four : tensor<4xi32>) at %ids into %keys : tensor<8xi32>
    // CHECK: mono.gather %{{.*}} at %{{.*}} : tensor<8xi32> -> tensor<8xi32>
    %page = mono.gather %table at %ids : tensor<8xi32> -> tensor<8xi32>
    // CHECK: mono.gather %{{.*}} at %{{.*}} : tensor<8xi32> -> tensor<8x128xbf16>
    %rows = mono.gather %keys at %page : tensor<8xi32> -> tensor<8x128xbf16>
    // CHECK: mono.receive_rows %{{.*}} at %{{.*}} into %{{.*}} : tensor<8xi32>
    mono.receive_rows %parts at %ids into %keys : tensor<8xi32>
    // Axes of one element count for nothing.
    // CHECK: mono.receive %{{.*}}[1, 0, 0] [1, 8, 128] into %{{.*}}
    mono.receive %parts[1, 0, 0] [1, 8, 128] into %keys
    // CHECK: mono.receive %{{.*}}[0, 0, 0] [1, 8, 128] into %{{.*}}
    mono.receive %parts[0, 0, 0] [1, 8, 128] into %head
    %v = mono.load %x[0, 0] [8, 64] : tensor<8x64xbf16>
    // CHECK: mono.scatter %{{.*}}, %{{.*}}[64] at %{{.*}} : tensor<8x64xbf16>, tensor<8xi32>
    mono.scatter %v, %cache[64] at %ids : tensor<8x64xbf16>, tensor<8xi32>
  }
  mono.stage "experts" (%t) tasks [4] base [0] {
    %ids = mono.load %list[0] [8] : tensor<8xi32>
    // CHECK: mono.stream %{{.*}}[0, %{{.*}} * 32, 0] [8, 32, 1024] scaled %{{.*}} groups(%{{.*}} : tensor<8xi32>) split_k(8)
    %e = mono.stream %w_up[0, %t * 32, 0] [8, 32, 1024] scaled %w_up_scale groups(%ids : tensor<8xi32>) split_k(8)
    %map = mono.load %rowMap[0, 0] [8, 4] : tensor<8x4xi32>
    // CHECK: mono.contract %{{.*}}[0, 0] [16, 1024] rows(%{{.*}} : tensor<8x4xi32>), %{{.*}} : tensor<4x32xf32>
    %y = mono.contract %u[0, 0] [16, 1024] rows(%map : tensor<8x4xi32>), %e : tensor<4x32xf32>
    // CHECK: mono.stream %{{.*}}[%{{.*}} * 32, 0] [32, 1024] scaled %{{.*}} split_k(8)
    %f = mono.stream %w_one[%t * 32, 0] [32, 1024] scaled %w_one_scale split_k(8)
    // CHECK: mono.contract %{{.*}}[0, 0] [16, 1024], %{{.*}} : tensor<16x32xf32>
    %z = mono.contract %u[0, 0] [16, 1024], %f : tensor<16x32xf32>
  }
}

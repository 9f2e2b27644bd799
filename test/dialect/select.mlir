// mono.select parses, prints, and parses to the same again; each broken rule has its message.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --verify-roundtrip | FileCheck %s

// CHECK-LABEL: mono.schedule @select
mono.schedule @select target("gfx950") grid(1 x 512) {
  %K = mono.param "K" in [1 to 64]
  %S = mono.param "S" in [1 to 8]
  %a = mono.operand "a" read [%S, 256] : f32
  %b = mono.operand "b" read [1, 16384] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %key = mono.load %a[0, 0] [%S, 256] : tensor<?x256xf32>
    %sigma = mono.load %a[0, 0] [%S, 256] : tensor<?x256xf32>
    // CHECK: mono.select top [8] of %{{.*}} taking %{{.*}} : tensor<?x256xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    %ids, %weights = mono.select top [8] of %key taking %sigma
      : tensor<?x256xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    %score = mono.load %b[0, 0] [1, 16384] : tensor<1x16384xf32>
    // CHECK: mono.select top [%{{.*}}] of %{{.*}} : tensor<1x16384xf32> -> tensor<1x?xi32>
    %rows = mono.select top [%K] of %score : tensor<1x16384xf32> -> tensor<1x?xi32>
    // CHECK: mono.select top [%{{.*}} * 32] of %{{.*}} : tensor<1x16384xf32> -> tensor<1x?xi32>
    %more = mono.select top [%K * 32] of %score : tensor<1x16384xf32> -> tensor<1x?xi32>
  }
}

// -----

mono.schedule @keys target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [128] : tensor<128xf32>
    // expected-error @below {{expected keys of 2 axes (rows, candidates), but got 'tensor<128xf32>'}}
    %i = mono.select top [8] of %v : tensor<128xf32> -> tensor<8xi32>
  }
}

// -----

mono.schedule @two_ks target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 128] : tensor<1x128xf32>
    // expected-error @below {{expected one k, but got 2}}
    %i = mono.select top [8, 8] of %v : tensor<1x128xf32> -> tensor<1x8xi32>
  }
}

// -----

mono.schedule @no_k target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 128] : tensor<1x128xf32>
    // expected-error @below {{expected a k in [1, 4096], but got 0}}
    %i = mono.select top [0] of %v : tensor<1x128xf32> -> tensor<1x0xi32>
  }
}

// -----

mono.schedule @large_k target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [1, 8192] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 8192] : tensor<1x8192xf32>
    // expected-error @below {{expected a k in [1, 4096], but got 4097}}
    %i = mono.select top [4097] of %v : tensor<1x8192xf32> -> tensor<1x4097xi32>
  }
}

// -----

mono.schedule @result target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 128] : tensor<1x128xf32>
    // expected-error @below {{expected result type 'tensor<1x8xi32>', but got 'tensor<1x9xi32>'}}
    %i = mono.select top [8] of %v : tensor<1x128xf32> -> tensor<1x9xi32>
  }
}

// -----

mono.schedule @values_alone target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 128] : tensor<1x128xf32>
    // expected-error @below {{expected a tensor of values exactly where there is a payload, but got values alone}}
    %i, %w = mono.select top [8] of %v : tensor<1x128xf32> -> tensor<1x8xi32>, tensor<1x8xf32>
  }
}

// -----

mono.schedule @payload_alone target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 128] : tensor<1x128xf32>
    // expected-error @below {{expected a tensor of values exactly where there is a payload, but got a payload alone}}
    %i = mono.select top [8] of %v taking %v : tensor<1x128xf32> -> tensor<1x8xi32>
  }
}

// -----

mono.schedule @other_payload target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 128] : f32
  %b = mono.operand "b" read [1, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 128] : tensor<1x128xf32>
    %p = mono.load %b[0, 0] [1, 64] : tensor<1x64xf32>
    // expected-error @below {{expected a payload of 'tensor<1x128xf32>', the type of the keys, but got 'tensor<1x64xf32>'}}
    %i, %w = "mono.select"(%v, %p) <{k = affine_map<() -> (8)>, operandSegmentSizes = array<i32: 0, 1, 1>}>
      : (tensor<1x128xf32>, tensor<1x64xf32>) -> (tensor<1x8xi32>, tensor<1x8xf32>)
  }
}

// -----

mono.schedule @many_keys target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [2, 32776] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [2, 32776] : tensor<2x32776xf32>
    // expected-error @below {{expected at most 65536 keys and entries of payload in the registers of 512 threads, but got 65552 (let several workgroups select, then select from what they found)}}
    %i = mono.select top [8] of %v : tensor<2x32776xf32> -> tensor<2x8xi32>
  }
}

// -----

mono.schedule @few_threads target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 4097] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 4097] : tensor<1x4097xf32>
    // expected-error @below {{expected at most 8192 keys and entries of payload in the registers of 64 threads, but got 8194}}
    %i, %w = mono.select top [8] of %v taking %v : tensor<1x4097xf32> -> tensor<1x8xi32>, tensor<1x8xf32>
  }
}

// Each case breaks one rule of mono.gather, mono.distinct, mono.scatter or mono.receive_rows.
// RUN: mono-opt %s -split-input-file -verify-diagnostics

mono.schedule @index_axes target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %i = mono.operand "i" read [2, 2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0, 0] [2, 2] : tensor<2x2xi32>
    // expected-error @below {{expected indices of 1 axis, but got 2}}
    %v = mono.gather %a at %rows : tensor<2x2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @packed_source target("gfx950") grid(1 x 64) {
  // expected-note @below {{declared here}}
  %a = mono.operand "a" read [16, 32] : bf16, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected operand 'a' in layout #mono.row_major, but got #mono.mfma_rows<16> (packed weights go through mono.stream)}}
    %v = mono.gather %a at %rows : tensor<2xi32> -> tensor<2x32xbf16>
  }
}

// -----

mono.schedule @gathered_twice target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected either a result or 'into'}}
    %v = mono.gather %a at %rows into %r : tensor<2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @gathered_nowhere target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected either a result or 'into'}}
    mono.gather %a at %rows : tensor<2xi32>
  }
}

// -----

mono.schedule @gather_of_an_output target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" write [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected an operand that may be read, but operand 'a' is declared 'write'}}
    %v = mono.gather %a at %rows : tensor<2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @fresh_operand target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %n = mono.operand "n" read [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  %p = mono.operand "p" read [4] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %new = mono.load %p[0] [4] : tensor<4xi32>
    // expected-error @below {{expected a region with rows like those of operand 'a' after 'or', but got operand 'n'}}
    %v = mono.gather %a or %n places(%new : tensor<4xi32>) at %rows : tensor<2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @fresh_columns target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %n = mono.region "n" [4, 32] : f32
  %i = mono.operand "i" read [2] : i32
  %p = mono.operand "p" read [4] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %new = mono.load %p[0] [4] : tensor<4xi32>
    // expected-error @below {{expected a region with rows like those of operand 'a' after 'or', but got region 'n'}}
    %v = mono.gather %a or %n places(%new : tensor<4xi32>) at %rows : tensor<2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @fresh_element target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %n = mono.region "n" [4, 64] : i32
  %i = mono.operand "i" read [2] : i32
  %p = mono.operand "p" read [4] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %new = mono.load %p[0] [4] : tensor<4xi32>
    // expected-error @below {{expected a region with rows like those of operand 'a' after 'or', but got region 'n'}}
    %v = mono.gather %a or %n places(%new : tensor<4xi32>) at %rows : tensor<2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @fresh_elements target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %n = mono.region "n" [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  %p = mono.operand "p" read [4] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %new = mono.load %p[0] [4] : tensor<4xi32>
    // expected-error @below {{expected whole rows with 'or', but got a result of 1 axis}}
    %v = mono.gather %a or %n places(%new : tensor<4xi32>) at %rows : tensor<2xi32> -> tensor<2xf32>
  }
}

// -----

mono.schedule @places_of_other_rows target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %n = mono.region "n" [2, 3, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected a place for each row of region 'n', but got 2 for 6}}
    %v = mono.gather %a or %n places(%rows : tensor<2xi32>) at %rows : tensor<2xi32> -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @rows_without_places target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %n = mono.region "n" [2, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected a region of rows and their places, or neither}}
    %v = "mono.gather"(%a, %n, %rows) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}> : (!mono.buffer, !mono.buffer, tensor<2xi32>) -> tensor<2x64xf32>
  }
}

// -----

mono.schedule @axes_of_places target("gfx950") grid(1 x 64) {
  %i = mono.operand "i" read [2, 2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0, 0] [2, 2] : tensor<2x2xi32>
    // expected-error @below {{expected indices of 1 axis, but got 2}}
    %v = mono.distinct %rows : tensor<2x2xi32>
  }
}

// -----

mono.schedule @too_many_places target("gfx950") grid(1 x 64) {
  %i = mono.operand "i" read [257] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [257] : tensor<257xi32>
    // expected-error @below {{expected at most 256 places, but got 257}}
    %v = mono.distinct %rows : tensor<257xi32>
  }
}

// -----

mono.schedule @gather_result target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected result type 'tensor<2x64xf32>', but got 'tensor<2x32xf32>'}}
    %v = mono.gather %a at %rows : tensor<2xi32> -> tensor<2x32xf32>
  }
}

// -----

mono.schedule @into_an_operand target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %b = mono.operand "b" write [2, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected a region after 'into', but got operand 'b'}}
    mono.gather %a at %rows into %b : tensor<2xi32>
  }
}

// -----

mono.schedule @into_other_elements target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %r = mono.region "r" [2, 64] : bf16
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected 'f32' in region 'r', but got 'bf16'}}
    mono.gather %a at %rows into %r : tensor<2xi32>
  }
}

// -----

mono.schedule @into_other_rows target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %r = mono.region "r" [3, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected a region of one row for each index, but region 'r' has another shape}}
    mono.gather %a at %rows into %r : tensor<2xi32>
  }
}

// -----

mono.schedule @scatter_rows target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" update [4, 64] : f32
  %x = mono.operand "x" read [3, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %v = mono.load %x[0, 0] [3, 64] : tensor<3x64xf32>
    // expected-error @below {{expected a value of 2 axes with one row for each index, but got 'tensor<3x64xf32>'}}
    mono.scatter %v, %a[0] at %rows : tensor<3x64xf32>, tensor<2xi32>
  }
}

// -----

mono.schedule @scatter_to_an_output target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" write [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %v = arith.constant dense<0.0> : tensor<2x64xf32>
    // expected-error @below {{expected an operand declared 'update', but got operand 'a'}}
    mono.scatter %v, %a[0] at %rows : tensor<2x64xf32>, tensor<2xi32>
  }
}

// -----

mono.schedule @scatter_to_a_region target("gfx950") grid(1 x 64) {
  %a = mono.region "a" [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %v = arith.constant dense<0.0> : tensor<2x64xf32>
    // expected-error @below {{expected an operand declared 'update', but got region 'a'}}
    mono.scatter %v, %a[0] at %rows : tensor<2x64xf32>, tensor<2xi32>
  }
}

// -----

mono.schedule @scatter_element target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" update [4, 64] : bf16
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %v = arith.constant dense<0.0> : tensor<2x64xf32>
    // expected-error @below {{expected 'bf16' for operand 'a', but got 'f32'}}
    mono.scatter %v, %a[0] at %rows : tensor<2x64xf32>, tensor<2xi32>
  }
}

// -----

mono.schedule @scatter_offsets target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" update [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %v = arith.constant dense<0.0> : tensor<2x64xf32>
    // expected-error @below {{expected one offset, the first column, but got 2}}
    mono.scatter %v, %a[0, 0] at %rows : tensor<2x64xf32>, tensor<2xi32>
  }
}

// -----

mono.schedule @scatter_columns target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" update [4, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    %v = arith.constant dense<0.0> : tensor<2x64xf32>
    // expected-error @below {{expected columns inside operand 'a', but got 32 to 96 of 64}}
    mono.scatter %v, %a[32] at %rows : tensor<2x64xf32>, tensor<2xi32>
  }
}

// -----

mono.schedule @odd_rows target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : bf16
  %r = mono.region "r" [2, 64] : f32
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected 'bf16' in region 'r', but got 'f32'}}
    mono.receive_rows %m at %rows into %r : tensor<2xi32>
  }
}

// -----

mono.schedule @received_index_axes target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : bf16
  %r = mono.region "r" [4, 64] : bf16
  %i = mono.operand "i" read [2, 2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0, 0] [2, 2] : tensor<2x2xi32>
    // expected-error @below {{expected indices of 1 axis, but got 2}}
    mono.receive_rows %m at %rows into %r : tensor<2x2xi32>
  }
}

// -----

mono.schedule @received_rows target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 2, 64] : bf16
  %r = mono.region "r" [2, 2, 64] : bf16
  %i = mono.operand "i" read [4] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.load %i[0] [4] : tensor<4xi32>
    // expected-error @below {{expected a region of one row for each index, but region 'r' has another shape}}
    mono.receive_rows %m at %rows into %r : tensor<4xi32>
  }
}

// -----

mono.schedule @received_box target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 4, 64] : bf16
  %r = mono.region "r" [4, 2, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // The same number of elements, but other rows.
    // expected-error @below {{expected a box of the shape of region 'r', [4, 2, 64] but for axes of 1, but got [2, 4, 64]}}
    mono.receive %m[0, 0, 0] [2, 4, 64] into %r
  }
}

// LDS read before it was written, or where another workgroup wrote it.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

mono.schedule @never_written target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here; no stage with tasks writes it}}
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [2] {
    // expected-error @below {{task 0 of stage 's' on workgroup 2 reads element [0, 0] of region 'r', which this workgroup has not written in this launch}}
    %v = mono.load %r[0, 0] [2, 64] : tensor<2x64xf32>
  }
}

// -----

mono.schedule @written_in_part target("gfx950") grid(4 x 64) {
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{stage 's' writes other elements here}}
    mono.store %c, %r[0, 0] : tensor<64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [1, 0] of region 'r', which this workgroup has not written in this launch}}
    %v = mono.load %r[0, 0] [2, 64] : tensor<2x64xf32>
  }
}

// -----

// As sglang 37287 the other way round: the reader sits before the writer.
mono.schedule @written_after_it_is_read target("gfx950") grid(4 x 64) {
  %r = mono.region "r" [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [0] of region 'r', which this workgroup has not written in this launch}}
    %v = mono.load %r[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 's' writes it here, but later in the file}}
    mono.store %v, %r[0] : tensor<64xf32>
  }
}

// -----

// The base of the second stage is one off: its last workgroup never ran the first.
mono.schedule @written_by_another_workgroup target("gfx950") grid(4 x 64) {
  %r = mono.region "r" [64] : f32
  mono.stage "fill" (%t) tasks [2] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{stage 'fill' writes it here, on workgroups 0 to 1; stages of the same base and number of tasks have the same workgroups}}
    mono.store %c, %r[0] : tensor<64xf32>
  }
  mono.stage "use" (%t) tasks [2] base [1] {
    // expected-error @below {{task 1 of stage 'use' on workgroup 2 reads element [0] of region 'r', which this workgroup has not written in this launch}}
    %v = mono.load %r[0] [64] : tensor<64xf32>
  }
}

// -----

// The second stage has tasks on workgroups that the first has none on.
mono.schedule @written_by_too_few_workgroups target("gfx950") grid(4 x 64) {
  %r = mono.region "r" [64] : f32
  mono.stage "fill" (%t) tasks [3] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{stage 'fill' writes it here, on workgroups 0 to 2; stages of the same base and number of tasks have the same workgroups}}
    mono.store %c, %r[0] : tensor<64xf32>
  }
  mono.stage "use" (%t) tasks [4] base [0] {
    // expected-error @below {{task 3 of stage 'use' on workgroup 3 reads element [0] of region 'r'}}
    %v = mono.load %r[0] [64] : tensor<64xf32>
  }
}

// -----

// Each task fills its own row, and task 0 already reads the row of task 1.
mono.schedule @row_of_a_later_task target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{stage 's' writes it here, by task 1 on workgroup 0}}
    mono.store %c, %r[%t, 0] : tensor<64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [1, 0] of region 'r'}}
    %v = mono.load %r[1 - %t, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Rank 0 writes row 0 and reads it; rank 1 writes row 1 and reads row 0.
mono.schedule @row_of_another_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{stage 's' writes other elements here}}
    mono.store %c, %r[%rank, 0] : tensor<64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 of rank 1 reads element [0, 0] of region 'r'}}
    %v = mono.load %r[0, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// The contraction reads a column block that the copy left out.
mono.schedule @contraction_of_an_unwritten_block target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : bf16
  %w = mono.operand "w" read weight [16, 128] : bf16, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.stream %w[0, 0] [16, 128] split_k(1)
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xbf16>
    // expected-note @below {{stage 's' writes other elements here}}
    mono.store %v, %r[0, 0] : tensor<4x64xbf16>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [0, 64] of region 'r'}}
    %y = mono.contract %r[0, 0] [4, 128], %rows : tensor<4x16xf32>
  }
}

// -----

// A product reads two boxes.
mono.schedule @product_second_factor target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [16, 32] : bf16
  %y = mono.operand "y" write [16, 16] : f32
  %a = mono.region "a" [16, 32] : bf16
  %b = mono.region "b" [32, 32] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [16, 32] : tensor<16x32xbf16>
    mono.store %v, %a[0, 0] : tensor<16x32xbf16>
    // expected-note @below {{stage 's' writes other elements here}}
    mono.store %v, %b[0, 0] : tensor<16x32xbf16>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [16, 0] of region 'b', which this workgroup has not written in this launch}}
    %p = mono.product %a[0, 0] [16, 32], %b[1, 0] [16, 32] : tensor<16x16xf32>
    mono.store %p, %y[0, 0] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @product_first_factor target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [16, 32] : bf16
  %y = mono.operand "y" write [16, 16] : f32
  // expected-note @below {{declared here; no stage with tasks writes it}}
  %a = mono.region "a" [16, 32] : bf16
  %b = mono.region "b" [16, 32] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [16, 32] : tensor<16x32xbf16>
    mono.store %v, %b[0, 0] : tensor<16x32xbf16>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [0, 0] of region 'a', which this workgroup has not written in this launch}}
    %p = mono.product %a[0, 0] [16, 32], %b[0, 0] [16, 32] : tensor<16x16xf32>
    mono.store %p, %y[0, 0] : tensor<16x16xf32>
  }
}

// -----

// A gather may want any row of a region.
mono.schedule @gather_of_a_part target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [3, 32] : f32
  %ids = mono.operand "ids" read [2] : i32
  %y = mono.operand "y" write [2, 32] : f32
  %a = mono.region "a" [4, 32] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [3, 32] : tensor<3x32xf32>
    // expected-note @below {{stage 's' writes other elements here}}
    mono.store %v, %a[0, 0] : tensor<3x32xf32>
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [3, 0] of region 'a', which this workgroup has not written in this launch}}
    %g = mono.gather %a at %i : tensor<2xi32> -> tensor<2x32xf32>
    mono.store %g, %y[0, 0] : tensor<2x32xf32>
  }
}

// -----

mono.schedule @fresh_rows_of_nobody target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [3, 32] : f32
  %ids = mono.operand "ids" read [2] : i32
  %at = mono.operand "at" read [4] : i32
  %y = mono.operand "y" write [2, 32] : f32
  // expected-note @below {{declared here; no stage with tasks writes it}}
  %new = mono.region "new" [4, 32] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %p = mono.load %at[0] [4] : tensor<4xi32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 reads element [0, 0] of region 'new', which this workgroup has not written in this launch}}
    %g = mono.gather %x or %new places(%p : tensor<4xi32>) at %i : tensor<2xi32> -> tensor<2x32xf32>
    mono.store %g, %y[0, 0] : tensor<2x32xf32>
  }
}

// -----

// Task 4 runs on the workgroup of task 0, whose row nobody has read yet.
mono.schedule @row_lost_to_the_next_task target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [8, 64] : f32
  %y = mono.operand "y" write [8, 64] : f32
  %row = mono.region "row" [1, 64] : f32
  mono.stage "fill" (%t) tasks [8] base [0] {
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{written over here; workgroup 0 runs one task in 4 of the stage: give each its own box of the region, or read it in the same stage}}
    mono.store %v, %row[0, 0] : tensor<1x64xf32>
  }
  mono.stage "use" (%t) tasks [8] base [0] {
    // expected-error @below {{task 0 of stage 'use' on workgroup 0 reads element [0, 0] of region 'row', where task 4 of stage 'fill' wrote over what an earlier task of it had written and nobody had read}}
    %v = mono.load %row[0, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Rows that overlap by one element.
mono.schedule @element_lost_to_the_next_task target("gfx950") grid(1 x 64) {
  %y = mono.operand "y" write [127] : f32
  %r = mono.region "r" [127] : f32
  mono.stage "fill" (%t) tasks [2] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{written over here}}
    mono.store %c, %r[%t * 63] : tensor<64xf32>
  }
  mono.stage "use" (%t) tasks [1] base [0] {
    // expected-error @below {{task 0 of stage 'use' on workgroup 0 reads element [63] of region 'r', where task 1 of stage 'fill' wrote over}}
    %v = mono.load %r[0] [127] : tensor<127xf32>
    mono.store %v, %y[0] : tensor<127xf32>
  }
}

// -----

// Right ones: a row of its own for each task of a workgroup; a row that is read before the next task
// writes it; a sum over the tasks; a region that one stage clears and another fills in part; what is
// lost and then written by a later stage before anybody reads it.
mono.schedule @every_value_is_read target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [8, 64] : f32
  %y = mono.operand "y" write [8, 64] : f32
  %z = mono.operand "z" write [8, 64] : f32
  %w = mono.operand "w" write [4, 2, 64] : f32
  %own = mono.region "own" [2, 64] : f32
  %row = mono.region "row" [64] : f32
  %sum = mono.region "sum" [1, 64] : f32
  %part = mono.region "part" [2, 64] : f32
  mono.stage "clear" (%t) tasks [4] base [0] {
    %c = arith.constant dense<0.0> : tensor<64xf32>
    %cc = arith.constant dense<0.0> : tensor<2x64xf32>
    mono.store %c, %sum[0, 0] : tensor<64xf32>
    mono.store %cc, %part[0, 0] : tensor<2x64xf32>
  }
  mono.stage "fill" (%t) tasks [8] base [0] {
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %own[%t floordiv 4, 0] : tensor<1x64xf32>
    %c = tensor.collapse_shape %v [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    mono.store %c, %row[0] : tensor<64xf32>
    %u = mono.load %row[0] [64] : tensor<64xf32>
    mono.store %u, %z[%t, 0] : tensor<64xf32>
    %s = mono.load %sum[0, 0] [1, 64] : tensor<1x64xf32>
    %next = arith.addf %s, %v : tensor<1x64xf32>
    mono.store %next, %sum[0, 0] : tensor<1x64xf32>
    mono.store %v, %part[1, 0] : tensor<1x64xf32>
  }
  mono.stage "again" (%t) tasks [4] base [0] {
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %part[1, 0] : tensor<1x64xf32>
  }
  mono.stage "use" (%t) tasks [8] base [0] {
    %v = mono.load %own[%t floordiv 4, 0] [1, 64] : tensor<1x64xf32>
    %s = mono.load %sum[0, 0] [1, 64] : tensor<1x64xf32>
    %vs = arith.addf %v, %s : tensor<1x64xf32>
    mono.store %vs, %y[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "parts" (%t) tasks [4] base [0] {
    %v = mono.load %part[0, 0] [2, 64] : tensor<2x64xf32>
    mono.store %v, %w[%t, 0, 0] : tensor<2x64xf32>
  }
}

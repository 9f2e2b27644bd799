// Each case breaks one rule of one op.
// RUN: mono-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected target "gfx950", but got "gfx942"}}
mono.schedule @wrong_chip target("gfx942") grid(256 x 512) {
}

// -----

// expected-error @below {{expected a grid of 1 to 256 workgroups, all resident, one on each compute unit of gfx950, but got 257}}
mono.schedule @grid_too_large target("gfx950") grid(257 x 512) {
}

// -----

// expected-error @below {{expected workgroups x threads with a space on both sides of the x, as in grid(256 x 512)}}
mono.schedule @glued_grid target("gfx950") grid(64x256) {
}

// -----

// expected-error @below {{expected 64 to 1024 threads per workgroup, a multiple of the wavefront (64), but got 500}}
mono.schedule @odd_threads target("gfx950") grid(256 x 500) {
}

// -----

mono.schedule @same_name target("gfx950") grid(1 x 64) {
  // expected-note @below {{first declared here}}
  %a = mono.operand "a" read [4] : f32
  // expected-error @below {{expected a name of its own, but 'a' stands for something else already}}
  %b = mono.operand "a" read [4] : f32
}

// -----

mono.schedule @empty_range target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a range from the smaller to the larger bound, but got 8 to 1}}
  %S = mono.param "S" in [8 to 1]
}

// -----

mono.schedule @bad_default target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a default in {1, 2}, but got 3}}
  %S = mono.param "S" in [1, 2] default 3
}

// -----

mono.schedule @ranks target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected 1 to 8 ranks (the devices of one node), but got 9}}
  %r = mono.ranks [9]
}

// -----

mono.schedule @rank_counts target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected one count, but got 2}}
  %r = mono.ranks [2, 2]
}

// -----

mono.schedule @element target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected element type bf16, f32 or i32, but got 'f64'}}
  %a = mono.operand "a" read [4] : f64
}

// -----

mono.schedule @no_axis target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected at least one axis}}
  %a = mono.operand "a" read [] : f32
}

// -----

mono.schedule @size target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a positive size on axis 1, but got 0 (0 elements is what parameters may decide, not what a file says)}}
  %a = mono.operand "a" read [4, 0] : f32
}

// -----

mono.schedule @access target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected access 'read', 'write' or 'update', but got 'peek'}}
  %a = mono.operand "a" peek [4] : f32
}

// -----

mono.schedule @layout target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected layout #mono.row_major or #mono.mfma_rows<16>, but got "mine"}}
  %a = mono.operand "a" read [16, 32] : bf16, "mine"
}

// -----

mono.schedule @layout_rows target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected 16 rows per tile (MFMA 16x16x32), but got 32}}
  %a = mono.operand "a" read [16, 32] : bf16, #mono.mfma_rows<32>
}

// -----

mono.schedule @layout_element target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected matrices of bf16, f4E2M1FN, f8E4M3FN or f8E8M0FNU for layout #mono.mfma_rows<16>, but got 2 axes of 'f32'}}
  %a = mono.operand "a" read [16, 32] : f32, #mono.mfma_rows<16>
}

// -----

mono.schedule @layout_n target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a multiple of 16 rows for layout #mono.mfma_rows<16>, but got 24}}
  %a = mono.operand "a" read [24, 32] : bf16, #mono.mfma_rows<16>
}

// -----

mono.schedule @layout_k target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a multiple of 32 columns for layout #mono.mfma_rows<16>, but got 48}}
  %a = mono.operand "a" read [16, 48] : bf16, #mono.mfma_rows<16>
}

// -----

mono.schedule @scope target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected scope 'device' or 'peers', but got 'galaxy'}}
  %m = mono.mailbox "m" tagged scope(galaxy) slots(1) [4] : f32
}

// -----

mono.schedule @odd_bf16 target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a last axis that is a multiple of 2 in a 'bf16' mailbox (2 values share a tagged word), but got 5}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 5] : bf16
}

// -----

mono.schedule @region_rows target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected rows of a multiple of 16 bytes (ds_read_b128), but got 130 bytes with the padding}}
  %r = mono.region "r" [4, 64] pad(1) : bf16
}

// -----

mono.schedule @task_counts target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected one task count, but got 2}}
  mono.stage "s" (%t) tasks [1, 1] base [0] {
  }
}

// -----

mono.schedule @bases target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected one base, but got 2}}
  mono.stage "s" (%t) tasks [1] base [0, 0] {
  }
}

// -----

mono.schedule @no_tasks target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected 1 to 65536 tasks, but got 0}}
  mono.stage "s" (%t) tasks [0] base [0] {
  }
}

// -----

mono.schedule @base_outside target("gfx950") grid(16 x 64) {
  // expected-error @below {{expected a base of 0 to 15, the workgroups of the grid, but got 16}}
  mono.stage "s" (%t) tasks [1] base [16] {
  }
}

// -----

// expected-error @below {{expected a body that ends in mono.yield}}
mono.routine @no_yield() -> f32 {
  %c = arith.constant 0.0 : f32
}

// -----

// expected-error @below {{expected 1 yielded values, one per result, but got 2}}
mono.routine @yield_count(%x : f32) -> f32 {
  mono.yield %x, %x : f32, f32
}

// -----

// expected-error @below {{expected result 0 of type 'f32', but got 'i32'}}
mono.routine @yield_type(%x : i32) -> f32 {
  mono.yield %x : i32
}

// -----

mono.schedule @division_in_brackets target("gfx950") grid(1 x 64) {
  %S = mono.param "S" in [1, 2]
  // expected-error @below {{expected ']' in affine map}}
  // expected-note @below {{brackets take sums of parameters, the task and the rank, with *, floordiv, ceildiv and mod by a number or symbol(%parameter)}}
  mono.stage "s" (%t) tasks [%S / 2] base [0] {
  }
}

// -----

mono.schedule @no_slot target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected 1 to 64 slots, but got 0}}
  %m = mono.mailbox "m" tagged scope(device) slots(0) [64] : f32
}

// -----

mono.schedule @too_many_slots target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected 1 to 64 slots, but got 65}}
  %m = mono.mailbox "m" tagged scope(device) slots(65) [64] : f32
}

// -----

mono.schedule @negative_pad target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a pad of at least 0 elements, but got -8}}
  %r = mono.region "r" [4, 64] pad(-8) : bf16
}

// -----

mono.schedule @nobody_shares_the_depth target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected split_k of at least 1, but got 0}}
    %rows = mono.stream %w[0, 0] [16, 64] split_k(0)
  }
}

// -----

// The checks look for declarations beside the stages, and only there.
mono.schedule @mailbox_in_a_stage target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expects parent op to be one of 'mono.schedule, mono.routine'}}
    %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  }
}

// -----

mono.schedule @region_in_a_stage target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expects parent op to be one of 'mono.schedule, mono.routine'}}
    %r = mono.region "r" [64] : f32
  }
}

// -----

mono.schedule @operand_in_a_stage target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expects parent op to be one of 'mono.schedule, mono.routine'}}
    %x = mono.operand "x" read [64] : f32
  }
}

// -----

mono.schedule @ranks_in_a_stage target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expects parent op to be one of 'mono.schedule, mono.routine'}}
    %rank = mono.ranks [2]
  }
}

// -----

mono.schedule @param_in_a_stage target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expects parent op to be one of 'mono.schedule, mono.routine'}}
    %n = mono.param "N" in [1 to 4]
  }
}

// -----

mono.schedule @size_of_no_axis target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [4, 64] : f32
  // expected-error @below {{expected one of the 2 axes of operand 'x', from 0, but got axis 2}}
  %n = mono.size %x axis 2 : !mono.buffer
}

// -----

// expected-error @below {{expected a name of letters, digits, '_', '.' and '-', but got ""}}
mono.schedule @"" target("gfx950") grid(4 x 64) {
}

// -----

mono.schedule @name_with_a_nul target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected a name of letters, digits, '_', '.' and '-', but got "x\00y"}}
  %x = mono.operand "x\00y" read [4, 64] : f32
}

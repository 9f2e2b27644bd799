// Received elements that nobody posts, or that several post.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

mono.schedule @nobody_posts target("gfx950") grid(4 x 64) {
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{add a mono.post to mailbox 'm' in a stage before this one; a stage of 0 tasks posts nothing}}
  mono.stage "s" (%t) tasks [2] base [3] {
    // expected-error @below {{this wait would never end: element [0, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 's' on workgroup 3 waits for it}}
    %v = mono.receive %m[0, 0] [4, 64] : tensor<4x64xf32>
  }
}

// -----

// One task too few: the last row never comes. As fb-triton 1141: an empty split that hangs.
mono.schedule @one_task_too_few target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "post" (%t) tasks [3] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%t, 0] : tensor<64xf32>
  }
  mono.stage "wait" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: element [3, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 'wait' on workgroup 0 waits for it}}
    %v = mono.receive %m[0, 0] [4, 64] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @range_shifted_by_one_task target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [5, 64] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%t + 1, 0] : tensor<64xf32>
  }
  mono.stage "wait" (%t) tasks [4] base [0] {
    // expected-error @below {{element [0, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 'wait' on workgroup 0 waits for it}}
    %v = mono.receive %m[%t, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Tiles of 32 columns at a distance of 64: every second tile stays empty.
mono.schedule @stride_of_the_wrong_tile target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [32] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [256] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [32] : tensor<32xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%t * 64] : tensor<32xf32>
  }
  mono.stage "wait" (%t) tasks [1] base [0] {
    // expected-error @below {{element [32] of mailbox 'm' is posted by nobody}}
    %v = mono.receive %m[0] [256] : tensor<256xf32>
  }
}

// -----

// The consumer cuts its slices as if there were 3 tasks of 96 columns, the last ends in nothing.
mono.schedule @last_slice_past_the_posts target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [288] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%t * 64] : tensor<64xf32>
  }
  mono.stage "wait" (%t) tasks [3] base [0] {
    // expected-error @below {{element [256] of mailbox 'm' is posted by nobody, but task 2 of stage 'wait' on workgroup 2 waits for it}}
    %v = mono.receive %m[%t * 96] [96] : tensor<96xf32>
  }
}

// -----

// A collective that one rank takes no part in. As checklist C4 11: one rank skips.
mono.schedule @a_rank_is_missing target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [5, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
  }
  mono.stage "sum" (%t) tasks [1] base [0] {
    // expected-error @below {{element [4, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 'sum' on workgroup 0 waits for it}}
    %v = mono.receive %m[0, 0] [5, 64] sum : tensor<64xf32>
  }
}

// -----

// Two stages that should each fill a half; the second fills the first half again.
mono.schedule @second_half_never_posted target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 64] : f32
  mono.stage "first" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'first' posts other elements here}}
    mono.post %v to %m[0, 0] : tensor<64xf32>
  }
  mono.stage "wait" (%t) tasks [1] base [0] {
    // expected-error @below {{element [1, 0] of mailbox 'm' is posted by nobody}}
    %v = mono.receive %m[1, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Half a column too narrow: 62 of 64 words per row.
mono.schedule @posted_box_too_narrow target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 62] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 62] : tensor<4x62xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[0, 0] : tensor<4x62xf32>
  }
  mono.stage "wait" (%t) tasks [1] base [0] {
    // expected-error @below {{element [0, 62] of mailbox 'm' is posted by nobody}}
    %v = mono.receive %m[0, 0] [4, 64] : tensor<4x64xf32>
  }
}

// -----

// Posted only for even ranks, received by all.
mono.schedule @rank_offset_doubled target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%rank * 2, 0] : tensor<64xf32>
  }
  mono.stage "read" (%t) tasks [1] base [0] {
    // expected-error @below {{element [1, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 'read' on workgroup 0 of rank 1 waits for it}}
    %v = mono.receive %m[%rank, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @two_tasks_post_one_row target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected every element of mailbox 'm' to be posted once per launch, but element [0, 0] is posted again by task 1 of stage 'post' on rank 0}}
    // expected-note @below {{posted before here by task 0 on rank 0}}
    mono.post %v to %m[%t floordiv 2, 0] : tensor<64xf32>
  }
}

// -----

// As mori 559: two messages of different size in one mailbox lie over each other.
mono.schedule @two_stages_overlap_by_a_row target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [2, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [3, 64] : f32
  mono.stage "small" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [2, 64] : tensor<2x64xf32>
    // expected-note @below {{posted before here by task 0 on rank 0}}
    mono.post %v to %m[0, 0] : tensor<2x64xf32>
  }
  mono.stage "large" (%t) tasks [1] base [1] {
    %v = mono.load %a[0, 0] [2, 64] : tensor<2x64xf32>
    // expected-error @below {{element [1, 0] is posted again by task 0 of stage 'large' on rank 0}}
    mono.post %v to %m[1, 0] : tensor<2x64xf32>
  }
}

// -----

// Without the rank in the offset all ranks write the same words.
mono.schedule @ranks_collide target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; a post goes to every rank's copy: let an axis of the mailbox be the rank that posts, as in [%rank, ...]}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected every element of mailbox 'm' to be posted once per launch, but element [0, 0] is posted again by task 0 of stage 'post' on rank 1}}
    // expected-note @below {{posted before here by task 0 on rank 0}}
    mono.post %v to %m[0, 0] : tensor<64xf32>
  }
}

// -----

// Two ranks take one row and the other stays empty.
mono.schedule @ranks_share_a_row target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{element [0, 0] is posted again by task 0 of stage 'post' on rank 1}}
    // expected-note @below {{posted before here by task 0 on rank 0}}
    mono.post %v to %m[(%rank floordiv 2) * 2, 0] : tensor<64xf32>
  }
}

// -----

// The tile is wider than the step from task to task.
mono.schedule @tiles_overlap target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [256] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{element [48] is posted again by task 1 of stage 'post' on rank 0}}
    // expected-note @below {{posted before here by task 0 on rank 0}}
    mono.post %v to %m[%t * 48] : tensor<64xf32>
  }
}

// -----

// Rows that are known at run time only may be any: all must be posted.
mono.schedule @rows_at_run_time target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : bf16
  %ids = mono.operand "ids" read [2] : i32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 2, 64] : bf16
  %r = mono.region "r" [2, 64] : bf16
  mono.stage "post" (%t) tasks [3] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xbf16>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[%t floordiv 2, %t mod 2, 0] : tensor<64xbf16>
  }
  mono.stage "wait" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-error @below {{this wait would never end: element [1, 1, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 'wait' on workgroup 3 waits for it}}
    mono.receive_rows %m at %i into %r : tensor<2xi32>
  }
}

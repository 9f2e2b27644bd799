// Waits that form a circle with program order.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// Every workgroup would wait in the first stage and none would come to the second.
mono.schedule @consumer_before_producer target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order; let the stage that posts come before the one that waits}}
  mono.stage "wait" (%t) tasks [4] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'wait' on workgroup 0 waits for mailbox 'm' in a circle, one line for each post:}}
    %v = mono.receive %m[0, 0] [4, 64] : tensor<4x64xf32>
  }
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 'post' on workgroup 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 'wait'}}
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// A task that waits for what it posts itself a line later.
mono.schedule @own_post_after_receive target("gfx950") grid(4 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "s" (%t) tasks [4] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 's' on workgroup 0 waits for mailbox 'm' in a circle}}
    %v = mono.receive %m[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Each of two workgroups answers only when the other has.
mono.schedule @two_workgroups_swap target("gfx950") grid(2 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "swap" (%t) tasks [2] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'swap' on workgroup 0 waits for mailbox 'm' in a circle}}
    %v = mono.receive %m[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 1 of stage 'swap' on workgroup 1, after that workgroup's wait for mailbox 'm' in task 1 of stage 'swap'}}
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 'swap' on workgroup 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 'swap'}}
    mono.post %v to %m[1 - %t, 0] : tensor<1x64xf32>
  }
}

// -----

// As two locks taken in opposite order.
mono.schedule @two_mailboxes_in_opposite_order target("gfx950") grid(2 x 64) {
  %a = mono.mailbox "a" tagged scope(device) slots(1) [64] : f32
  %b = mono.mailbox "b" tagged scope(device) slots(1) [64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "left" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'left' on workgroup 0 waits for mailbox 'a' in a circle}}
    %v = mono.receive %a[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'b' is posted here by task 0 of stage 'left' on workgroup 0, after that workgroup's wait for mailbox 'a' in task 0 of stage 'left'}}
    mono.post %v to %b[0] : tensor<64xf32>
  }
  mono.stage "right" (%t) tasks [1] base [1] {
    %v = mono.receive %b[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'a' is posted here by task 0 of stage 'right' on workgroup 1, after that workgroup's wait for mailbox 'b' in task 0 of stage 'right'}}
    mono.post %v to %a[0] : tensor<64xf32>
  }
}

// -----

mono.schedule @three_workgroups_in_a_ring target("gfx950") grid(3 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [3, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "ring" (%t) tasks [3] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'ring' on workgroup 0 waits for mailbox 'm' in a circle}}
    %v = mono.receive %m[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 2 of stage 'ring' on workgroup 2, after that workgroup's wait for mailbox 'm' in task 2 of stage 'ring'}}
    // expected-note @below {{mailbox 'm' is posted here by task 1 of stage 'ring' on workgroup 1, after that workgroup's wait for mailbox 'm' in task 1 of stage 'ring'}}
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 'ring' on workgroup 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 'ring'}}
    mono.post %v to %m[(%t + 1) mod 3, 0] : tensor<1x64xf32>
  }
}

// -----

// The circle goes through three stages, each on a workgroup of its own.
mono.schedule @three_stages_in_a_circle target("gfx950") grid(4 x 64) {
  %a = mono.mailbox "a" tagged scope(device) slots(1) [64] : f32
  %b = mono.mailbox "b" tagged scope(device) slots(1) [64] : f32
  %c = mono.mailbox "c" tagged scope(device) slots(1) [64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "one" (%t) tasks [1] base [3] {
    // expected-error @below {{this wait would never end: task 0 of stage 'one' on workgroup 3 waits for mailbox 'c' in a circle}}
    %v = mono.receive %c[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'a' is posted here by task 0 of stage 'one' on workgroup 3, after that workgroup's wait for mailbox 'c' in task 0 of stage 'one'}}
    mono.post %v to %a[0] : tensor<64xf32>
  }
  mono.stage "two" (%t) tasks [1] base [1] {
    %v = mono.receive %a[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'b' is posted here by task 0 of stage 'two' on workgroup 1, after that workgroup's wait for mailbox 'a' in task 0 of stage 'two'}}
    mono.post %v to %b[0] : tensor<64xf32>
  }
  mono.stage "three" (%t) tasks [1] base [0] {
    %v = mono.receive %b[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'c' is posted here by task 0 of stage 'three' on workgroup 0, after that workgroup's wait for mailbox 'b' in task 0 of stage 'three'}}
    mono.post %v to %c[0] : tensor<64xf32>
  }
}

// -----

// A workgroup whose first stage waits for what its third stage makes possible.
mono.schedule @late_stage_of_the_same_workgroup target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %x = mono.mailbox "x" tagged scope(device) slots(1) [64] : f32
  %y = mono.mailbox "y" tagged scope(device) slots(1) [64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "first" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'first' on workgroup 0 waits for mailbox 'x' in a circle}}
    %v = mono.receive %x[0] [64] : tensor<64xf32>
  }
  mono.stage "second" (%t) tasks [1] base [1] {
    %v = mono.receive %y[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'x' is posted here by task 0 of stage 'second' on workgroup 1, after that workgroup's wait for mailbox 'y' in task 0 of stage 'second'}}
    mono.post %v to %x[0] : tensor<64xf32>
  }
  mono.stage "third" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{mailbox 'y' is posted here by task 0 of stage 'third' on workgroup 0, after that workgroup's wait for mailbox 'x' in task 0 of stage 'first'}}
    mono.post %v to %y[0] : tensor<64xf32>
  }
}

// -----

// Tasks 0 and 2 share workgroup 0, which runs 0 first: the same stage on four workgroups is fine.
mono.schedule @tasks_of_one_workgroup_in_the_wrong_order target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 2 of stage 's' on workgroup 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
    // expected-error @below {{this wait would never end: task 0 of stage 's' on workgroup 0 waits for mailbox 'm' in a circle}}
    %w = mono.receive %m[(%t + 2) mod 4, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// More tasks than workgroups: the wait of the first round needs the post of the second.
mono.schedule @more_tasks_than_workgroups target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [8, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "gather" (%t) tasks [8] base [1] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 4 of stage 'gather' on workgroup 1, after that workgroup's wait for mailbox 'm' in task 0 of stage 'gather'}}
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
    // expected-error @below {{this wait would never end: task 0 of stage 'gather' on workgroup 1 waits for mailbox 'm' in a circle}}
    %w = mono.receive %m[0, 0] [8, 64] sum : tensor<64xf32>
  }
}

// -----

// An all-reduce that waits before it posts. As aiter 4622: every rank spins.
mono.schedule @all_ranks_wait_first target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 's' on workgroup 0 of rank 0 waits for mailbox 'm' in a circle}}
    %v = mono.receive %m[0, 0] [2, 64] sum : tensor<64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 0 of rank 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
  }
}

// -----

// Two ranks that each answer only when the other has.
mono.schedule @two_ranks_swap target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "s" (%t) tasks [1] base [2] {
    // expected-error @below {{this wait would never end: task 0 of stage 's' on workgroup 2 of rank 0 waits for mailbox 'm' in a circle}}
    %v = mono.receive %m[1 - %rank, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 2 of rank 1, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 2 of rank 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    mono.post %v to %m[%rank, 0] : tensor<1x64xf32>
  }
}

// -----

// A ring over ranks in which nobody starts.
mono.schedule @four_ranks_in_a_ring target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [4]
  %m = mono.mailbox "m" tagged scope(peers) slots(4) [4, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 's' on workgroup 0 of rank 0 waits for mailbox 'm' in a circle}}
    %v = mono.receive %m[(%rank + 3) mod 4, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 0 of rank 3, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 0 of rank 2, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 0 of rank 1, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 's' on workgroup 0 of rank 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 's'}}
    mono.post %v to %m[%rank, 0] : tensor<1x64xf32>
  }
}

// -----

// The circle alternates between waits on one device and waits across ranks.
mono.schedule @through_a_device_and_a_peer target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %local = mono.mailbox "local" tagged scope(device) slots(1) [1, 64] : f32
  %far = mono.mailbox "far" tagged scope(peers) slots(3) [2, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "outer" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'outer' on workgroup 0 of rank 0 waits for mailbox 'local' in a circle}}
    %v = mono.receive %local[0, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'far' is posted here by task 0 of stage 'outer' on workgroup 0 of rank 1, after that workgroup's wait for mailbox 'local' in task 0 of stage 'outer'}}
    // expected-note @below {{mailbox 'far' is posted here by task 0 of stage 'outer' on workgroup 0 of rank 0, after that workgroup's wait for mailbox 'local' in task 0 of stage 'outer'}}
    mono.post %v to %far[%rank, 0] : tensor<1x64xf32>
  }
  mono.stage "inner" (%t) tasks [1] base [1] {
    %v = mono.receive %far[1 - %rank, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'local' is posted here by task 0 of stage 'inner' on workgroup 1 of rank 0, after that workgroup's wait for mailbox 'far' in task 0 of stage 'inner'}}
    // expected-note @below {{mailbox 'local' is posted here by task 0 of stage 'inner' on workgroup 1 of rank 1, after that workgroup's wait for mailbox 'far' in task 0 of stage 'inner'}}
    mono.post %v to %local[0, 0] : tensor<1x64xf32>
  }
}

// -----

// Split-K where the task that adds up is also the first to run. As fleet 6: a reader that sits in
// front of its writers.
mono.schedule @reducer_in_front_of_its_writers target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %y = mono.operand "y" write [64] : f32
  %parts = mono.mailbox "parts" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order}}
  mono.stage "add" (%t) tasks [1] base [1] {
    // expected-error @below {{this wait would never end: task 0 of stage 'add' on workgroup 1 waits for mailbox 'parts' in a circle}}
    %v = mono.receive %parts[0, 0] [4, 64] sum : tensor<64xf32>
    mono.store %v, %y[0] : tensor<64xf32>
  }
  mono.stage "split" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'parts' is posted here by task 1 of stage 'split' on workgroup 1, after that workgroup's wait for mailbox 'parts' in task 0 of stage 'add'}}
    mono.post %v to %parts[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Row 3 may not be named in most launches, but in one it will be.
mono.schedule @rows_of_a_later_stage target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : bf16
  %ids = mono.operand "ids" read [2] : i32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : bf16
  %r = mono.region "r" [2, 64] : bf16
  mono.stage "early" (%t) tasks [3] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xbf16>
    mono.post %v to %m[%t, 0] : tensor<1x64xbf16>
  }
  // expected-note @below {{every workgroup walks the stages in file order; let the stage that posts come before the one that waits}}
  mono.stage "wait" (%t) tasks [1] base [0] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-error @below {{this wait would never end: task 0 of stage 'wait' on workgroup 0 waits for mailbox 'm' in a circle, one line for each post:}}
    mono.receive_rows %m at %i into %r : tensor<2xi32>
  }
  mono.stage "late" (%t) tasks [1] base [0] {
    %v = mono.load %a[3, 0] [1, 64] : tensor<1x64xbf16>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 'late' on workgroup 0, after that workgroup's wait for mailbox 'm' in task 0 of stage 'wait'}}
    mono.post %v to %m[3, 0] : tensor<1x64xbf16>
  }
}

// -----

// Each task waits for a box of its own of nearly all posts.
mono.schedule @too_many_pairs target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [8192, 2] : f32
  %y = mono.operand "y" write [8192] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [16384] : f32
  mono.stage "a" (%t) tasks [8192] base [0] {
    %v = mono.load %x[%t, 0] [1, 2] : tensor<1x2xf32>
    %w = tensor.collapse_shape %v [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
    mono.post %w to %m[%t * 2] : tensor<2xf32>
  }
  mono.stage "b" (%t) tasks [8192] base [0] {
    // expected-error @below {{expected at most 33554432 pairs of a box that is waited for and a post to it, but with this receive they are more; receive larger boxes in fewer tasks, or the same box in all}}
    %v = mono.receive %m[%t] [8192] : tensor<8192xf32>
    %s = tensor.extract_slice %v[0] [1] [1] : tensor<8192xf32> to tensor<1xf32>
    mono.store %s, %y[%t] : tensor<1xf32>
  }
}

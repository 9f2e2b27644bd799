// Each schedule breaks one rule.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// expected-error @below {{expected a mono.schedule in the file}}
module {
}

// -----

// expected-error @below {{expected at least one stage}}
mono.schedule @nothing target("gfx950") grid(4 x 64) {
}

// -----

mono.schedule @last_task_outside target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [6, 64]}}
  %a = mono.operand "a" read [6, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but task 3 of stage 's' covers 6 to 8 of 6 on axis 0}}
    %v = mono.load %a[%t * 2, 0] [2, 64] : tensor<2x64xf32>
  }
}

// -----

mono.schedule @rank_outside target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-note @below {{declared here with shape [3, 64]}}
  %a = mono.operand "a" read [3, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but task 0 of stage 's' covers 3 to 4 of 3 on axis 0}}
    %v = mono.load %a[%rank, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @division_by_zero target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    // expected-error @below {{expected offsets with a value (division by zero?)}}
    %v = mono.load %a[1 floordiv symbol(%t), 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @computed_offset target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %two = arith.addi %t, %t : index
    // expected-error @below {{expected offsets that depend on the task, the rank and parameters only}}
    %v = mono.load %a[%two, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @open_shape target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-error @below {{expected sizes that parameters decide}}
  %a = mono.operand "a" read [%rank, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
  }
}

// -----

mono.schedule @open_base target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-error @below {{expected a base that parameters decide}}
  mono.stage "s" (%t) tasks [2] base [%rank] {
  }
}

// -----

mono.schedule @nobody_posts target("gfx950") grid(4 x 64) {
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{add a mono.post to mailbox 'm' in a stage before this one}}
  mono.stage "s" (%t) tasks [2] base [3] {
    // expected-error @below {{this wait would never end: element [0, 0] of mailbox 'm' is posted by nobody, but task 0 of stage 's' on workgroup 3 waits for it}}
    %v = mono.receive %m[0, 0] [4, 64] : tensor<4x64xf32>
  }
}

// -----

// One task too few: the last row never comes.
mono.schedule @missing_task target("gfx950") grid(4 x 64) {
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

// Every workgroup would wait in the first stage and none would come to the second.
mono.schedule @wrong_order target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  // expected-note @below {{every workgroup walks the stages in file order; let the stage that posts come before the one that waits}}
  mono.stage "wait" (%t) tasks [4] base [0] {
    // expected-error @below {{this wait would never end: task 0 of stage 'wait' on workgroup 0 waits for mailbox 'm' in a circle, one line a step:}}
    // expected-note @below {{comes after this wait for mailbox 'm' on workgroup 0}}
    %v = mono.receive %m[0, 0] [4, 64] : tensor<4x64xf32>
  }
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-note @below {{mailbox 'm' is posted here by task 0 of stage 'post' on workgroup 0, which}}
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @posted_twice target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected every element of mailbox 'm' to be posted once a launch, but element [0, 0] is posted again by task 1 of stage 'post' on rank 0}}
    // expected-note @below {{posted before here}}
    mono.post %v to %m[%t floordiv 2, 0] : tensor<64xf32>
  }
}

// -----

// Without the rank in the offset all ranks write the same words.
mono.schedule @ranks_collide target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected every element of mailbox 'm' to be posted once a launch, but element [0, 0] is posted again by task 0 of stage 'post' on rank 1}}
    // expected-note @below {{posted before here}}
    mono.post %v to %m[0, 0] : tensor<64xf32>
  }
}

// -----

mono.schedule @scope_too_small target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; scope(peers) joins ranks}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets without the rank in mailbox 'm' of scope 'device': its words never reach another rank}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
  }
}

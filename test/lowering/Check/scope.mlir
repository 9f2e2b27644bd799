// Scopes too narrow for the distance between producer and consumer.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// As aiter 3290: a word that stays where the other device can't see it.
mono.schedule @rank_posts_to_a_device_mailbox target("gfx950") grid(4 x 64) {
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

// -----

mono.schedule @rank_reads_a_device_mailbox target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; scope(peers) joins ranks}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 64] : f32
  mono.stage "post" (%t) tasks [2] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%t, 0] : tensor<64xf32>
  }
  mono.stage "read" (%t) tasks [1] base [0] {
    // expected-error @below {{expected offsets without the rank in mailbox 'm' of scope 'device'}}
    %v = mono.receive %m[%rank, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// An all-reduce whose mailbox was narrowed: only this rank's row ever arrives.
mono.schedule @all_reduce_on_one_device target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{the mailbox is declared here}}
  %m = mono.mailbox "m" tagged scope(device) slots(2) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-note @below {{stage 'post' posts other elements here}}
    mono.post %v to %m[0, 0] : tensor<64xf32>
  }
  mono.stage "sum" (%t) tasks [1] base [0] {
    // expected-error @below {{this wait would never end: element [1, 0] of mailbox 'm' is posted by nobody}}
    %v = mono.receive %m[0, 0] [2, 64] sum : tensor<64xf32>
  }
}

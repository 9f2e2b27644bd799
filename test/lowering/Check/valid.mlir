// Schedules that look suspicious and are right.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// Two stages fill one mailbox, one after the other.
mono.schedule @two_producers target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [8, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8, 64] : f32
  mono.stage "first" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "second" (%t) tasks [4] base [2] {
    %v = mono.load %a[%t + 4, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t + 4, 0] : tensor<1x64xf32>
  }
  mono.stage "all" (%t) tasks [1] base [3] {
    %v = mono.receive %m[0, 0] [8, 64] sum : tensor<64xf32>
  }
}

// -----

// Each rank fills its share of the peers' mailboxes.
mono.schedule @ranks target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
  }
  mono.stage "sum" (%t) tasks [1] base [0] {
    %v = mono.receive %m[0, 0] [4, 64] sum : tensor<64xf32>
  }
}

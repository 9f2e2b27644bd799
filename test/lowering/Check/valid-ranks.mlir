// Schedules over several ranks that look suspicious and are right. Posts whose proof rests on an
// earlier receive of the same workgroup are marked, and no others.
// RUN: mono-opt %s -split-input-file --mono-check-schedule | FileCheck %s --implicit-check-not=after_waits

// Each rank fills its share of the peers' mailboxes.
// CHECK-LABEL: @all_reduce
mono.schedule @all_reduce target("gfx950") grid(4 x 64) {
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

// -----

// Two slots suffice although the workgroup that posts never receives anything: the launch has.
// CHECK-LABEL: @posting_and_receiving_workgroups_differ
mono.schedule @posting_and_receiving_workgroups_differ target("gfx950") grid(8 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [4, 64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 4, 64] : f32
  mono.stage "sum" (%t) tasks [2] base [6] {
    %v = mono.receive %m[0, %t * 2, 0] [2, 2, 64] sum : tensor<2x64xf32>
  }
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%rank, %t, 0] : tensor<1x64xf32>
  }
}

// -----

// The acknowledgement of the same launch frees the slot, so that one is enough for both mailboxes:
// the next launch starts when it has come, and the words were read before it went out.
// CHECK-LABEL: @one_slot_with_an_acknowledgement
mono.schedule @one_slot_with_an_acknowledgement target("gfx950") grid(1 x 256) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [2, 64] : f32
  %ack = mono.mailbox "ack" tagged scope(peers) slots(1) [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // CHECK: mono.post %{{.*}} to %data
    mono.post %v to %data[%rank, 0] : tensor<64xf32>
    %w = mono.receive %data[0, 0] [2, 64] sum : tensor<64xf32>
    // CHECK: mono.post %{{.*}} to %ack{{.*}} {mono.after_waits}
    mono.post %v to %ack[%rank, 0] : tensor<64xf32>
    %done = mono.receive %ack[0, 0] [2, 64] sum : tensor<64xf32>
  }
}

// -----

// Asking first: a rank that is ready says so, and only then is written to.
// CHECK-LABEL: @one_slot_with_a_request
mono.schedule @one_slot_with_a_request target("gfx950") grid(1 x 256) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %ready = mono.mailbox "ready" tagged scope(peers) slots(2) [4, 2] : f32
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %one = arith.constant dense<1.0> : tensor<2xf32>
    // CHECK: mono.post %{{.*}} to %ready
    mono.post %one to %ready[%rank, 0] : tensor<2xf32>
    %go = mono.receive %ready[0, 0] [4, 2] sum : tensor<2xf32>
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // CHECK: mono.post %{{.*}} to %data{{.*}} {mono.after_waits}
    mono.post %v to %data[%rank, 0] : tensor<64xf32>
    %w = mono.receive %data[0, 0] [4, 64] sum : tensor<64xf32>
  }
}

// -----

// A barrier over all ranks at the end of the launch, by workgroups that have read: one slot.
// CHECK-LABEL: @exit_barrier_through_a_collector
mono.schedule @exit_barrier_through_a_collector target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [2, 64] : f32
  %seen = mono.mailbox "seen" tagged scope(device) slots(1) [2, 64] : f32
  %done = mono.mailbox "done" tagged scope(peers) slots(1) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // CHECK: mono.post %{{.*}} to %data
    mono.post %v to %data[%rank, 0] : tensor<64xf32>
  }
  mono.stage "read" (%t) tasks [2] base [1] {
    %w = mono.receive %data[0, 0] [2, 64] sum : tensor<64xf32>
    // CHECK: mono.post %{{.*}} to %seen{{.*}} {mono.after_waits}
    mono.post %w to %seen[%t, 0] : tensor<64xf32>
  }
  mono.stage "collect" (%t) tasks [1] base [3] {
    %w = mono.receive %seen[0, 0] [2, 64] sum : tensor<64xf32>
    // CHECK: mono.post %{{.*}} to %done{{.*}} {mono.after_waits}
    mono.post %w to %done[%rank, 0] : tensor<64xf32>
    %all = mono.receive %done[0, 0] [2, 64] sum : tensor<64xf32>
  }
}

// -----

// A ring of three with a slot for each hop.
// CHECK-LABEL: @ring_of_three_on_three_slots
mono.schedule @ring_of_three_on_three_slots target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [3]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(3) [3, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %w = mono.receive %m[(%rank + 2) mod 3, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// A ring of two is a pair: the reader is the one who is heard.
// CHECK-LABEL: @ring_of_two
mono.schedule @ring_of_two target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %w = mono.receive %m[(%rank + 1) mod 2, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Neighbours to both sides hear from each other directly, however long the row of ranks.
// CHECK-LABEL: @halo_exchange
mono.schedule @halo_exchange target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [8]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [8, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %left = mono.receive %m[(%rank + 7) mod 8, 0] [1, 64] : tensor<1x64xf32>
    %right = mono.receive %m[(%rank + 1) mod 8, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Groups of two that never speak to each other and read nothing of each other.
// CHECK-LABEL: @separate_groups
mono.schedule @separate_groups target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %w = mono.receive %m[(%rank floordiv 2) * 2, 0] [2, 64] sum : tensor<64xf32>
  }
}

// -----

// A peers mailbox of which each rank reads its own words only: launches of one device are ordered.
// CHECK-LABEL: @own_words_on_one_slot
mono.schedule @own_words_on_one_slot target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(1) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %w = mono.receive %m[%rank, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// A broadcast whose answer is another collective of the launch.
// CHECK-LABEL: @broadcast_beside_an_all_reduce
mono.schedule @broadcast_beside_an_all_reduce target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %row = mono.mailbox "row" tagged scope(peers) slots(2) [4, 64] : f32
  %sum = mono.mailbox "sum" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %row[%rank, 0] : tensor<64xf32>
    mono.post %v to %sum[%rank, 0] : tensor<64xf32>
    %w = mono.receive %row[0, 0] [1, 64] : tensor<1x64xf32>
    %s = mono.receive %sum[0, 0] [4, 64] sum : tensor<64xf32>
  }
}

// -----

// Two-shot all-reduce: each rank adds up its share and hands it to all.
// CHECK-LABEL: @two_shot_all_reduce
mono.schedule @two_shot_all_reduce target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [4, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [4, 4, 64] : f32
  %sums = mono.mailbox "sums" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "scatter" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %parts[%rank, %t, 0] : tensor<1x64xf32>
  }
  mono.stage "reduce" (%t) tasks [1] base [0] {
    %v = mono.receive %parts[0, %rank, 0] [4, 1, 64] sum : tensor<1x64xf32>
    mono.post %v to %sums[%rank, 0] : tensor<1x64xf32>
  }
  mono.stage "gather" (%t) tasks [4] base [0] {
    %v = mono.receive %sums[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// An all-reduce brings the news of all ranks, so that a ring beside it needs no slot for each hop.
// CHECK-LABEL: @ring_beside_an_all_reduce
mono.schedule @ring_beside_an_all_reduce target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  %all = mono.mailbox "all" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "start" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %all[%rank, 0] : tensor<64xf32>
    %s = mono.receive %all[0, 0] [4, 64] sum : tensor<64xf32>
    mono.post %s to %m[%rank, 0] : tensor<64xf32>
  }
  mono.stage "next" (%t) tasks [1] base [1] {
    %v = mono.receive %m[(%rank + 3) mod 4, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// One rank of a schedule that could have more.
// CHECK-LABEL: @single_rank_on_one_slot
mono.schedule @single_rank_on_one_slot target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [1]
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(1) [1, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %w = mono.receive %m[0, 0] [1, 64] : tensor<1x64xf32>
  }
}

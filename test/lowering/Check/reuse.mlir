// Slots of peers mailboxes that are written over before they have been read.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// As aiter 3515 and tokenspeed 1356: a one-shot all-reduce on one slot. A rank that is a launch
// ahead writes over what a slow one still has to read.
mono.schedule @all_reduce_on_one_slot target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; slots(2) would be enough}}
  %m = mono.mailbox "m" tagged scope(peers) slots(1) [4, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{this post could overwrite words that have not been read: task 0 of stage 'post' on workgroup 0 of rank 0 fills slot e mod 1 of mailbox 'm' on rank 1 in launch e, where the words of launch e - 1 lie, but it only knows that those of launch e - 2 have been read}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
  }
  mono.stage "sum" (%t) tasks [1] base [1] {
    // expected-note @below {{they are read here by task 0 of stage 'sum' on workgroup 1 of rank 1}}
    %v = mono.receive %m[0, 0] [4, 64] sum : tensor<64xf32>
  }
}

// -----

// Nobody tells rank 0 how far the others have come.
mono.schedule @broadcast_without_an_answer target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; let each rank receive something from every rank it posts to}}
  %m = mono.mailbox "m" tagged scope(peers) slots(8) [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{this post could overwrite words that have not been read: task 0 of stage 's' on workgroup 0 of rank 0 fills slot e mod 8 of mailbox 'm' on rank 1 in launch e, where the words of launch e - 8 lie, but rank 0 never hears from rank 1}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %m[0, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// In a ring of three the news of a reader takes two launches to reach the rank that writes over it.
mono.schedule @ring_of_three_on_two_slots target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [3]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; slots(3) would be enough}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [3, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 of rank 0 fills slot e mod 2 of mailbox 'm' on rank 1 in launch e, where the words of launch e - 2 lie, but it only knows that those of launch e - 3 have been read}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %m[(%rank + 2) mod 3, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @ring_of_eight_on_three_slots target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [8]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; slots(8) would be enough}}
  %m = mono.mailbox "m" tagged scope(peers) slots(3) [8, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{but it only knows that those of launch e - 8 have been read}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %m[(%rank + 7) mod 8, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Neighbours in a row hear from each other within a launch, but one slot leaves no room at all.
mono.schedule @halo_exchange_on_one_slot target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; slots(2) would be enough}}
  %m = mono.mailbox "m" tagged scope(peers) slots(1) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{this post could overwrite words that have not been read}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %left = mono.receive %m[(%rank + 3) mod 4, 0] [1, 64] : tensor<1x64xf32>
    %right = mono.receive %m[(%rank + 1) mod 4, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Each rank reads only the words meant for it, on one slot.
mono.schedule @all_to_all_on_one_slot target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [2, 64] : f32
  // expected-note @below {{declared here; slots(2) would be enough}}
  %m = mono.mailbox "m" tagged scope(peers) slots(1) [2, 2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [2, 64] : tensor<2x64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 of rank 0 fills slot e mod 1 of mailbox 'm' on rank 1}}
    mono.post %v to %m[%rank, 0, 0] : tensor<2x64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %m[0, %rank, 0] [2, 1, 64] sum : tensor<1x64xf32>
  }
}

// -----

// The acknowledgement goes out before the words are read.
mono.schedule @acknowledged_too_early target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; slots(2) would be enough}}
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [2, 64] : f32
  %ack = mono.mailbox "ack" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{slot e mod 1 of mailbox 'data' on rank 1 in launch e, where the words of launch e - 1 lie, but it only knows that those of launch e - 2 have been read}}
    mono.post %v to %data[%rank, 0] : tensor<64xf32>
    mono.post %v to %ack[%rank, 0] : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %data[0, 0] [2, 64] sum : tensor<64xf32>
    %done = mono.receive %ack[0, 0] [2, 64] sum : tensor<64xf32>
  }
}

// -----

// Two workgroups read, one of them acknowledges: nothing is known of the other.
mono.schedule @acknowledged_by_another_workgroup target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; slots(2) would be enough}}
  %data = mono.mailbox "data" tagged scope(peers) slots(1) [2, 64] : f32
  %ack = mono.mailbox "ack" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{this post could overwrite words that have not been read}}
    mono.post %v to %data[%rank, 0] : tensor<64xf32>
  }
  mono.stage "read" (%t) tasks [2] base [1] {
    // expected-note @below {{they are read here by task 1 of stage 'read' on workgroup 2 of rank 1}}
    %w = mono.receive %data[0, 0] [2, 64] sum : tensor<64xf32>
  }
  mono.stage "acknowledge" (%t) tasks [1] base [1] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %ack[%rank, 0] : tensor<64xf32>
  }
  mono.stage "collect" (%t) tasks [1] base [0] {
    %done = mono.receive %ack[0, 0] [2, 64] sum : tensor<64xf32>
  }
}

// -----

// The reader acknowledges, but nobody waits for it in the launch: the news is never taken in.
mono.schedule @acknowledgement_nobody_reads target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; let each rank receive something from every rank it posts to}}
  %data = mono.mailbox "data" tagged scope(peers) slots(2) [2, 64] : f32
  %ack = mono.mailbox "ack" tagged scope(peers) slots(2) [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{but rank 0 never hears from rank 1}}
    mono.post %v to %data[%rank, 0] : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %data[0, 0] [1, 64] : tensor<1x64xf32>
    mono.post %w to %ack[%rank, 0] : tensor<1x64xf32>
  }
}

// -----

// As tokenspeed 1017: an all-reduce keeps the ranks close, but a second mailbox on one slot does
// not profit, since its readers come after the all-reduce.
mono.schedule @second_mailbox_behind_the_all_reduce target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [8]
  %a = mono.operand "a" read [64] : f32
  %sum = mono.mailbox "sum" tagged scope(peers) slots(2) [8, 64] : f32
  // expected-note @below {{declared here; slots(2) would be enough}}
  %row = mono.mailbox "row" tagged scope(peers) slots(1) [8, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %sum[%rank, 0] : tensor<64xf32>
    // expected-error @below {{slot e mod 1 of mailbox 'row' on rank 1}}
    mono.post %v to %row[%rank, 0] : tensor<64xf32>
    %s = mono.receive %sum[0, 0] [8, 64] sum : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 1}}
    %w = mono.receive %row[0, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// The two halves of the ranks never speak to each other, but write to each other's mailboxes.
mono.schedule @two_groups_that_share_a_word target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here; let each rank receive something from every rank it posts to}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 of rank 0 fills slot e mod 2 of mailbox 'm' on rank 2 in launch e, where the words of launch e - 2 lie, but rank 0 never hears from rank 2}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
    %w = mono.receive %m[(%rank floordiv 2) * 2, 0] [2, 64] sum : tensor<64xf32>
    // expected-note @below {{they are read here by task 0 of stage 's' on workgroup 0 of rank 2}}
    %first = mono.receive %m[0, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Rows that are named at run time may all be this rank's own: nothing is heard for certain.
mono.schedule @rows_of_nobody_in_particular target("gfx950") grid(2 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : f32
  %ids = mono.operand "ids" read [2] : i32
  // expected-note @below {{declared here; let each rank receive something from every rank it posts to}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : f32
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{but rank 0 never hears from rank 1}}
    mono.post %v to %m[%rank, 0] : tensor<64xf32>
  }
  mono.stage "read" (%t) tasks [1] base [1] {
    %rows = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-note @below {{they are read here by task 0 of stage 'read' on workgroup 1 of rank 1}}
    mono.receive_rows %m at %rows into %r : tensor<2xi32>
  }
}

// -----

// Only after 36,147,319,488 launches all would be at slot 0 again, and launches are counted in 32 bits.
// expected-error @below {{expected numbers of slots of the peers mailboxes whose least common multiple is at most 2147483647 launches, but got more; use fewer different numbers}}
mono.schedule @slots_without_a_common_turn target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [8] : f32
  // expected-note @below {{slots(64)}}
  %m1 = mono.mailbox "m1" tagged scope(peers) slots(64) [8] : f32
  // expected-note @below {{slots(63)}}
  %m2 = mono.mailbox "m2" tagged scope(peers) slots(63) [8] : f32
  // expected-note @below {{slots(61)}}
  %m3 = mono.mailbox "m3" tagged scope(peers) slots(61) [8] : f32
  // expected-note @below {{slots(59)}}
  %m4 = mono.mailbox "m4" tagged scope(peers) slots(59) [8] : f32
  // expected-note @below {{slots(53)}}
  %m5 = mono.mailbox "m5" tagged scope(peers) slots(53) [8] : f32
  // expected-note @below {{slots(47)}}
  %m6 = mono.mailbox "m6" tagged scope(peers) slots(47) [8] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [8] : tensor<8xf32>
    mono.post %v to %m1[0] : tensor<8xf32>
  }
}

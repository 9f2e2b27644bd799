// Schedules on one device that look suspicious and are right.
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

// All workgroups of a stage post and then wait for each other: nobody waits before its post.
mono.schedule @same_stage_post_then_receive target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
    %w = mono.receive %m[0, 0] [4, 64] sum : tensor<64xf32>
  }
}

// -----

// The consumer comes first in the file, but its workgroup has nothing to do in the producer.
mono.schedule @consumer_first_on_a_workgroup_of_its_own target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [3, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [3, 64] : f32
  mono.stage "wait" (%t) tasks [1] base [3] {
    %v = mono.receive %m[0, 0] [3, 64] sum : tensor<64xf32>
  }
  mono.stage "post" (%t) tasks [3] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Receives before posts all along a chain: task 0 starts it.
mono.schedule @chain_of_workgroups target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [5, 64] : f32
  mono.stage "start" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[0, 0] : tensor<64xf32>
  }
  mono.stage "chain" (%t) tasks [4] base [0] {
    %v = mono.receive %m[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t + 1, 0] : tensor<1x64xf32>
  }
}

// -----

// The same chain backwards over the workgroups: the last task has the first word.
mono.schedule @chain_against_the_order_of_tasks target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [5, 64] : f32
  mono.stage "start" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[4, 0] : tensor<64xf32>
  }
  mono.stage "chain" (%t) tasks [4] base [0] {
    %v = mono.receive %m[%t + 1, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Four tasks on one workgroup, each waiting for the one before it.
mono.schedule @tasks_of_one_workgroup_in_order target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [5, 64] : f32
  mono.stage "start" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[0, 0] : tensor<64xf32>
  }
  mono.stage "chain" (%t) tasks [4] base [0] {
    %v = mono.receive %m[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t + 1, 0] : tensor<1x64xf32>
  }
}

// -----

// Ping and pong in one launch: each wait has its post in front of it, across two workgroups.
mono.schedule @there_and_back_in_one_stage target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [2, 64] : f32
  %ping = mono.mailbox "ping" tagged scope(device) slots(1) [2, 64] : f32
  %pong = mono.mailbox "pong" tagged scope(device) slots(1) [2, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %ping[%t, 0] : tensor<1x64xf32>
    %w = mono.receive %ping[1 - %t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %w to %pong[%t, 0] : tensor<1x64xf32>
    %x = mono.receive %pong[1 - %t, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// The base wraps around the grid: tasks 0 and 1 run on workgroups 3 and 0.
mono.schedule @base_wraps_around target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [2, 64] : f32
  %r = mono.region "r" [64] : f32
  mono.stage "fill" (%t) tasks [2] base [3] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    mono.store %c, %r[0] : tensor<64xf32>
  }
  mono.stage "use" (%t) tasks [2] base [3] {
    %v = mono.load %r[0] [64] : tensor<64xf32>
    mono.store %v, %y[%t, 0] : tensor<64xf32>
  }
}

// -----

// Posts that nobody receives stay in the slot: no harm.
mono.schedule @posted_and_never_received target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "t" (%t) tasks [1] base [0] {
    %v = mono.receive %m[1, 0] [2, 64] sum : tensor<64xf32>
  }
}

// -----

// One word is read by every workgroup, several times.
mono.schedule @received_many_times target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  mono.stage "post" (%t) tasks [1] base [2] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[0] : tensor<64xf32>
  }
  mono.stage "read" (%t) tasks [8] base [0] {
    %v = mono.receive %m[0] [64] : tensor<64xf32>
    %w = mono.receive %m[0] [64] : tensor<64xf32>
  }
}

// -----

// Slices of consumer and producer differ: 3 posts of 64 for 4 waits of 48.
mono.schedule @slices_of_different_width target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [192] : f32
  mono.stage "post" (%t) tasks [3] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[%t * 64] : tensor<64xf32>
  }
  mono.stage "wait" (%t) tasks [4] base [0] {
    %v = mono.receive %m[%t * 48] [48] : tensor<48xf32>
  }
}

// -----

// Tiles that interleave: each task has every fourth row.
mono.schedule @interleaved_rows target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [2, 64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 4, 64] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[0, 0] [1, 64] : tensor<1x64xf32>
    mono.post %v to %m[0, %t, 0] : tensor<1x64xf32>
    mono.post %v to %m[1, %t, 0] : tensor<1x64xf32>
  }
  mono.stage "wait" (%t) tasks [2] base [0] {
    %v = mono.receive %m[%t, 0, 0] [1, 4, 64] : tensor<1x4x64xf32>
  }
}

// -----

// Every second pair, written with the task as a divisor: even all the same.
mono.schedule @even_offsets_of_a_quotient target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [2] : bf16
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8] : bf16
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %a[0] [2] : tensor<2xbf16>
    mono.post %v to %m[symbol(%t) * 2] : tensor<2xbf16>
  }
}

// -----

// An operand that is updated in place: each thread loads what it stores, and first.
mono.schedule @updated_in_place target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" update [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    %w = arith.addf %v, %v : tensor<1x64xf32>
    mono.store %w, %x[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// The same over two stages with the same workgroups, and only half of it.
mono.schedule @updated_in_a_later_stage target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" update [8, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32
  mono.stage "read" (%t) tasks [4] base [1] {
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "write" (%t) tasks [4] base [1] {
    %c = arith.constant dense<1.0> : tensor<1x64xf32>
    mono.store %c, %x[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Loads of the rows that nobody stores.
mono.schedule @other_rows_of_an_updated_operand target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" update [8, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %x[%t + 4, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %x[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// An output put together by two stages.
mono.schedule @output_of_two_stages target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [2, 128] : f32
  mono.stage "left" (%t) tasks [2] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    mono.store %c, %y[%t, 0] : tensor<64xf32>
  }
  mono.stage "right" (%t) tasks [1] base [0] {
    %c = arith.constant dense<1.0> : tensor<2x64xf32>
    mono.store %c, %y[0, 64] : tensor<2x64xf32>
  }
}

// -----

// A region that is filled by two tasks of the workgroup that reads it.
mono.schedule @region_filled_task_by_task target("gfx950") grid(2 x 64) {
  %r = mono.region "r" [2, 64] : f32
  %y = mono.operand "y" write [2, 2, 64] : f32
  mono.stage "fill" (%t) tasks [4] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    mono.store %c, %r[%t floordiv 2, 0] : tensor<64xf32>
  }
  mono.stage "use" (%t) tasks [2] base [0] {
    %v = mono.load %r[0, 0] [2, 64] : tensor<2x64xf32>
    mono.store %v, %y[%t, 0, 0] : tensor<2x64xf32>
  }
}

// -----

// Each rank fills and reads its own row of a region.
mono.schedule @region_row_of_the_rank target("gfx950") grid(2 x 64) {
  %rank = mono.ranks [4]
  %r = mono.region "r" [4, 64] : f32
  %y = mono.operand "y" write [2, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    mono.store %c, %r[%rank, 0] : tensor<64xf32>
    %v = mono.load %r[%rank, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// A region written twice, read in between and after.
mono.schedule @region_written_again target("gfx950") grid(1 x 128) {
  %a = mono.operand "a" read [256] : f32
  %y = mono.operand "y" write [2, 256] : f32
  %r = mono.region "r" [256] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [256] : tensor<256xf32>
    mono.store %v, %r[0] : tensor<256xf32>
    %w = mono.load %r[0] [256] : tensor<256xf32>
    mono.store %w, %y[0, 0] : tensor<256xf32>
    %c = arith.addf %w, %w : tensor<256xf32>
    mono.store %c, %r[0] : tensor<256xf32>
    %z = mono.load %r[0] [256] : tensor<256xf32>
    mono.store %z, %y[1, 0] : tensor<256xf32>
  }
}

// -----

// Rows of this launch from LDS, older ones from memory, while another workgroup writes them there:
// whatever the indices are, and though those of both stages may be the same.
mono.schedule @cache_of_rows target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %y = mono.operand "y" write [2, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  %new = mono.mailbox "new" tagged scope(device) slots(1) [2, 64] : bf16
  %fresh = mono.region "fresh" [2, 64] : bf16
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [1] base [0] {
    %i = mono.receive %places[0] [2] : tensor<2xi32>
    %v = arith.constant dense<1.0> : tensor<2x64xbf16>
    %low = tensor.extract_slice %v[0, 0] [2, 32] [1, 1] : tensor<2x64xbf16> to tensor<2x32xbf16>
    mono.scatter %low, %cache[0] at %i : tensor<2x32xbf16>, tensor<2xi32>
    mono.scatter %low, %cache[32] at %i : tensor<2x32xbf16>, tensor<2xi32>
    mono.post %v to %new[0, 0] : tensor<2x64xbf16>
  }
  mono.stage "get" (%t) tasks [1] base [1] {
    mono.receive %new[0, 0] [2, 64] into %fresh
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %p = mono.receive %places[0] [2] : tensor<2xi32>
    %v = mono.gather %cache or %fresh places(%p : tensor<2xi32>) at %i : tensor<2xi32> -> tensor<2x64xbf16>
    mono.store %v, %y[0, 0] : tensor<2x64xbf16>
  }
}

// -----

// Four tasks write two rows, each a half, and columns that depend on the rank.
mono.schedule @halves_of_rows target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 128] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [4] base [0] {
    %i = mono.receive %places[%t floordiv 2] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x32xbf16>
    mono.scatter %v, %cache[(%t mod 2) * 64 + %rank * 32] at %i : tensor<1x32xbf16>, tensor<1xi32>
  }
}

// -----

// Every row is posted by an earlier stage: whichever is named, it comes.
mono.schedule @rows_of_a_mailbox target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : bf16
  %ids = mono.operand "ids" read [2] : i32
  %y = mono.operand "y" write [2, 64] : bf16
  %m = mono.mailbox "m" tagged scope(device) slots(1) [2, 2, 64] : bf16
  %r = mono.region "r" [2, 64] : bf16
  mono.stage "post" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xbf16>
    mono.post %v to %m[%t floordiv 2, %t mod 2, 0] : tensor<1x64xbf16>
  }
  mono.stage "wait" (%t) tasks [1] base [2] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    mono.receive_rows %m at %i into %r : tensor<2xi32>
    %v = mono.load %r[0, 0] [2, 64] : tensor<2x64xbf16>
    mono.store %v, %y[0, 0] : tensor<2x64xbf16>
  }
}

// Rows at places known at run time that two tasks could write, or that could be read while they are.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

mono.schedule @load_beside_a_scatter target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %y = mono.operand "y" write [1, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [1] base [0] {
    %i = mono.receive %places[0] [2] : tensor<2xi32>
    %v = arith.constant dense<1.0> : tensor<2x64xbf16>
    // expected-note @below {{written here; read the operand with mono.gather ... or %region places(...), where the region holds the rows of this launch}}
    mono.scatter %v, %cache[0] at %i : tensor<2x64xbf16>, tensor<2xi32>
  }
  mono.stage "get" (%t) tasks [1] base [1] {
    // expected-error @below {{stage 'get' reads operand 'cache', of which another workgroup writes rows in the same launch that are known at run time only}}
    %v = mono.load %cache[3, 0] [1, 64] : tensor<1x64xbf16>
    mono.store %v, %y[0, 0] : tensor<1x64xbf16>
  }
}

// -----

// A gather without 'or' could want a row of this launch, wherever it stands.
mono.schedule @gather_beside_a_scatter target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %y = mono.operand "y" write [2, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "get" (%t) tasks [1] base [1] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-error @below {{stage 'get' reads operand 'cache', of which another workgroup writes rows in the same launch that are known at run time only}}
    %v = mono.gather %cache at %i : tensor<2xi32> -> tensor<2x64xbf16>
    mono.store %v, %y[0, 0] : tensor<2x64xbf16>
  }
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [1] base [0] {
    %i = mono.receive %places[0] [2] : tensor<2xi32>
    %v = arith.constant dense<1.0> : tensor<2x64xbf16>
    // expected-note @below {{written here}}
    mono.scatter %v, %cache[0] at %i : tensor<2x64xbf16>, tensor<2xi32>
  }
}

// -----

mono.schedule @store_beside_a_scatter target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [1] base [0] {
    %i = mono.receive %places[0] [2] : tensor<2xi32>
    %v = arith.constant dense<1.0> : tensor<2x64xbf16>
    // expected-note @below {{written here}}
    mono.scatter %v, %cache[0] at %i : tensor<2x64xbf16>, tensor<2xi32>
  }
  mono.stage "clear" (%t) tasks [1] base [0] {
    %v = arith.constant dense<0.0> : tensor<1x64xbf16>
    // expected-error @below {{stage 'clear' stores to operand 'cache', of which another workgroup writes rows}}
    mono.store %v, %cache[0, 0] : tensor<1x64xbf16>
  }
}

// -----

// The places of two tasks may be one: each computes its own, from what may be the same.
mono.schedule @own_places target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  mono.stage "put" (%t) tasks [2] base [0] {
    %i = mono.load %ids[%t] [1] : tensor<1xi32>
    // expected-note @below {{computed here, where nothing tells it from the places of other tasks; let one task compute the places of all rows, post what mono.distinct makes of them, and receive the task's own}}
    %p = arith.addi %i, %i : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-error @below {{expected rows of operand 'cache' to be scattered at places from a mailbox, but got a value of 'arith.addi'}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

// What comes from the mailbox is changed on the way.
mono.schedule @places_moved target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %i = mono.receive %places[%t] [1] : tensor<1xi32>
    %two = arith.constant dense<2> : tensor<1xi32>
    // expected-note @below {{computed here}}
    %p = arith.divui %i, %two : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-error @below {{expected rows of operand 'cache' to be scattered at places from a mailbox, but got a value of 'arith.divui'}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

// Places of two mailboxes are different within each only.
mono.schedule @two_mailboxes target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %a = mono.mailbox "a" tagged scope(device) slots(1) [1] : i32
  %b = mono.mailbox "b" tagged scope(device) slots(1) [1] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [1] : tensor<1xi32>
    %d = mono.distinct %i : tensor<1xi32>
    mono.post %d to %a[0] : tensor<1xi32>
    %j = mono.load %ids[1] [1] : tensor<1xi32>
    %e = mono.distinct %j : tensor<1xi32>
    mono.post %e to %b[0] : tensor<1xi32>
  }
  mono.stage "put" (%t) tasks [1] base [0] {
    %p = mono.receive %a[0] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{scattered here at places from mailbox 'a'}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
  mono.stage "put_more" (%t) tasks [1] base [1] {
    %p = mono.receive %b[0] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-error @below {{expected all rows of operand 'cache' to be scattered at places from one mailbox, but got mailbox 'b' and mailbox 'a'}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

mono.schedule @places_as_they_came target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-error @below {{expected the places in mailbox 'places' to be what mono.distinct makes in one post, but got a value of 'mono.load'}}
    mono.post %i to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %p = mono.receive %places[%t] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{rows of operand 'cache' are scattered here at them: two that are equal would be written by two tasks}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

// Each task sees to it that its own places differ.
mono.schedule @places_of_several_tasks target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [2] base [2] {
    %i = mono.load %ids[%t] [1] : tensor<1xi32>
    %d = mono.distinct %i : tensor<1xi32>
    // expected-error @below {{expected the places in mailbox 'places' to be what mono.distinct makes in one post, but task 1 of stage 'place' on workgroup 3 posts some of them, too}}
    // expected-note @below {{others are posted here by task 0 of stage 'place' on workgroup 2}}
    mono.post %d to %places[%t] : tensor<1xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %p = mono.receive %places[%t] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{rows of operand 'cache' are scattered here}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

// Ranks know nothing of each other's places either.
mono.schedule @places_of_several_ranks target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(peers) slots(2) [2] : i32
  mono.stage "place" (%t) tasks [1] base [2] {
    %i = mono.load %ids[%rank] [1] : tensor<1xi32>
    %d = mono.distinct %i : tensor<1xi32>
    // expected-error @below {{expected the places in mailbox 'places' to be what mono.distinct makes in one post, but task 0 of stage 'place' on workgroup 2 of rank 1 posts some of them, too}}
    // expected-note @below {{others are posted here by task 0 of stage 'place' on workgroup 2 of rank 0}}
    mono.post %d to %places[%rank] : tensor<1xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %p = mono.receive %places[%t] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{rows of operand 'cache' are scattered here}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

mono.schedule @places_in_two_posts target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [4] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [4] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    // expected-note @below {{others are posted here by task 0 of stage 'place' on workgroup 3}}
    mono.post %d to %places[0] : tensor<2xi32>
    %j = mono.load %ids[2] [2] : tensor<2xi32>
    %e = mono.distinct %j : tensor<2xi32>
    // expected-error @below {{expected the places in mailbox 'places' to be what mono.distinct makes in one post, but task 0 of stage 'place' on workgroup 3 posts some of them, too}}
    mono.post %e to %places[2] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [4] base [0] {
    %p = mono.receive %places[%t] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{rows of operand 'cache' are scattered here}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

// Tasks 0 and 2 take the same place.
mono.schedule @place_taken_twice target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [3] base [0] {
    %p = mono.receive %places[%t mod 2] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-error @below {{expected every row of operand 'cache' to be scattered once per launch, but column 0 of the row at place [0] of mailbox 'places' is written again by task 2 of stage 'put' on workgroup 2}}
    // expected-note @below {{written before by task 0 of stage 'put' on workgroup 0; let every task receive places of its own}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
}

// -----

// Columns of one row from two stages, which overlap.
mono.schedule @columns_written_twice target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 96] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "low" (%t) tasks [1] base [0] {
    %p = mono.receive %places[0] [2] : tensor<2xi32>
    %v = arith.constant dense<1.0> : tensor<2x64xbf16>
    // expected-note @below {{written before by task 0 of stage 'low' on workgroup 0}}
    mono.scatter %v, %cache[0] at %p : tensor<2x64xbf16>, tensor<2xi32>
  }
  mono.stage "high" (%t) tasks [2] base [1] {
    %p = mono.receive %places[1] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x32xbf16>
    // expected-error @below {{column 32 of the row at place [1] of mailbox 'places' is written again by task 0 of stage 'high' on workgroup 1}}
    mono.scatter %v, %cache[%t * 32 + 32] at %p : tensor<1x32xbf16>, tensor<1xi32>
  }
}

// -----

// The place of row 1 is not among those compared: its row would be read from memory.
mono.schedule @some_places target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %y = mono.operand "y" write [2, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  %fresh = mono.region "fresh" [1, 64] : bf16
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %p = mono.receive %places[%t] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{written here: a row whose place is not known would be read from memory}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
  mono.stage "get" (%t) tasks [1] base [2] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %p = mono.receive %places[0] [1] : tensor<1xi32>
    %n = arith.constant dense<1.0> : tensor<1x64xbf16>
    mono.store %n, %fresh[0, 0] : tensor<1x64xbf16>
    // expected-error @below {{expected all places at which rows of operand 'cache' are written, from mailbox 'places', but got mailbox 'places' without element [1] in task 0 of stage 'get' on workgroup 2}}
    %v = mono.gather %cache or %fresh places(%p : tensor<1xi32>) at %i : tensor<2xi32> -> tensor<2x64xbf16>
    mono.store %v, %y[0, 0] : tensor<2x64xbf16>
  }
}

// -----

// As they were before mono.distinct, or moved by one: they need not be those that are written at.
mono.schedule @other_places target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %cache = mono.operand "cache" update [16, 64] : bf16
  %y = mono.operand "y" write [2, 64] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  %fresh = mono.region "fresh" [2, 64] : bf16
  mono.stage "place" (%t) tasks [1] base [3] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %d = mono.distinct %i : tensor<2xi32>
    mono.post %d to %places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %p = mono.receive %places[%t] [1] : tensor<1xi32>
    %v = arith.constant dense<1.0> : tensor<1x64xbf16>
    // expected-note @below {{written here}}
    mono.scatter %v, %cache[0] at %p : tensor<1x64xbf16>, tensor<1xi32>
  }
  mono.stage "get" (%t) tasks [1] base [2] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %n = arith.constant dense<1.0> : tensor<2x64xbf16>
    mono.store %n, %fresh[0, 0] : tensor<2x64xbf16>
    // expected-error @below {{expected all places at which rows of operand 'cache' are written, from mailbox 'places', but got a value of 'mono.load'}}
    %v = mono.gather %cache or %fresh places(%i : tensor<2xi32>) at %i : tensor<2xi32> -> tensor<2x64xbf16>
    mono.store %v, %y[0, 0] : tensor<2x64xbf16>
  }
}

// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-place-memory

mono.schedule @unbound target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected a bound schedule, but it has a 'mono.param'; run --mono-bind-parameters first}}
  %S = mono.param "S" in [1 to 8]
  %a = mono.region "a" [%S, 512] : f32
}

// -----

mono.schedule @too_much_lds target("gfx950") grid(4 x 64) {
  // expected-note @below {{region 'a' takes 131072 bytes}}
  %a = mono.region "a" [64, 512] : f32
  // expected-note @below {{region 'b' takes 65536 bytes}}
  %b = mono.region "b" [32, 512] : f32
  // expected-error @below {{expected at most 163840 bytes of LDS (gfx950, one workgroup), but stage 'both' needs 196608}}
  mono.stage "both" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [64, 512] : tensor<64x512xf32>
    %y = mono.load %b[0, 0] [32, 512] : tensor<32x512xf32>
  }
}

// -----

// The second region lives on past the stage that is full, which does not use the first.
mono.schedule @too_much_over_stages target("gfx950") grid(4 x 64) {
  // expected-note @below {{region 'a' takes 131072 bytes and lives from stage 'fill' to stage 'use'}}
  %a = mono.region "a" [64, 512] : f32
  // expected-note-re @below {{region 'b' takes 65536 bytes{{$}}}}
  %b = mono.region "b" [32, 512] : f32
  mono.stage "fill" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [64, 512] : tensor<64x512xf32>
  }
  // expected-error @below {{expected at most 163840 bytes of LDS (gfx950, one workgroup), but stage 'between' needs 196608}}
  mono.stage "between" (%t) tasks [1] base [0] {
    %y = mono.load %b[0, 0] [32, 512] : tensor<32x512xf32>
  }
  mono.stage "use" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [64, 512] : tensor<64x512xf32>
  }
}

// -----

mono.schedule @pinned_off_16_bytes target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected a multiple of 16 bytes after 'at' (ds_read_b128), but got 8}}
  %a = mono.region "a" [128] : f32 at 8
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [128] : tensor<128xf32>
  }
}

// -----

mono.schedule @pinned_past_the_lds target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected region 'a' inside the 163840 bytes of LDS, but it is pinned at 163344 to 163856}}
  %a = mono.region "a" [128] : f32 at 163344
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [128] : tensor<128xf32>
  }
}

// -----

mono.schedule @pinned_before_the_lds target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected region 'a' inside the 163840 bytes of LDS, but it is pinned at -512 to 0}}
  %a = mono.region "a" [128] : f32 at -512
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [128] : tensor<128xf32>
  }
}

// -----

// As checklist C4 9: a region that grew over the next one.
mono.schedule @pinned_regions_overlap target("gfx950") grid(4 x 64) {
  // expected-note @below {{region 'a' is pinned here}}
  %a = mono.region "a" [4, 128] : f32 at 0
  // expected-error @below {{region 'b' is pinned at 1024 to 1536, over region 'a' at 0 to 2048, and both live in stage 'two'}}
  %b = mono.region "b" [128] : f32 at 1024
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 128] : tensor<4x128xf32>
  }
  // expected-note @below {{both live from here on}}
  mono.stage "two" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 128] : tensor<4x128xf32>
    %y = mono.load %b[0] [128] : tensor<128xf32>
  }
  mono.stage "three" (%t) tasks [1] base [0] {
    %y = mono.load %b[0] [128] : tensor<128xf32>
  }
}

// -----

// A life has no holes: 'a' also lives in the stage between its uses.
mono.schedule @pinned_over_a_pause target("gfx950") grid(4 x 64) {
  // expected-note @below {{region 'a' is pinned here}}
  %a = mono.region "a" [128] : f32 at 0
  // expected-error @below {{region 'b' is pinned at 496 to 1008, over region 'a' at 0 to 512, and both live from stage 'two' to stage 'three'}}
  %b = mono.region "b" [128] : f32 at 496
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [128] : tensor<128xf32>
  }
  // expected-note @below {{both live from here on}}
  mono.stage "two" (%t) tasks [1] base [0] {
    %y = mono.load %b[0] [128] : tensor<128xf32>
  }
  mono.stage "three" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [128] : tensor<128xf32>
    %y = mono.load %b[0] [128] : tensor<128xf32>
  }
}

// -----

// There are bytes enough, but the pinned region cuts them in two.
mono.schedule @no_gap_large_enough target("gfx950") grid(4 x 64) {
  // expected-note @below {{region 'middle' is pinned at 81904 to 82416}}
  %middle = mono.region "middle" [128] : f32 at 81904
  // expected-error @below {{no room for region 'large': its 81920 bytes would end at 164336 of 163840 bytes of LDS, though no stage needs more than 147968}}
  %large = mono.region "large" [160, 128] : f32
  // expected-note @below {{region 'other' lies at 0 to 65536}}
  %other = mono.region "other" [128, 128] : f32
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %middle[0] [128] : tensor<128xf32>
    %y = mono.load %large[0, 0] [160, 128] : tensor<160x128xf32>
    %z = mono.load %other[0, 0] [128, 128] : tensor<128x128xf32>
  }
}

// -----

mono.schedule @mailboxes_past_32_bits target("gfx950") grid(4 x 64) {
  %a = mono.mailbox "a" tagged scope(peers) slots(1) [16384, 8192] : f32
  // expected-error @below {{expected at most 2147483647 bytes of mailboxes of scope 'peers' (32-bit offsets), but with mailbox 'b' there are 2147483648}}
  %b = mono.mailbox "b" tagged scope(peers) slots(1) [16384, 8192] : f32
  mono.stage "one" (%t) tasks [1] base [0] {
  }
}

// Regions that do not live together share LDS; mailboxes get addresses by scope.
// RUN: mono-opt %s --mono-place-memory | FileCheck %s

// CHECK-LABEL: mono.schedule @overlay
// CHECK-SAME: mono.device_mailbox_bytes = 640 : i64
// CHECK-SAME: mono.lds_bytes = 6144 : i64
// CHECK-SAME: mono.peer_mailbox_bytes = 1024 : i64
mono.schedule @overlay target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [8, 64] : f32
  // CHECK: mono.mailbox "d1" {{.*}} : f32 at 0
  %d1 = mono.mailbox "d1" tagged scope(device) slots(1) [65] : f32
  // CHECK: mono.mailbox "p" {{.*}} : f32 at 0
  %p = mono.mailbox "p" tagged scope(peers) slots(2) [64] : f32
  // CHECK-DAG: mono.region "early" [8, 128] : f32 at 0
  %early = mono.region "early" [8, 128] : f32
  // CHECK-DAG: mono.region "late" [4, 128] : f32 at 0
  %late = mono.region "late" [4, 128] : f32
  // CHECK-DAG: mono.region "through" [4, 128] : f32 at 4096
  %through = mono.region "through" [4, 128] : f32
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %early[0, 0] [8, 128] : tensor<8x128xf32>
    %y = mono.load %through[0, 0] [4, 128] : tensor<4x128xf32>
  }
  mono.stage "two" (%t) tasks [1] base [0] {
    %x = mono.load %late[0, 0] [4, 128] : tensor<4x128xf32>
    %y = mono.load %through[0, 0] [4, 128] : tensor<4x128xf32>
  }
}

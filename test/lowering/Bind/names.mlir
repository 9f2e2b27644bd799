// A routine can be called more than once: what it declares gets a number where its name is taken, also
// by something that comes later or is the schedule's own.
// RUN: mono-opt %s --mono-bind-parameters | FileCheck %s

mono.routine @hand_on(%x : !mono.buffer, %y : !mono.buffer) {
  %box = mono.mailbox "box" tagged scope(device) slots(1) [64] : f32
  %r = mono.region "r" [64] : f32
  mono.stage "give" (%t) tasks [1] base [0] {
    %v = mono.load %x[0] [64] : tensor<64xf32>
    mono.store %v, %r[0] : tensor<64xf32>
    mono.post %v to %box[0] : tensor<64xf32>
  }
  mono.stage "take" (%t) tasks [1] base [1] {
    %v = mono.receive %box[0] [64] : tensor<64xf32>
    mono.store %v, %y[0] : tensor<64xf32>
  }
}

// CHECK-LABEL: mono.schedule @twice
mono.schedule @twice target("gfx950") grid(2 x 64) {
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" write [64] : f32
  // CHECK: mono.operand "box_2"
  %z = mono.operand "box_2" write [64] : f32
  // CHECK: %[[BOX:.*]] = mono.mailbox "box" tagged
  // CHECK: mono.region "r" [
  // CHECK: mono.stage "give" (
  // CHECK: mono.post %{{.*}} to %[[BOX]]
  // CHECK: mono.stage "take_2" (
  mono.call @hand_on(%x, %y) : (!mono.buffer, !mono.buffer) -> ()
  // CHECK: %[[BOX3:.*]] = mono.mailbox "box_3" tagged
  // CHECK: mono.region "r_2" [
  // CHECK: mono.stage "give_2" (
  // CHECK: mono.post %{{.*}} to %[[BOX3]]
  // CHECK: mono.stage "take_3" (
  mono.call @hand_on(%x, %z) : (!mono.buffer, !mono.buffer) -> ()
  // CHECK: mono.stage "take" (
  mono.stage "take" (%t) tasks [1] base [0] {
  }
}

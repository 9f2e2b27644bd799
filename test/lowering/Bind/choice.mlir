// What parameters choose with arith.select: sizes, the rank or a fixed index, a mailbox. The mailbox that
// is not chosen, and one that only a stage without tasks uses, are gone.
// RUN: mono-opt %s --mono-bind-parameters="params=TP=4,SHARED=1" | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: mono-opt %s --mono-bind-parameters="params=TP=4,SHARED=0" | FileCheck %s --check-prefixes=CHECK,OWN

// CHECK-LABEL: mono.schedule @choice
mono.schedule @choice target("gfx950") grid(4 x 64) {
  %TP = mono.param "TP" in [1, 2, 4, 8]
  %SHARED = mono.param "SHARED" in [0, 1]
  %NEVER = mono.param "NEVER" in [0, 1] default 0
  // CHECK: %[[RANK:.*]] = mono.ranks [4]
  %rank = mono.ranks [%TP]
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %isShared = arith.cmpi eq, %SHARED, %one : index
  %shares = arith.select %isShared, %TP, %one : index
  %share = arith.select %isShared, %rank, %zero : index
  // ALL: mono.operand "x" read [16] : f32
  // OWN: mono.operand "x" read [64] : f32
  %x = mono.operand "x" read [64 floordiv symbol(%shares)] : f32
  %y = mono.operand "y" write [64] : f32
  // ALL-NOT: mono.mailbox "own"
  // ALL: %[[M:.*]] = mono.mailbox "all" tagged scope(peers)
  // OWN: %[[M:.*]] = mono.mailbox "own" tagged scope(device)
  // OWN-NOT: mono.mailbox "all"
  // CHECK-NOT: mono.mailbox "unused"
  %own = mono.mailbox "own" tagged scope(device) slots(1) [64] : f32
  %all = mono.mailbox "all" tagged scope(peers) slots(2) [64] : f32
  %m = arith.select %isShared, %all, %own : !mono.mailbox
  %unused = mono.mailbox "unused" tagged scope(device) slots(1) [64] : f32
  // CHECK: mono.stage "post" (%[[T:.*]]) tasks
  mono.stage "post" (%t) tasks [64 floordiv (symbol(%shares) * 16)] base [0] {
    %v = mono.load %x[%t * 16] [16] : tensor<16xf32>
    // ALL: mono.post %{{.*}} to %[[M]][%[[RANK]] * 16 + %[[T]] * 16]
    // OWN: mono.post %{{.*}} to %[[M]][%[[T]] * 16]
    mono.post %v to %m[%share * 16 + %t * 16] : tensor<16xf32>
  }
  mono.stage "never" (%t) tasks [%NEVER] base [0] {
    %v = mono.load %x[0] [16] : tensor<16xf32>
    mono.post %v to %unused[0] : tensor<16xf32>
  }
  mono.stage "receive" (%t) tasks [1] base [1] {
    // CHECK: mono.receive %[[M]][0] [64]
    %v = mono.receive %m[0] [64] : tensor<64xf32>
    mono.store %v, %y[0] : tensor<64xf32>
  }
}

// A kernel whose launches differ by what lies in device memory alone: each of two ranks multiplies its
// x by its position, both take both products in, and the position moves on by one.
mono.schedule @graph_replay target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [256] : i32
  %position = mono.operand "position" update [256] : i32
  %y = mono.operand "y" update [256] : i32
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [512] : i32

  mono.stage "post" (%t) tasks [4] base [0] {
    %mine = mono.load %x[%t * 64] [64] : tensor<64xi32>
    %here = mono.load %position[%t * 64] [64] : tensor<64xi32>
    %part = arith.muli %mine, %here : tensor<64xi32>
    mono.post %part to %parts[%rank * 256 + %t * 64] : tensor<64xi32>
    %one = arith.constant dense<1> : tensor<64xi32>
    %next = arith.addi %here, %one : tensor<64xi32>
    mono.store %next, %position[%t * 64] : tensor<64xi32>
  }
  // y = 3 y + part 0 + part 1: three is odd, so that y keeps a trace of every launch that went wrong.
  mono.stage "sum" (%t) tasks [4] base [0] {
    %old = mono.load %y[%t * 64] [64] : tensor<64xi32>
    %three = arith.constant dense<3> : tensor<64xi32>
    %scaled = arith.muli %old, %three : tensor<64xi32>
    %part0 = mono.receive %parts[%t * 64] [64] : tensor<64xi32>
    %part1 = mono.receive %parts[%t * 64 + 256] [64] : tensor<64xi32>
    %both = arith.addi %part0, %part1 : tensor<64xi32>
    %new = arith.addi %scaled, %both : tensor<64xi32>
    mono.store %new, %y[%t * 64] : tensor<64xi32>
  }
}

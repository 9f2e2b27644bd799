// Rows normalised over all ranks, y = x / sqrt(mean of x^2): each rank has 256 columns, four workgroups
// of it 64 each. The solution of the exercise in docs/tutorial.md.
mono.schedule @rms_over_ranks target("gfx950") grid(4 x 64) {
  %S = mono.param "S" in [1 to 8]
  %TP = mono.param "TP" in [1, 2, 4, 8]
  %rank = mono.ranks [%TP]

  %x = mono.operand "x" read [%S, 256] : f32
  %y = mono.operand "y" write [%S, 256] : f32
  // A row for each workgroup of each rank, so that one sum is over all of them.
  %squares = mono.mailbox "squares" tagged scope(peers) slots(2) [%TP * 4, %S] : f32

  mono.stage "square" (%t) tasks [4] base [0] {
    %v = mono.load %x[0, %t * 64] [%S, 64] : tensor<?x64xf32>
    %square = arith.mulf %v, %v : tensor<?x64xf32>
    %zero = arith.constant 0.0 : f32
    %init = tensor.splat %zero[%S] : tensor<?xf32>
    %sum = linalg.reduce { arith.addf } ins(%square : tensor<?x64xf32>) outs(%init : tensor<?xf32>)
      dimensions = [1]
    mono.post %sum to %squares[%rank * 4 + %t, 0] : tensor<?xf32>
  }

  mono.stage "scale" (%t) tasks [4] base [0] {
    %v = mono.load %x[0, %t * 64] [%S, 64] : tensor<?x64xf32>
    %sum = mono.receive %squares[0, 0] [%TP * 4, %S] sum : tensor<?xf32>
    %own = arith.constant 256 : index
    %columns = arith.muli %own, %TP : index
    %columns32 = arith.index_cast %columns : index to i32
    %n = arith.sitofp %columns32 : i32 to f32
    %ns = tensor.splat %n[%S] : tensor<?xf32>
    %mean = arith.divf %sum, %ns : tensor<?xf32>
    %rstd = math.rsqrt %mean : tensor<?xf32>
    %empty = tensor.empty(%S) : tensor<?x64xf32>
    %wide = linalg.broadcast ins(%rstd : tensor<?xf32>) outs(%empty : tensor<?x64xf32>)
      dimensions = [1]
    %scaled = arith.mulf %v, %wide : tensor<?x64xf32>
    mono.store %scaled, %y[0, %t * 64] : tensor<?x64xf32>
  }
}

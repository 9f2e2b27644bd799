// Collectives over the ranks of a schedule.

// Second half of a symmetric all-reduce, fused with the residual: y = x + sum over ranks of `parts`,
// for [rows, tasks * width] values. `parts` is a peers mailbox [ranks, rows, columns] to which every
// rank has posted its partial sums under its own index. Every rank adds the same words in the same
// order, so all ranks get the same bits. `result` is a mailbox [rows, columns] that hands y on.
mono.routine @all_reduce_residual(%parts : !mono.mailbox, %x : !mono.buffer, %y : !mono.buffer,
                                  %result : !mono.mailbox, %ranks : index, %rows : index,
                                  %width : index, %tasks : index, %base : index) {
  mono.stage "all_reduce" (%t) tasks [%tasks] base [%base] {
    %x16 = mono.load %x[0, %t * symbol(%width)] [%rows, %width] : tensor<?x?xbf16>
    %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
    %sum = mono.receive %parts[0, 0, %t * symbol(%width)] [%ranks, %rows, %width] sum
      : tensor<?x?xf32>
    %y32 = arith.addf %x32, %sum : tensor<?x?xf32>
    %y16 = arith.truncf %y32 : tensor<?x?xf32> to tensor<?x?xbf16>
    mono.store %y16, %y[0, %t * symbol(%width)] : tensor<?x?xbf16>
    mono.post %y16 to %result[0, %t * symbol(%width)] : tensor<?x?xbf16>
  }
}

// Collectives over the ranks of a schedule: the half that receives. The other half is a mono.post under
// the rank's own index to a `peers` mailbox, in the stage that makes the values. What a rank posts goes
// to every rank. Sums are over ranks in rising order, in f32, so all ranks get the same bits.

// All-reduce, stage "all_reduce": y = sum over ranks of `parts`, rounded once to bf16.
//   parts   peers mailbox [ranks, rows, tasks * width] bf16 or f32
//   y       operand [rows, tasks * width] bf16
mono.routine @all_reduce(%parts : !mono.mailbox, %y : !mono.buffer, %ranks : index, %rows : index,
                         %width : index, %tasks : index, %base : index) {
  mono.stage "all_reduce" (%t) tasks [%tasks] base [%base] {
    %sum = mono.receive %parts[0, 0, %t * symbol(%width)] [%ranks, %rows, %width] sum
      : tensor<?x?xf32>
    %y16 = arith.truncf %sum : tensor<?x?xf32> to tensor<?x?xbf16>
    mono.store %y16, %y[0, %t * symbol(%width)] : tensor<?x?xbf16>
  }
}

// All-gather, stage "all_gather", one task for a rank: y = the parts side by side.
//   parts   peers mailbox [ranks, rows, share] bf16
//   y       operand [rows, ranks * share] bf16
mono.routine @all_gather(%parts : !mono.mailbox, %y : !mono.buffer, %ranks : index, %rows : index,
                         %share : index, %base : index) {
  mono.stage "all_gather" (%t) tasks [%ranks] base [%base] {
    %part = mono.receive %parts[%t, 0, 0] [1, %rows, %share] : tensor<1x?x?xbf16>
    %columns = tensor.collapse_shape %part [[0, 1], [2]] : tensor<1x?x?xbf16> into tensor<?x?xbf16>
    mono.store %columns, %y[0, %t * symbol(%share)] : tensor<?x?xbf16>
  }
}

// Reduce-scatter, stage "reduce_scatter": y = this rank's share of the columns of the sum over ranks,
// rounded once to bf16. Every rank receives all columns of all parts and adds up its share of them.
//   parts   peers mailbox [ranks, rows, ranks * tasks * width] bf16 or f32
//   y       operand [rows, tasks * width] bf16
//   rank    mono.ranks
mono.routine @reduce_scatter(%parts : !mono.mailbox, %y : !mono.buffer, %rank : index,
                             %ranks : index, %rows : index, %width : index, %tasks : index,
                             %base : index) {
  mono.stage "reduce_scatter" (%t) tasks [%tasks] base [%base] {
    %sum = mono.receive %parts[0, 0, (%rank * symbol(%tasks) + %t) * symbol(%width)] [%ranks, %rows, %width] sum
      : tensor<?x?xf32>
    %y16 = arith.truncf %sum : tensor<?x?xf32> to tensor<?x?xbf16>
    mono.store %y16, %y[0, %t * symbol(%width)] : tensor<?x?xbf16>
  }
}

// All-reduce fused with the residual, stage "all_reduce": y = x + sum over ranks of `parts`, rounded
// once to bf16. For the end of a kernel: @all_reduce_residual hands y on to later stages, too.
//   parts   peers mailbox [ranks, rows, tasks * width] bf16 or f32
//   x, y    operands [rows, tasks * width] bf16
mono.routine @all_reduce_add(%parts : !mono.mailbox, %x : !mono.buffer, %y : !mono.buffer,
                             %ranks : index, %rows : index, %width : index, %tasks : index,
                             %base : index) {
  mono.stage "all_reduce" (%t) tasks [%tasks] base [%base] {
    %y16 = mono.call @residual_columns(%parts, %x, %t, %ranks, %rows, %width)
      : (!mono.mailbox, !mono.buffer, index, index, index, index) -> tensor<?x?xbf16>
    mono.store %y16, %y[0, %t * symbol(%width)] : tensor<?x?xbf16>
  }
}

// The same where later stages need y, which an operand of this launch can't give them.
//   result  mailbox [rows, tasks * width] bf16: y; somebody must receive it
mono.routine @all_reduce_residual(%parts : !mono.mailbox, %x : !mono.buffer, %y : !mono.buffer,
                                  %result : !mono.mailbox, %ranks : index, %rows : index,
                                  %width : index, %tasks : index, %base : index) {
  mono.stage "all_reduce" (%t) tasks [%tasks] base [%base] {
    %y16 = mono.call @residual_columns(%parts, %x, %t, %ranks, %rows, %width)
      : (!mono.mailbox, !mono.buffer, index, index, index, index) -> tensor<?x?xbf16>
    mono.store %y16, %y[0, %t * symbol(%width)] : tensor<?x?xbf16>
    mono.post %y16 to %result[0, %t * symbol(%width)] : tensor<?x?xbf16>
  }
}

// Columns t * width ..+ width of x + sum over ranks of `parts`, [rows, width].
mono.routine @residual_columns(%parts : !mono.mailbox, %x : !mono.buffer, %t : index,
                               %ranks : index, %rows : index, %width : index) -> tensor<?x?xbf16> {
  %x16 = mono.load %x[0, %t * symbol(%width)] [%rows, %width] : tensor<?x?xbf16>
  %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %sum = mono.receive %parts[0, 0, %t * symbol(%width)] [%ranks, %rows, %width] sum
    : tensor<?x?xf32>
  %y32 = arith.addf %x32, %sum : tensor<?x?xf32>
  %y16 = arith.truncf %y32 : tensor<?x?xf32> to tensor<?x?xbf16>
  mono.yield %y16 : tensor<?x?xbf16>
}

// Mixture of experts in decode: which experts the rows of a batch need, which row needs which, and the
// experts themselves. Experts are streamed once however many rows chose them; each distinct one is a
// group.
//
// Every workgroup calls @store_groups after routing, and what it stores stays in its LDS. Then come a
// stage for gate and up, by @experts_gate_up or @experts_gate_up_apart, and one for down, @experts_down.
// Their weights are codes with scales in any format that mono.stream has; 512 threads per workgroup.

mono.import "activation.mlir"

// The distinct experts of a batch that chose `ids` [rows, chosen] of `experts` experts, rising, then -1:
// [most]. `pairs` is rows * chosen, `most` the smaller of that and of `experts`.
mono.routine @distinct_experts(%ids : tensor<?x?xi32>, %experts : index, %pairs : index,
                               %most : index) -> tensor<?xi32> {
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x?xi32> into tensor<?xi32>
  %empty = tensor.empty(%experts, %pairs) : tensor<?x?xi32>
  %wide = linalg.broadcast ins(%flat : tensor<?xi32>) outs(%empty : tensor<?x?xi32>) dimensions = [0]
  %number = tensor.generate %experts, %pairs {
  ^bb0(%e : index, %p : index):
    %e32 = arith.index_cast %e : index to i32
    tensor.yield %e32 : i32
  } : tensor<?x?xi32>
  %equal = arith.cmpi eq, %wide, %number : tensor<?x?xi32>
  // Chosen experts have key 0, the others -inf, which is never selected.
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %lows = tensor.splat %low[%experts, %pairs] : tensor<?x?xf32>
  %zeros = tensor.splat %zero[%experts, %pairs] : tensor<?x?xf32>
  %keys = arith.select %equal, %zeros, %lows : tensor<?x?xi1>, tensor<?x?xf32>
  %init = tensor.splat %low[%experts] : tensor<?xf32>
  %key = linalg.reduce { arith.maximumf } ins(%keys : tensor<?x?xf32>) outs(%init : tensor<?xf32>)
    dimensions = [1]
  %row = tensor.expand_shape %key [[0, 1]] output_shape [1, %experts]
    : tensor<?xf32> into tensor<1x?xf32>
  %list = mono.select top [%most] of %row : tensor<1x?xf32> -> tensor<1x?xi32>
  %list1 = tensor.collapse_shape %list [[0, 1]] : tensor<1x?xi32> into tensor<?xi32>
  mono.yield %list1 : tensor<?xi32>
}

// The groups of a batch with a shared expert: group 0 is that, number `experts`; then come the
// @distinct_experts. `most` is the number of groups without the shared one.
mono.routine @expert_groups(%ids : tensor<?x?xi32>, %experts : index, %pairs : index, %most : index)
    -> tensor<?xi32> {
  %list = mono.call @distinct_experts(%ids, %experts, %pairs, %most)
    : (tensor<?x?xi32>, index, index, index) -> tensor<?xi32>
  %one = arith.constant 1 : index
  %count = arith.addi %most, %one : index
  %shared = arith.index_cast %experts : index to i32
  %sharedOnly = tensor.splat %shared[%count] : tensor<?xi32>
  %groups = tensor.insert_slice %list into %sharedOnly[1] [%most] [1]
    : tensor<?xi32> into tensor<?xi32>
  mono.yield %groups : tensor<?xi32>
}

// Where group g is choice c of row s: 1, elsewhere 0; [groups, rows, choices]. With a shared expert that
// is the last choice of every row. Choices that a row does not have are past the end.
mono.routine @chosen_by(%groups : tensor<?xi32>, %choices : tensor<?x?xi32>, %count : index,
                        %rows : index, %chosen : index) -> tensor<?x?x?xi1> {
  %empty = tensor.empty(%count, %rows, %chosen) : tensor<?x?x?xi32>
  %group = linalg.broadcast ins(%groups : tensor<?xi32>) outs(%empty : tensor<?x?x?xi32>)
    dimensions = [1, 2]
  %choice = linalg.broadcast ins(%choices : tensor<?x?xi32>) outs(%empty : tensor<?x?x?xi32>)
    dimensions = [0]
  %equal = arith.cmpi eq, %group, %choice : tensor<?x?x?xi32>
  mono.yield %equal : tensor<?x?x?xi1>
}

// Routing weight of each row for each group, [groups, rows]: 0 where a row has not chosen it.
mono.routine @group_weights(%by : tensor<?x?x?xi1>, %weights : tensor<?x?xf32>, %count : index,
                            %rows : index, %chosen : index) -> tensor<?x?xf32> {
  %empty = tensor.empty(%count, %rows, %chosen) : tensor<?x?x?xf32>
  %wide = linalg.broadcast ins(%weights : tensor<?x?xf32>) outs(%empty : tensor<?x?x?xf32>)
    dimensions = [0]
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.splat %zero[%count, %rows, %chosen] : tensor<?x?x?xf32>
  %kept = arith.select %by, %wide, %zeros : tensor<?x?x?xi1>, tensor<?x?x?xf32>
  %init = tensor.splat %zero[%count, %rows] : tensor<?x?xf32>
  %sum = linalg.reduce { arith.addf } ins(%kept : tensor<?x?x?xf32>) outs(%init : tensor<?x?xf32>)
    dimensions = [2]
  mono.yield %sum : tensor<?x?xf32>
}

// Pair number, row * choices + choice, of each row in each group, [groups, rows]; -1 where there is
// none.
mono.routine @group_pairs(%by : tensor<?x?x?xi1>, %count : index, %rows : index, %chosen : index)
    -> tensor<?x?xi32> {
  %number = tensor.generate %count, %rows, %chosen {
  ^bb0(%g : index, %s : index, %c : index):
    %first = arith.muli %s, %chosen : index
    %pair = arith.addi %first, %c : index
    %pair32 = arith.index_cast %pair : index to i32
    tensor.yield %pair32 : i32
  } : tensor<?x?x?xi32>
  %none = arith.constant -1 : i32
  %nones = tensor.splat %none[%count, %rows, %chosen] : tensor<?x?x?xi32>
  %kept = arith.select %by, %number, %nones : tensor<?x?x?xi1>, tensor<?x?x?xi32>
  %init = tensor.splat %none[%count, %rows] : tensor<?x?xi32>
  %pair = linalg.reduce { arith.maxsi } ins(%kept : tensor<?x?x?xi32>) outs(%init : tensor<?x?xi32>)
    dimensions = [2]
  mono.yield %pair : tensor<?x?xi32>
}

// For each pair, row * choices + choice, the row group * rows + row of a [groups, rows, ...] mailbox.
mono.routine @pair_rows(%by : tensor<?x?x?xi1>, %count : index, %rows : index, %chosen : index,
                        %pairs : index) -> tensor<?xi32> {
  %number = tensor.generate %count, %rows, %chosen {
  ^bb0(%g : index, %s : index, %c : index):
    %first = arith.muli %g, %rows : index
    %place = arith.addi %first, %s : index
    %place32 = arith.index_cast %place : index to i32
    tensor.yield %place32 : i32
  } : tensor<?x?x?xi32>
  %none = arith.constant -1 : i32
  %nones = tensor.splat %none[%count, %rows, %chosen] : tensor<?x?x?xi32>
  %kept = arith.select %by, %number, %nones : tensor<?x?x?xi1>, tensor<?x?x?xi32>
  %flat = tensor.collapse_shape %kept [[0], [1, 2]] : tensor<?x?x?xi32> into tensor<?x?xi32>
  %empty = tensor.empty(%pairs, %count) : tensor<?x?xi32>
  %byPair = linalg.transpose ins(%flat : tensor<?x?xi32>) outs(%empty : tensor<?x?xi32>)
    permutation = [1, 0]
  %init = tensor.splat %none[%pairs] : tensor<?xi32>
  %place = linalg.reduce { arith.maxsi } ins(%byPair : tensor<?x?xi32>) outs(%init : tensor<?xi32>)
    dimensions = [1]
  mono.yield %place : tensor<?xi32>
}

// All of the above into regions: group_weight [count, rows] f32, group_pair [count, rows] i32 and
// pair_row [pairs] i32, with which mono.contract ... rows and mono.receive_rows go from group to group.
mono.routine @store_groups(%groups : tensor<?xi32>, %choices : tensor<?x?xi32>,
                           %weights : tensor<?x?xf32>, %group_weight : !mono.buffer,
                           %group_pair : !mono.buffer, %pair_row : !mono.buffer, %count : index,
                           %rows : index, %chosen : index, %pairs : index) {
  %by = mono.call @chosen_by(%groups, %choices, %count, %rows, %chosen)
    : (tensor<?xi32>, tensor<?x?xi32>, index, index, index) -> tensor<?x?x?xi1>
  %groupWeight = mono.call @group_weights(%by, %weights, %count, %rows, %chosen)
    : (tensor<?x?x?xi1>, tensor<?x?xf32>, index, index, index) -> tensor<?x?xf32>
  mono.store %groupWeight, %group_weight[0, 0] : tensor<?x?xf32>
  %groupPair = mono.call @group_pairs(%by, %count, %rows, %chosen)
    : (tensor<?x?x?xi1>, index, index, index) -> tensor<?x?xi32>
  mono.store %groupPair, %group_pair[0, 0] : tensor<?x?xi32>
  %pairRow = mono.call @pair_rows(%by, %count, %rows, %chosen, %pairs)
    : (tensor<?x?x?xi1>, index, index, index, index) -> tensor<?xi32>
  mono.store %pairRow, %pair_row[0] : tensor<?xi32>
  mono.yield
}

// SwiGLU of what task t has of its group, [rows, 16], with the routing weights of the rows, to the units:
// what @experts_gate_up and @experts_gate_up_apart end with.
mono.routine @post_units(%gate : tensor<?x16xf32>, %up : tensor<?x16xf32>,
                         %group_weight : !mono.buffer, %units : !mono.mailbox, %t : index,
                         %tiles : index, %rows : index) {
  %sixteen = arith.constant 16 : index
  %weight1 = mono.load %group_weight[%t floordiv symbol(%tiles), 0] [1, %rows] : tensor<1x?xf32>
  %weight = tensor.collapse_shape %weight1 [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
  %unit = mono.call @swiglu(%gate, %up, %weight, %rows, %sixteen)
    : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
  %unit16 = arith.truncf %unit : tensor<?x16xf32> to tensor<?x16xbf16>
  mono.post %unit16 to %units[%t floordiv symbol(%tiles), 0, (%t mod symbol(%tiles)) * 16] : tensor<?x16xbf16>
  mono.yield
}

// Gate and up of all groups, stage "gate_up", 16 units of a group a task: units = SiLU(W_gate row) *
// (W_up row) * routing weight. Groups past the last distinct expert read nothing and post zeros.
//   row           region [rows, hidden] bf16, the normed rows
//   w             operand [experts, 32 * tiles, hidden]: 16 rows of gate, the 16 of up for the same
//                 units, and so on; with `scales` MXFP4 or MXFP8 (linear.mlir)
//   groups, group_weight  regions [count] i32 and [count, rows] f32: @store_groups
//   units         mailbox [count, rows, 16 * tiles or more] bf16
mono.routine @experts_gate_up(%row : !mono.buffer, %w : !mono.buffer, %scales : !mono.buffer,
                              %groups : !mono.buffer, %group_weight : !mono.buffer,
                              %units : !mono.mailbox, %count : index, %tiles : index,
                              %rows : index, %hidden : index, %experts : index, %base : index) {
  mono.stage "gate_up" (%t) tasks [%count * symbol(%tiles)] base [%base] {
    %expert = mono.load %groups[%t floordiv symbol(%tiles)] [1] : tensor<1xi32>
    %weights = mono.stream %w[0, (%t mod symbol(%tiles)) * 32, 0] [%experts, 32, %hidden] scaled %scales groups(%expert : tensor<1xi32>) split_k(8)
    %both = mono.contract %row[0, 0] [%rows, %hidden], %weights : tensor<?x32xf32>
    %gate = tensor.extract_slice %both[0, 0] [%rows, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
    %up = tensor.extract_slice %both[0, 16] [%rows, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
    mono.call @post_units(%gate, %up, %group_weight, %units, %t, %tiles, %rows)
      : (tensor<?x16xf32>, tensor<?x16xf32>, !mono.buffer, !mono.mailbox, index, index, index) -> ()
  }
}

// The same with gate and up in operands of their own, [experts, 16 * tiles, hidden] each, as checkpoints
// have them: for any format, FP8 in blocks too, whose blocks are of one matrix.
mono.routine @experts_gate_up_apart(%row : !mono.buffer, %w_gate : !mono.buffer,
                                    %gate_scales : !mono.buffer, %w_up : !mono.buffer,
                                    %up_scales : !mono.buffer, %groups : !mono.buffer,
                                    %group_weight : !mono.buffer, %units : !mono.mailbox,
                                    %count : index, %tiles : index, %rows : index,
                                    %hidden : index, %experts : index, %base : index) {
  mono.stage "gate_up" (%t) tasks [%count * symbol(%tiles)] base [%base] {
    %expert = mono.load %groups[%t floordiv symbol(%tiles)] [1] : tensor<1xi32>
    %gates = mono.stream %w_gate[0, (%t mod symbol(%tiles)) * 16, 0] [%experts, 16, %hidden] scaled %gate_scales groups(%expert : tensor<1xi32>) split_k(8)
    %ups = mono.stream %w_up[0, (%t mod symbol(%tiles)) * 16, 0] [%experts, 16, %hidden] scaled %up_scales groups(%expert : tensor<1xi32>) split_k(8)
    %gate = mono.contract %row[0, 0] [%rows, %hidden], %gates : tensor<?x16xf32>
    %up = mono.contract %row[0, 0] [%rows, %hidden], %ups : tensor<?x16xf32>
    mono.call @post_units(%gate, %up, %group_weight, %units, %t, %tiles, %rows)
      : (tensor<?x16xf32>, tensor<?x16xf32>, !mono.buffer, !mono.mailbox, index, index, index) -> ()
  }
}

// Down of all groups, stage "down", 16 columns of the output a task: this rank's part of the sum over the
// experts, in rising order of their numbers. For the second half of an all-reduce (collective.mlir).
//   units    mailbox [count, rows, depth] bf16; all of it is posted
//   w        operand [experts, hidden, depth], scales as in linear.mlir
//   groups, group_pair, pair_row  regions: @store_groups
//   partial  mailbox [ranks, rows, hidden] bf16, peers
// `pairs` is rows * choices; at most 16 rows.
mono.routine @experts_down(%units : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
                           %groups : !mono.buffer, %group_pair : !mono.buffer,
                           %pair_row : !mono.buffer, %partial : !mono.mailbox, %rank : index,
                           %count : index, %pairs : index, %rows : index, %hidden : index,
                           %depth : index, %experts : index, %base : index) {
  %u = mono.region "expert_units" [%pairs, %depth] pad(8) : bf16
  mono.stage "down" (%t) tasks [%hidden floordiv 16] base [%base] {
    %list = mono.load %groups[0] [%count] : tensor<?xi32>
    %weights = mono.stream %w[0, %t * 16, 0] [%experts, 16, %depth] scaled %scales groups(%list : tensor<?xi32>) split_k(8)
    %places = mono.load %pair_row[0] [%pairs] : tensor<?xi32>
    %pair = mono.load %group_pair[0, 0] [%count, %rows] : tensor<?x?xi32>
    mono.receive_rows %units at %places into %u : tensor<?xi32>
    %sum = mono.contract %u[0, 0] [%pairs, %depth] rows(%pair : tensor<?x?xi32>), %weights : tensor<?x16xf32>
    %sum16 = arith.truncf %sum : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %sum16 to %partial[%rank, 0, %t * 16] : tensor<?x16xbf16>
  }
}

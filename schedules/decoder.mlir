// Stages that decoder layers share: from the residual stream to heads, and back to it over all ranks.
mono.import "elementwise.mlir"
mono.import "norm.mlir"
mono.import "rope.mlir"
mono.import "sizes.mlir"

// Heads of the normed input, stage "project_heads": out[s, a, :] = W[a * dim ..+ dim, :] RMSNorm(x[s]).
//   x      operand [rows, hidden] bf16; every workgroup norms for itself
//   gamma  operand [hidden] bf16
//   w      operand [heads * dim, hidden] bf16, #mono.mfma_rows<16>: queries, keys, values
//   out    mailbox [rows, heads, dim] f32
// hidden is a multiple of 256, dim of 16. For a grid of 512 threads per workgroup: 8 wavefronts share the
// depth.
mono.routine @project_heads(%x : !mono.buffer, %gamma : !mono.buffer, %w : !mono.buffer,
                            %out : !mono.mailbox, %rows : index, %hidden : index, %heads : index,
                            %dim : index, %eps : f32) {
  %waves = arith.constant 256 : index                     // 32 of the depth for each of 8 wavefronts
  %tile = arith.constant 16 : index
  %wholeDepth = mono.call @is_multiple(%hidden, %waves) : (index, index) -> i1
  mono.require %wholeDepth, "expected `hidden` to be a multiple of 256 for @project_heads"
  %wholeHead = mono.call @is_multiple(%dim, %tile) : (index, index) -> i1
  mono.require %wholeHead, "expected `dim` to be a multiple of 16 for @project_heads"
  %normed = mono.region "normed_input" [%rows, %hidden] pad(8) : bf16
  mono.stage "project_heads" (%t) tasks [(%heads * symbol(%dim)) floordiv 16] base [0] {
    // Asked for before the weights: loads return in order.
    %x16 = mono.load %x[0, 0] [%rows, %hidden] : tensor<?x?xbf16>
    %gamma16 = mono.load %gamma[0] [%hidden] : tensor<?xbf16>
    %weights = mono.stream %w[%t * 16, 0] [16, %hidden] split_k(8)
    %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
    %h = mono.call @rms_norm(%x32, %gamma16, %eps, %rows, %hidden)
      : (tensor<?x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<?x?xbf16>
    mono.store %h, %normed[0, 0] : tensor<?x?xbf16>
    %sum = mono.contract %normed[0, 0] [%rows, %hidden], %weights : tensor<?x16xf32>
    %box = tensor.expand_shape %sum [[0, 1], [2]] output_shape [%rows, 1, 16]
      : tensor<?x16xf32> into tensor<?x1x16xf32>
    mono.post %box to %out[0, (%t * 16) floordiv symbol(%dim), (%t * 16) mod symbol(%dim)] : tensor<?x1x16xf32>
  }
}

// Head t mod heads of row t floordiv heads of @project_heads' `out`, counted from head `first`: queries,
// keys or values as the caller's weights have them.
mono.routine @receive_head(%projected : !mono.mailbox, %t : index, %heads : index, %first : index,
                           %dim : index) -> tensor<1x?xf32> {
  %box = mono.receive %projected[%t floordiv symbol(%heads), %t mod symbol(%heads) + %first, 0] [1, 1, %dim] : tensor<1x1x?xf32>
  %head = tensor.collapse_shape %box [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
  mono.yield %head : tensor<1x?xf32>
}

// RoPE, halves paired, of one head [1, dim] by the angles of its row (@rope_angles), to bf16.
mono.routine @rotate_head(%head : tensor<1x?xf32>, %angles : tensor<1x?xf32>, %dim : index)
    -> tensor<1x?xbf16> {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %pairs = arith.divui %dim, %two : index
  %rotated = mono.call @rope_halves(%head, %angles, %one, %pairs)
    : (tensor<1x?xf32>, tensor<1x?xf32>, index, index) -> tensor<1x?xf32>
  %rotated16 = arith.truncf %rotated : tensor<1x?xf32> to tensor<1x?xbf16>
  mono.yield %rotated16 : tensor<1x?xbf16>
}

// A new key or value of head t mod heads of row t floordiv heads: to its place in the cache for later
// launches, to the mailbox `new` [rows, heads, dim] for this one (@gqa_parts).
mono.routine @keep_head(%head : tensor<1x?xbf16>, %place : tensor<1xi32>, %cache : !mono.buffer,
                        %new : !mono.mailbox, %t : index, %heads : index) {
  mono.scatter %head, %cache[0] at %place : tensor<1x?xbf16>, tensor<1xi32>
  mono.post %head to %new[%t floordiv symbol(%heads), %t mod symbol(%heads), 0] : tensor<1x?xbf16>
  mono.yield
}

// Attention's output projection on this rank's heads, stage "o_proj": 32 columns of the residual
// stream a task, first half of an all-reduce.
//   heads    mailbox [rows, depth] bf16
//   w        operand [hidden, depth] bf16, #mono.mfma_rows<16>; depth a multiple of 256
//   partial  mailbox [ranks, rows, hidden] bf16, peers
// For a grid of 512 or 1024 threads per workgroup: 8 wavefronts share the depth, two the rows.
mono.routine @project_output(%heads : !mono.mailbox, %w : !mono.buffer, %partial : !mono.mailbox,
                             %rank : index, %rows : index, %hidden : index, %depth : index) {
  %waves = arith.constant 256 : index                     // 32 of the depth for each of 8 wavefronts
  %tile = arith.constant 32 : index
  %wholeDepth = mono.call @is_multiple(%depth, %waves) : (index, index) -> i1
  mono.require %wholeDepth, "expected `depth` to be a multiple of 256 for @project_output"
  %wholeTiles = mono.call @is_multiple(%hidden, %tile) : (index, index) -> i1
  mono.require %wholeTiles, "expected `hidden` to be a multiple of 32 for @project_output"
  %o = mono.region "o_proj_input" [%rows, %depth] pad(8) : bf16
  mono.stage "o_proj" (%t) tasks [%hidden floordiv 32] base [0] {
    %weights = mono.stream %w[%t * 32, 0] [32, %depth] split_k(8)
    mono.receive %heads[0, 0] [%rows, %depth] into %o
    %sum = mono.contract %o[0, 0] [%rows, %depth], %weights : tensor<?x32xf32>
    %rounded = arith.truncf %sum : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %partial[%rank, 0, %t * 32] : tensor<?x32xbf16>
  }
}

// Second half of the all-reduce, residual, and the part of the next RMSNorm that needs no other
// column, stage "reduce", 128 columns per task:
//   residual = x + sum over ranks of partial
//   partial  peers mailbox [parts, rows, hidden] bf16: @project_output
//   x        operand [rows, hidden] bf16
//   gamma    operand [hidden] bf16
//   stream   region [rows, 128] f32: keeps the residual on the workgroup, for @add_output
//   result   operand [rows, hidden] bf16: the residual
//   scaled   mailbox [rows, hidden] bf16: residual * gamma
//   squares  mailbox [hidden / 128, rows] f32: sums of squares of the residual, for @receive_rms
//   base     first of the workgroups that take a task each; best those that have no weights before
mono.routine @reduce_and_norm(%partial : !mono.mailbox, %x : !mono.buffer, %gamma : !mono.buffer,
                              %stream : !mono.buffer, %result : !mono.buffer,
                              %scaled : !mono.mailbox, %squares : !mono.mailbox, %parts : index,
                              %rows : index, %hidden : index, %base : index) {
  %width = arith.constant 128 : index
  %whole = mono.call @is_multiple(%hidden, %width) : (index, index) -> i1
  mono.require %whole, "expected `hidden` to be a multiple of 128 for @reduce_and_norm"
  mono.stage "reduce" (%t) tasks [%hidden floordiv 128] base [%base] {
    %gamma16 = mono.load %gamma[%t * 128] [128] : tensor<128xbf16>
    %gamma32 = arith.extf %gamma16 : tensor<128xbf16> to tensor<128xf32>
    %x16 = mono.load %x[0, %t * 128] [%rows, 128] : tensor<?x128xbf16>
    %x32 = arith.extf %x16 : tensor<?x128xbf16> to tensor<?x128xf32>
    %sum = mono.receive %partial[0, 0, %t * 128] [%parts, %rows, 128] sum : tensor<?x128xf32>
    %residual = arith.addf %x32, %sum : tensor<?x128xf32>
    mono.store %residual, %stream[0, 0] : tensor<?x128xf32>
    %residual16 = arith.truncf %residual : tensor<?x128xf32> to tensor<?x128xbf16>
    mono.store %residual16, %result[0, %t * 128] : tensor<?x128xbf16>
    %square = mono.call @sum_of_squares(%residual, %rows) : (tensor<?x128xf32>, index) -> tensor<?xf32>
    mono.post %square to %squares[%t, 0] : tensor<?xf32>
    %g = mono.call @scale_columns(%residual, %gamma32, %rows, %width)
      : (tensor<?x128xf32>, tensor<128xf32>, index, index) -> tensor<?x128xf32>
    %g16 = arith.truncf %g : tensor<?x128xf32> to tensor<?x128xbf16>
    mono.post %g16 to %scaled[0, %t * 128] : tensor<?x128xbf16>
  }
}

// 1 / rms of each row from @reduce_and_norm's squares, [rows]: what products of `scaled` lack.
mono.routine @receive_rms(%squares : !mono.mailbox, %rows : index, %hidden : index, %eps : f32)
    -> tensor<?xf32> {
  %n = mono.call @size_as_f32(%hidden) : (index) -> f32
  %sum = mono.receive %squares[0, 0] [%hidden floordiv 128, %rows] sum : tensor<?xf32>
  %rstd = mono.call @reciprocal_rms(%sum, %rows, %n, %eps)
    : (tensor<?xf32>, index, f32, f32) -> tensor<?xf32>
  mono.yield %rstd : tensor<?xf32>
}

// Columns first ..+ count of the normed residual from @reduce_and_norm's `scaled`, into a region.
mono.routine @receive_normed(%scaled : !mono.mailbox, %rstd : tensor<?xf32>, %into : !mono.buffer,
                             %first : index, %rows : index, %count : index) {
  %raw16 = mono.receive %scaled[0, %first] [%rows, %count] : tensor<?x?xbf16>
  %raw = arith.extf %raw16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %normed = mono.call @scale_rows(%raw, %rstd, %rows, %count)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %normed16 = arith.truncf %normed : tensor<?x?xf32> to tensor<?x?xbf16>
  mono.store %normed16, %into[0, %first] : tensor<?x?xbf16>
  mono.yield
}

// The router's logits, stage "router", 16 experts a task; the row's 1 / rms is applied after the product.
//   scaled, squares  mailboxes of @reduce_and_norm
//   w       operand [experts, hidden] bf16, #mono.mfma_rows<16>; experts a multiple of 16
//   row     region [rows, hidden] bf16
//   result  operand [rows, experts] f32
//   logits  mailbox [rows, experts] f32: the same
mono.routine @project_logits(%scaled : !mono.mailbox, %squares : !mono.mailbox, %w : !mono.buffer,
                             %row : !mono.buffer, %result : !mono.buffer, %logits : !mono.mailbox,
                             %rows : index, %hidden : index, %experts : index, %eps : f32,
                             %base : index) {
  %tile = arith.constant 16 : index
  %whole = mono.call @is_multiple(%experts, %tile) : (index, index) -> i1
  mono.require %whole, "expected `experts` to be a multiple of 16 for @project_logits"
  mono.stage "router" (%t) tasks [%experts floordiv 16] base [%base] {
    %weights = mono.stream %w[%t * 16, 0] [16, %hidden] split_k(8)
    mono.receive %scaled[0, 0] [%rows, %hidden] into %row
    %raw = mono.contract %row[0, 0] [%rows, %hidden], %weights : tensor<?x16xf32>
    %rstd = mono.call @receive_rms(%squares, %rows, %hidden, %eps)
      : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    %logit = mono.call @scale_rows(%raw, %rstd, %rows, %tile)
      : (tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
    mono.store %logit, %result[0, %t * 16] : tensor<?x16xf32>
    mono.post %logit to %logits[0, %t * 16] : tensor<?x16xf32>
  }
}

// What a workgroup's regions `ids` and `weights` [rows, chosen] i32 and f32 have of the routing, to
// operands: stage "routing_result", one task, on a workgroup that has routed.
mono.routine @store_routing(%ids : !mono.buffer, %weights : !mono.buffer, %result_ids : !mono.buffer,
                            %result_weights : !mono.buffer, %rows : index, %chosen : index,
                            %base : index) {
  mono.stage "routing_result" (%t) tasks [1] base [%base] {
    %id = mono.load %ids[0, 0] [%rows, %chosen] : tensor<?x?xi32>
    %weight = mono.load %weights[0, 0] [%rows, %chosen] : tensor<?x?xf32>
    mono.store %id, %result_ids[0, 0] : tensor<?x?xi32>
    mono.store %weight, %result_weights[0, 0] : tensor<?x?xf32>
  }
}

// The layer's end, stage "output": y = stream + sum over the parts of all ranks of `partial`, a peers
// mailbox [parts, rows, hidden] bf16. On the workgroups of @reduce_and_norm, which have the stream: with
// the same base.
mono.routine @add_output(%partial : !mono.mailbox, %stream : !mono.buffer, %y : !mono.buffer,
                         %parts : index, %rows : index, %hidden : index, %base : index) {
  %width = arith.constant 128 : index
  %whole = mono.call @is_multiple(%hidden, %width) : (index, index) -> i1
  mono.require %whole, "expected `hidden` to be a multiple of 128 for @add_output"
  mono.stage "output" (%t) tasks [%hidden floordiv 128] base [%base] {
    %residual = mono.load %stream[0, 0] [%rows, 128] : tensor<?x128xf32>
    %sum = mono.receive %partial[0, 0, %t * 128] [%parts, %rows, 128] sum : tensor<?x128xf32>
    %y32 = arith.addf %residual, %sum : tensor<?x128xf32>
    %y16 = arith.truncf %y32 : tensor<?x128xf32> to tensor<?x128xbf16>
    mono.store %y16, %y[0, %t * 128] : tensor<?x128xbf16>
  }
}

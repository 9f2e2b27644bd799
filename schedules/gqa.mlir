// Grouped-query attention in decode over paged caches: the G query heads of a group share one key and
// value head, with a sliding window, capped scores and sinks where a model has them.
//
//   o[h] = sum over tokens t of softmax_t(cap(scale * q[h] . k[t])) v[t],  h in the group of k and v
//
// Multi-head attention is G = 1, multi-query attention one group.
mono.import "attention.mlir"
mono.import "elementwise.mlir"
mono.import "paged_cache.mlir"
mono.import "sizes.mlir"

// Tokens which * keys ..+ keys of those a row attends to, [keys]: the `window` tokens that end with its
// own, or all of them from token 0 while there are fewer than that. Numbers past its own are there too.
//   positions  operand [rows] i32: the row's own token; of a padding row any tokens (paged_cache.mlir)
mono.routine @window_tokens(%positions : !mono.buffer, %row : index, %window : index,
                            %which : index, %keys : index) -> tensor<?xi32> {
  %row32 = arith.index_cast %row : index to i32
  %rows = tensor.splat %row32[%keys] : tensor<?xi32>
  %own = mono.gather %positions at %rows : tensor<?xi32> -> tensor<?xi32>
  %one = arith.constant 1 : index
  %earlier = arith.subi %window, %one : index
  %earlier32 = arith.index_cast %earlier : index to i32
  %earliers = tensor.splat %earlier32[%keys] : tensor<?xi32>
  %start = arith.subi %own, %earliers : tensor<?xi32>
  %zero = arith.constant 0 : i32
  %zeros = tensor.splat %zero[%keys] : tensor<?xi32>
  %first = arith.maxsi %start, %zeros : tensor<?xi32>
  %begin = arith.muli %which, %keys : index
  %number = tensor.generate %keys {
  ^bb0(%i : index):
    %n = arith.addi %begin, %i : index
    %n32 = arith.index_cast %n : index to i32
    tensor.yield %n32 : i32
  } : tensor<?xi32>
  %tokens = arith.addi %first, %number : tensor<?xi32>
  mono.yield %tokens : tensor<?xi32>
}

// Rows of head `head` in a cache [rows, heads, columns], from the cache's rows of tokens
// (@known_tokens); -1 stays below 0.
mono.routine @head_rows(%index : tensor<?xi32>, %head : index, %heads : index, %n : index)
    -> tensor<?xi32> {
  %heads32 = arith.index_cast %heads : index to i32
  %head32 = arith.index_cast %head : index to i32
  %headss = tensor.splat %heads32[%n] : tensor<?xi32>
  %offset = tensor.splat %head32[%n] : tensor<?xi32>
  %first = arith.muli %index, %headss : tensor<?xi32>
  %rows = arith.addi %first, %offset : tensor<?xi32>
  mono.yield %rows : tensor<?xi32>
}

// Attention in parts: stage "attend", one task for a row, a share of its tokens and a group of heads.
//   query           mailbox [rows, heads, dim] bf16, rotated
//   new_k, new_v    mailboxes [rows, groups, dim] bf16, this launch's rows of the caches
//   places          mailbox [rows * groups] i32, where they go: @post_places
//   cache_k, _v     operands [cacheRows, groups, dim] bf16 in pages; table, positions: paged_cache.mlir
// `splits` parts of `keys` tokens cover the `window` of @window_tokens; `dim` and `keys` are multiples of
// 32. `scale` multiplies the dot products, `cap` as in @softcap.
// Results, for @gqa_combine: mailboxes of values [rows, splits, heads, dim], maxima and sums
// [rows, heads, splits] f32. Padding rows (paged_cache.mlir) attend to nothing, and get zeros from it.
mono.routine @gqa_parts(%query : !mono.mailbox, %new_k : !mono.mailbox, %new_v : !mono.mailbox,
                        %places : !mono.mailbox, %cache_k : !mono.buffer, %cache_v : !mono.buffer,
                        %table : !mono.buffer, %positions : !mono.buffer, %rows : index,
                        %heads : index, %groups : index, %dim : index, %pages : index,
                        %page : index, %window : index, %splits : index, %keys : index,
                        %scale : f32, %cap : f32)
    -> (!mono.mailbox, !mono.mailbox, !mono.mailbox) {
  %shared = mono.call @is_multiple(%heads, %groups) : (index, index) -> i1
  mono.require %shared, "expected `heads` to be a multiple of `groups` for @gqa_parts"
  %step = arith.constant 32 : index
  %wholeParts = mono.call @is_multiple(%keys, %step) : (index, index) -> i1
  mono.require %wholeParts, "expected `keys` to be a multiple of 32 for @gqa_parts"
  %held = arith.muli %pages, %page : index
  %attended = arith.minui %held, %window : index
  %covered = arith.muli %splits, %keys : index
  %isCovered = arith.cmpi uge, %covered, %attended : index
  mono.require %isCovered, "expected `splits` parts of `keys` tokens to cover the `window`, or all tokens a row may have, for @gqa_parts"
  %tablePages = mono.size %table axis 1 : !mono.buffer
  %isTable = arith.cmpi eq, %tablePages, %pages : index
  mono.require %isTable, "expected `pages`, not the tokens of a page, to be the columns of the table for @gqa_parts"
  %value = mono.mailbox "attention_value" tagged scope(device) slots(1) [%rows, %splits, %heads, %dim] : f32
  %max = mono.mailbox "attention_max" tagged scope(device) slots(1) [%rows, %heads, %splits] : f32
  %sum = mono.mailbox "attention_sum" tagged scope(device) slots(1) [%rows, %heads, %splits] : f32
  %G = arith.divui %heads, %groups : index
  %q = mono.region "attend_q" [%G, %dim] pad(8) : bf16
  %fresh_k = mono.region "attend_fresh_k" [%rows, %groups, %dim] : bf16
  %fresh_v = mono.region "attend_fresh_v" [%rows, %groups, %dim] : bf16
  %k = mono.region "attend_k" [%keys, %dim] pad(8) : bf16
  %v = mono.region "attend_v" [%keys, %dim] pad(8) : bf16
  %p = mono.region "attend_p" [%G, %keys] pad(8) : bf16

  mono.stage "attend" (%t) tasks [%rows * symbol(%splits) * symbol(%groups)] base [0] {
    %group = arith.remui %t, %groups : index
    %part = arith.divui %t, %groups : index
    %split = arith.remui %part, %splits : index
    %row = arith.divui %part, %splits : index
    %tokens = mono.call @window_tokens(%positions, %row, %window, %split, %keys)
      : (!mono.buffer, index, index, index, index) -> tensor<?xi32>
    %index = mono.call @known_tokens(%table, %positions, %tokens, %row, %pages, %page, %keys)
      : (!mono.buffer, !mono.buffer, tensor<?xi32>, index, index, index, index) -> tensor<?xi32>
    %wanted = mono.call @head_rows(%index, %group, %groups, %keys)
      : (tensor<?xi32>, index, index, index) -> tensor<?xi32>
    %new = mono.receive %places[0] [%rows * symbol(%groups)] : tensor<?xi32>
    mono.receive %new_k[0, 0, 0] [%rows, %groups, %dim] into %fresh_k
    mono.gather %cache_k or %fresh_k places(%new : tensor<?xi32>) at %wanted into %k : tensor<?xi32>
    mono.receive %new_v[0, 0, 0] [%rows, %groups, %dim] into %fresh_v
    mono.gather %cache_v or %fresh_v places(%new : tensor<?xi32>) at %wanted into %v : tensor<?xi32>
    mono.receive %query[%t floordiv (symbol(%splits) * symbol(%groups)), (%t mod symbol(%groups)) * symbol(%G), 0] [1, %G, %dim] into %q

    %dot = mono.product %q[0, 0] [%G, %dim], %k[0, 0] [%keys, %dim] : tensor<?x?xf32>
    %scales = tensor.splat %scale[%G, %keys] : tensor<?x?xf32>
    %score = arith.mulf %dot, %scales : tensor<?x?xf32>
    %capped = mono.call @softcap(%score, %cap, %G, %keys)
      : (tensor<?x?xf32>, f32, index, index) -> tensor<?x?xf32>
    %mask = mono.call @mask_of(%index, %keys) : (tensor<?xi32>, index) -> tensor<?xf32>
    %masked = mono.call @add_columns(%capped, %mask, %G, %keys)
      : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
    %p16, %most, %total = mono.call @partial_softmax(%masked, %G, %keys)
      : (tensor<?x?xf32>, index, index) -> (tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>)
    mono.store %p16, %p[0, 0] : tensor<?x?xbf16>
    %most1 = tensor.expand_shape %most [[0, 1]] output_shape [%G, 1] : tensor<?xf32> into tensor<?x1xf32>
    %total1 = tensor.expand_shape %total [[0, 1]] output_shape [%G, 1] : tensor<?xf32> into tensor<?x1xf32>
    mono.post %most1 to %max[%t floordiv (symbol(%splits) * symbol(%groups)), (%t mod symbol(%groups)) * symbol(%G), (%t floordiv symbol(%groups)) mod symbol(%splits)] : tensor<?x1xf32>
    mono.post %total1 to %sum[%t floordiv (symbol(%splits) * symbol(%groups)), (%t mod symbol(%groups)) * symbol(%G), (%t floordiv symbol(%groups)) mod symbol(%splits)] : tensor<?x1xf32>
    %o = mono.product %p[0, 0] [%G, %keys], %v[0, 0] [%keys, %dim] by_columns : tensor<?x?xf32>
    mono.post %o to %value[%t floordiv (symbol(%splits) * symbol(%groups)), (%t floordiv symbol(%groups)) mod symbol(%splits), (%t mod symbol(%groups)) * symbol(%G), 0] : tensor<?x?xf32>
  }
  mono.yield %value, %max, %sum : !mono.mailbox, !mono.mailbox, !mono.mailbox
}

// Puts the parts together: stage "combine", `slices` tasks for a row and head, each for its share of the
// columns; more of them where there are more parts than registers and LDS hold. `out` is a mailbox
// [rows, heads * dim] bf16.
mono.routine @gqa_combine(%value : !mono.mailbox, %max : !mono.mailbox, %sum : !mono.mailbox,
                          %out : !mono.mailbox, %rows : index, %heads : index, %splits : index,
                          %dim : index, %slices : index) {
  %whole = mono.call @is_multiple(%dim, %slices) : (index, index) -> i1
  mono.require %whole, "expected `slices` to divide `dim` for @gqa_combine"
  %columns = arith.divui %dim, %slices : index
  mono.stage "combine" (%t) tasks [%rows * symbol(%heads) * symbol(%slices)] base [0] {
    %most, %total, %values = mono.call @receive_parts(%value, %max, %sum, %t, %heads, %splits, %slices, %columns)
      : (!mono.mailbox, !mono.mailbox, !mono.mailbox, index, index, index, index, index)
      -> (tensor<1x?xf32>, tensor<1x?xf32>, tensor<?x?xf32>)
    %o = mono.call @combine_parts(%values, %most, %total, %splits, %columns)
      : (tensor<?x?xf32>, tensor<1x?xf32>, tensor<1x?xf32>, index, index) -> tensor<?xf32>
    %o16 = arith.truncf %o : tensor<?xf32> to tensor<?xbf16>
    mono.post %o16 to %out[%t floordiv (symbol(%heads) * symbol(%slices)), (%t mod (symbol(%heads) * symbol(%slices))) * symbol(%columns)] : tensor<?xbf16>
  }
}

// The same with a sink logit for each head: `sinks`, an operand [heads] f32.
mono.routine @gqa_combine_with_sinks(%value : !mono.mailbox, %max : !mono.mailbox,
                                     %sum : !mono.mailbox, %sinks : !mono.buffer,
                                     %out : !mono.mailbox, %rows : index, %heads : index,
                                     %splits : index, %dim : index, %slices : index) {
  %whole = mono.call @is_multiple(%dim, %slices) : (index, index) -> i1
  mono.require %whole, "expected `slices` to divide `dim` for @gqa_combine_with_sinks"
  %columns = arith.divui %dim, %slices : index
  mono.stage "combine" (%t) tasks [%rows * symbol(%heads) * symbol(%slices)] base [0] {
    %sink = mono.load %sinks[(%t floordiv symbol(%slices)) mod symbol(%heads)] [1] : tensor<1xf32>
    %most, %total, %values = mono.call @receive_parts(%value, %max, %sum, %t, %heads, %splits, %slices, %columns)
      : (!mono.mailbox, !mono.mailbox, !mono.mailbox, index, index, index, index, index)
      -> (tensor<1x?xf32>, tensor<1x?xf32>, tensor<?x?xf32>)
    %factor = mono.call @part_factors_with_sink(%most, %total, %sink, %splits)
      : (tensor<1x?xf32>, tensor<1x?xf32>, tensor<1xf32>, index) -> tensor<1x?xf32>
    %o = mono.call @add_parts(%values, %factor, %splits, %columns)
      : (tensor<?x?xf32>, tensor<1x?xf32>, index, index) -> tensor<?xf32>
    %o16 = arith.truncf %o : tensor<?xf32> to tensor<?xbf16>
    mono.post %o16 to %out[%t floordiv (symbol(%heads) * symbol(%slices)), (%t mod (symbol(%heads) * symbol(%slices))) * symbol(%columns)] : tensor<?xbf16>
  }
}

// What task t of "combine" puts together: maxima and sums [1, splits] of its head, and its columns of
// the values [splits, columns].
mono.routine @receive_parts(%value : !mono.mailbox, %max : !mono.mailbox, %sum : !mono.mailbox,
                            %t : index, %heads : index, %splits : index, %slices : index,
                            %columns : index)
    -> (tensor<1x?xf32>, tensor<1x?xf32>, tensor<?x?xf32>) {
  %max3 = mono.receive %max[%t floordiv (symbol(%heads) * symbol(%slices)), (%t floordiv symbol(%slices)) mod symbol(%heads), 0] [1, 1, %splits] : tensor<1x1x?xf32>
  %sum3 = mono.receive %sum[%t floordiv (symbol(%heads) * symbol(%slices)), (%t floordiv symbol(%slices)) mod symbol(%heads), 0] [1, 1, %splits] : tensor<1x1x?xf32>
  %value4 = mono.receive %value[%t floordiv (symbol(%heads) * symbol(%slices)), 0, (%t floordiv symbol(%slices)) mod symbol(%heads), (%t mod symbol(%slices)) * symbol(%columns)] [1, %splits, 1, %columns] : tensor<1x?x1x?xf32>
  %most = tensor.collapse_shape %max3 [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
  %total = tensor.collapse_shape %sum3 [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
  %values = tensor.collapse_shape %value4 [[0, 1], [2, 3]] : tensor<1x?x1x?xf32> into tensor<?x?xf32>
  mono.yield %most, %total, %values : tensor<1x?xf32>, tensor<1x?xf32>, tensor<?x?xf32>
}

// Caches of tokens in pages. `cache` has rows of one token each; page p of row s of a batch begins at
// cache row table[s, p] * page. The rows that a launch adds are not in memory yet for others: they
// are taken from a region, by indices past the end of the cache (mono.gather ... or).

// Cache row of token `tokens[i]` of batch row `sequence[i]`; `pages` pages a batch row.
mono.routine @cache_row(%table : !mono.buffer, %sequence : tensor<?xi32>, %tokens : tensor<?xi32>,
                        %pages : index, %page : index, %n : index) -> tensor<?xi32> {
  %pages32 = arith.index_cast %pages : index to i32
  %page32 = arith.index_cast %page : index to i32
  %pagess = tensor.splat %pages32[%n] : tensor<?xi32>
  %sizes = tensor.splat %page32[%n] : tensor<?xi32>
  %start = arith.muli %sequence, %pagess : tensor<?xi32>
  %which = arith.divui %tokens, %sizes : tensor<?xi32>
  %within = arith.remui %tokens, %sizes : tensor<?xi32>
  %entry = arith.addi %start, %which : tensor<?xi32>
  %block = mono.gather %table at %entry : tensor<?xi32> -> tensor<?xi32>
  %first = arith.muli %block, %sizes : tensor<?xi32>
  %row = arith.addi %first, %within : tensor<?xi32>
  mono.yield %row : tensor<?xi32>
}

// Index, for mono.gather of a cache of `cacheRows` rows `or` the launch's new rows, of tokens of batch
// row `row`: -1 for tokens below 0 or after the row's own. New are, with `ordered` 0, the row's own
// token; with 1, when the rows are consecutive tokens of one sequence, those from row 0 on.
mono.routine @cache_or_new(%table : !mono.buffer, %positions : !mono.buffer,
                           %tokens : tensor<?xi32>, %row : index, %ordered : index,
                           %cacheRows : index, %pages : index, %page : index, %n : index)
    -> tensor<?xi32> {
  %one = arith.constant 1 : index
  %independent = arith.subi %one, %ordered : index
  %firstNew = arith.muli %row, %independent : index
  %row32 = arith.index_cast %row : index to i32
  %firstNew32 = arith.index_cast %firstNew : index to i32
  %rows = tensor.splat %row32[%n] : tensor<?xi32>
  %firsts = tensor.splat %firstNew32[%n] : tensor<?xi32>
  %own = mono.gather %positions at %rows : tensor<?xi32> -> tensor<?xi32>
  %base = mono.gather %positions at %firsts : tensor<?xi32> -> tensor<?xi32>

  %zero = arith.constant 0 : i32
  %zeros = tensor.splat %zero[%n] : tensor<?xi32>
  %known = arith.maxsi %tokens, %zeros : tensor<?xi32>
  %bounded = arith.minsi %known, %own : tensor<?xi32>
  %old = mono.call @cache_row(%table, %rows, %bounded, %pages, %page, %n)
    : (!mono.buffer, tensor<?xi32>, tensor<?xi32>, index, index, index) -> tensor<?xi32>
  %cacheRows32 = arith.index_cast %cacheRows : index to i32
  %ends = tensor.splat %cacheRows32[%n] : tensor<?xi32>
  %since = arith.subi %tokens, %base : tensor<?xi32>
  %which = arith.addi %since, %firsts : tensor<?xi32>
  %new = arith.addi %ends, %which : tensor<?xi32>

  %isNew = arith.cmpi sge, %tokens, %base : tensor<?xi32>
  %either = arith.select %isNew, %new, %old : tensor<?xi1>, tensor<?xi32>
  %none = arith.constant -1 : i32
  %nones = tensor.splat %none[%n] : tensor<?xi32>
  %isBefore = arith.cmpi slt, %tokens, %zeros : tensor<?xi32>
  %isAfter = arith.cmpi sgt, %tokens, %own : tensor<?xi32>
  %isOut = arith.ori %isBefore, %isAfter : tensor<?xi1>
  %index = arith.select %isOut, %nones, %either : tensor<?xi1>, tensor<?xi32>
  mono.yield %index : tensor<?xi32>
}

// -inf where an index is below 0, 0 elsewhere: what masks a score.
mono.routine @mask_of(%index : tensor<?xi32>, %n : index) -> tensor<?xf32> {
  %zero = arith.constant 0 : i32
  %zeros = tensor.splat %zero[%n] : tensor<?xi32>
  %negative = arith.cmpi slt, %index, %zeros : tensor<?xi32>
  %low = arith.constant 0xFF800000 : f32
  %lows = tensor.splat %low[%n] : tensor<?xf32>
  %keep = arith.constant 0.0 : f32
  %keeps = tensor.splat %keep[%n] : tensor<?xf32>
  %mask = arith.select %negative, %lows, %keeps : tensor<?xi1>, tensor<?xf32>
  mono.yield %mask : tensor<?xf32>
}

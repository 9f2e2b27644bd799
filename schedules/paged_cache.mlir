// Caches of tokens in pages. `cache` has rows of one token each; page p of row s of a batch begins at
// cache row table[s, p] * page. The rows that a launch adds are not in memory yet for others: they
// are taken from a region, wherever an index names the place of one (mono.gather ... or).
//
// A row's position is that of its new token, in [0, pages * page). With any other position, negative or
// too large, it is a padding row, for a batch shorter than the rows a kernel was made for: it has no
// tokens, so it writes to no cache and reads none, whatever its entries of the table say.

// Cache row of token `tokens[i]` of batch row `sequence[i]`; `pages` pages a batch row. -1 for a token
// outside of these pages, for which the table is not read.
mono.routine @cache_row(%table : !mono.buffer, %sequence : tensor<?xi32>, %tokens : tensor<?xi32>,
                        %pages : index, %page : index, %n : index) -> tensor<?xi32> {
  %pages32 = arith.index_cast %pages : index to i32
  %page32 = arith.index_cast %page : index to i32
  %pagess = tensor.splat %pages32[%n] : tensor<?xi32>
  %sizes = tensor.splat %page32[%n] : tensor<?xi32>
  %start = arith.muli %sequence, %pagess : tensor<?xi32>
  %which = arith.divui %tokens, %sizes : tensor<?xi32>
  %within = arith.remui %tokens, %sizes : tensor<?xi32>
  %isInside = arith.cmpi ult, %which, %pagess : tensor<?xi32>
  %none = arith.constant -1 : i32
  %nones = tensor.splat %none[%n] : tensor<?xi32>
  %inTable = arith.addi %start, %which : tensor<?xi32>
  %entry = arith.select %isInside, %inTable, %nones : tensor<?xi1>, tensor<?xi32>
  %block = mono.gather %table at %entry : tensor<?xi32> -> tensor<?xi32>
  %first = arith.muli %block, %sizes : tensor<?xi32>
  %inPage = arith.addi %first, %within : tensor<?xi32>
  %row = arith.select %isInside, %inPage, %nones : tensor<?xi1>, tensor<?xi32>
  mono.yield %row : tensor<?xi32>
}

// Where the new tokens of a batch go, stage "find_places", one task: for row r and head h entry
// r * heads + h of the mailbox `places` [rows * heads] i32, which is a row of a cache
// [cacheRows, heads, columns], and below 0 for a padding row. Two rows of a batch never share a place
// (mono.distinct).
mono.routine @post_places(%table : !mono.buffer, %positions : !mono.buffer, %places : !mono.mailbox,
                          %rows : index, %heads : index, %pages : index, %page : index,
                          %base : index) {
  %tablePages = mono.size %table axis 1 : !mono.buffer
  %isTable = arith.cmpi eq, %tablePages, %pages : index
  mono.require %isTable, "expected `pages`, not the tokens of a page, to be the columns of the table for @post_places"
  %n = arith.muli %rows, %heads : index
  mono.stage "find_places" (%t) tasks [1] base [%base] {
    %sequence = tensor.generate %n {
    ^bb0(%i : index):
      %row = arith.divui %i, %heads : index
      %row32 = arith.index_cast %row : index to i32
      tensor.yield %row32 : i32
    } : tensor<?xi32>
    %head = tensor.generate %n {
    ^bb0(%i : index):
      %h = arith.remui %i, %heads : index
      %h32 = arith.index_cast %h : index to i32
      tensor.yield %h32 : i32
    } : tensor<?xi32>
    %position = mono.gather %positions at %sequence : tensor<?xi32> -> tensor<?xi32>
    %cacheRow = mono.call @cache_row(%table, %sequence, %position, %pages, %page, %n)
      : (!mono.buffer, tensor<?xi32>, tensor<?xi32>, index, index, index) -> tensor<?xi32>
    %heads32 = arith.index_cast %heads : index to i32
    %headss = tensor.splat %heads32[%n] : tensor<?xi32>
    %first = arith.muli %cacheRow, %headss : tensor<?xi32>
    %place = arith.addi %first, %head : tensor<?xi32>
    %distinct = mono.distinct %place : tensor<?xi32>
    mono.post %distinct to %places[0] : tensor<?xi32>
  }
  mono.yield
}

// Index, for mono.gather of a cache, of tokens of batch row `row`: -1 for tokens below 0 or after the
// row's own, and for all tokens of a padding row.
mono.routine @known_tokens(%table : !mono.buffer, %positions : !mono.buffer,
                           %tokens : tensor<?xi32>, %row : index, %pages : index, %page : index,
                           %n : index) -> tensor<?xi32> {
  %row32 = arith.index_cast %row : index to i32
  %rows = tensor.splat %row32[%n] : tensor<?xi32>
  %own = mono.gather %positions at %rows : tensor<?xi32> -> tensor<?xi32>
  %held = arith.muli %pages, %page : index
  %held32 = arith.index_cast %held : index to i32
  %helds = tensor.splat %held32[%n] : tensor<?xi32>
  %isPadding = arith.cmpi sge, %own, %helds : tensor<?xi32> // below 0 all tokens are after it
  %isAfter = arith.cmpi sgt, %tokens, %own : tensor<?xi32>
  %isOut = arith.ori %isAfter, %isPadding : tensor<?xi1>
  %none = arith.constant -1 : i32
  %nones = tensor.splat %none[%n] : tensor<?xi32>
  %known = arith.select %isOut, %nones, %tokens : tensor<?xi1>, tensor<?xi32>
  %index = mono.call @cache_row(%table, %rows, %known, %pages, %page, %n)
    : (!mono.buffer, tensor<?xi32>, tensor<?xi32>, index, index, index) -> tensor<?xi32>
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

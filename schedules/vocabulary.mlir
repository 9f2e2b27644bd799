// The ends of a model: rows of the embedding table, and the best tokens of a vocabulary whose logits are
// spread over workgroups and ranks. The same serves for the tokens that attention selects.
mono.import "paged_cache.mlir"

// Embeddings of tokens, [tokens, hidden]: `table` is an operand [vocabulary, hidden] bf16. A token
// outside the vocabulary gives zeros.
mono.routine @embed(%table : !mono.buffer, %tokens : tensor<?xi32>) -> tensor<?x?xbf16> {
  %rows = mono.gather %table at %tokens : tensor<?xi32> -> tensor<?x?xbf16>
  mono.yield %rows : tensor<?x?xbf16>
}

// The same where each rank has `share` rows of the table, those from rank * share on: tokens of other
// ranks give zeros, and the sum over ranks (collective.mlir) is exact.
mono.routine @embed_share(%table : !mono.buffer, %tokens : tensor<?xi32>, %rank : index,
                          %share : index, %count : index) -> tensor<?x?xbf16> {
  %first = arith.muli %rank, %share : index
  %first32 = arith.index_cast %first : index to i32
  %firsts = tensor.splat %first32[%count] : tensor<?xi32>
  %own = arith.subi %tokens, %firsts : tensor<?xi32>
  %rows = mono.gather %table at %own : tensor<?xi32> -> tensor<?x?xbf16>
  mono.yield %rows : tensor<?x?xbf16>
}

// The k best of a tile of logits, or other scores, [rows, columns] whose first column is token `first`: logits and
// tokens, [rows, k] in rising order of tokens. For the mailboxes of @select_tokens.
mono.routine @tile_candidates(%logits : tensor<?x?xf32>, %first : index, %k : index, %rows : index,
                              %columns : index) -> (tensor<?x?xf32>, tensor<?x?xi32>) {
  %places, %best = mono.select top [%k] of %logits taking %logits
    : tensor<?x?xf32> -> tensor<?x?xi32>, tensor<?x?xf32>
  // Places left over keep no token.
  %count = arith.muli %rows, %k : index
  %flat = tensor.collapse_shape %places [[0, 1]] : tensor<?x?xi32> into tensor<?xi32>
  %mask1 = mono.call @mask_of(%flat, %count) : (tensor<?xi32>, index) -> tensor<?xf32>
  %mask = tensor.expand_shape %mask1 [[0, 1]] output_shape [%rows, %k]
    : tensor<?xf32> into tensor<?x?xf32>
  %values = arith.addf %best, %mask : tensor<?x?xf32>
  %first32 = arith.index_cast %first : index to i32
  %firsts = tensor.splat %first32[%rows, %k] : tensor<?x?xi32>
  %tokens = arith.addi %places, %firsts : tensor<?x?xi32>
  mono.yield %values, %tokens : tensor<?x?xf32>, tensor<?x?xi32>
}

// Row t of @select_tokens: the tokens of its k best candidates in rising order, -1 in the places left over,
// and their values, [1, k].
//   values, candidates  mailboxes as in @select_tokens
//   list                region [n] i32
mono.routine @best_candidates(%values : !mono.mailbox, %candidates : !mono.mailbox,
                              %list : !mono.buffer, %t : index, %k : index, %n : index)
    -> (tensor<1x?xi32>, tensor<1x?xf32>) {
  %value = mono.receive %values[%t, 0] [1, %n] : tensor<1x?xf32>
  mono.receive %candidates[%t, 0] [1, %n] into %list
  %places, %best = mono.select top [%k] of %value taking %value
    : tensor<1x?xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  %places1 = tensor.collapse_shape %places [[0, 1]] : tensor<1x?xi32> into tensor<?xi32>
  %found = mono.gather %list at %places1 : tensor<?xi32> -> tensor<?xi32>
  %zero = arith.constant 0 : i32
  %zeros = tensor.splat %zero[%k] : tensor<?xi32>
  %isEmpty = arith.cmpi slt, %places1, %zeros : tensor<?xi32>
  %known = arith.select %isEmpty, %places1, %found : tensor<?xi1>, tensor<?xi32>
  %ids = tensor.expand_shape %known [[0, 1]] output_shape [1, %k]
    : tensor<?xi32> into tensor<1x?xi32>
  mono.yield %ids, %best : tensor<1x?xi32>, tensor<1x?xf32>
}

// The k tokens with the largest logits, of equal ones the lowest: stage "select_tokens", one task a row.
// With k = 1 that is the argmax. All ranks find the same.
//   values, candidates   mailboxes [rows, n] f32 and i32: what @tile_candidates gave, tile after tile
//                        in rising order of tokens; scope(peers) for a vocabulary spread over ranks
//   tokens, logits       operands [rows, k] i32, in rising order, and f32
// Where fewer than k logits are above -inf, the places left over hold token -1 and logit 0.
mono.routine @select_tokens(%values : !mono.mailbox, %candidates : !mono.mailbox,
                            %tokens : !mono.buffer, %logits : !mono.buffer, %k : index,
                            %n : index, %rows : index, %base : index) {
  %list = mono.region "token_candidates" [%n] : i32
  mono.stage "select_tokens" (%t) tasks [%rows] base [%base] {
    %ids, %best = mono.call @best_candidates(%values, %candidates, %list, %t, %k, %n)
      : (!mono.mailbox, !mono.mailbox, !mono.buffer, index, index, index)
      -> (tensor<1x?xi32>, tensor<1x?xf32>)
    mono.store %ids, %tokens[%t, 0] : tensor<1x?xi32>
    mono.store %best, %logits[%t, 0] : tensor<1x?xf32>
  }
}

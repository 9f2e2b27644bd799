// Mixture-of-experts routing: what experts are chosen by, which are chosen, and what they weigh.
// Chosen experts come in rising order; of equal ones the lower is chosen.
mono.import "activation.mlir"
mono.import "elementwise.mlir"

// Softmax of each row: exp(x - max) / sum of them, [rows, columns].
mono.routine @softmax_rows(%x : tensor<?x?xf32>, %rows : index, %columns : index)
    -> tensor<?x?xf32> {
  %low = arith.constant 0xFF800000 : f32
  %lows = tensor.splat %low[%rows] : tensor<?xf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<?x?xf32>) outs(%lows : tensor<?xf32>)
    dimensions = [1]
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %maxs = linalg.broadcast ins(%max : tensor<?xf32>) outs(%empty : tensor<?x?xf32>) dimensions = [1]
  %below = arith.subf %x, %maxs : tensor<?x?xf32>
  %exp = math.exp %below : tensor<?x?xf32>
  %one = arith.constant 1.0 : f32
  %y = mono.call @renormalise(%exp, %one, %rows, %columns)
    : (tensor<?x?xf32>, f32, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// x / sum of its row * scale: rows that sum to `scale`.
mono.routine @renormalise(%x : tensor<?x?xf32>, %scale : f32, %rows : index, %columns : index)
    -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero[%rows] : tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<?x?xf32>) outs(%init : tensor<?xf32>)
    dimensions = [1]
  %scales = tensor.splat %scale[%rows] : tensor<?xf32>
  %factor = arith.divf %scales, %sum : tensor<?xf32>
  %y = mono.call @scale_rows(%x, %factor, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// Keys of [rows, experts] with -inf outside the `kept` best of `groups` equal groups of experts. A
// group is as good as the sum of its `best` largest keys: 2 in DeepSeek-V3, 1 in DeepSeek-V2.
mono.routine @limit_to_groups(%key : tensor<?x?xf32>, %groups : index, %kept : index,
                              %best : index, %rows : index, %experts : index)
    -> tensor<?x?xf32> {
  %size = arith.divui %experts, %groups : index
  %all = arith.muli %rows, %groups : index
  %byGroup = tensor.expand_shape %key [[0], [1, 2]] output_shape [%rows, %groups, %size]
    : tensor<?x?xf32> into tensor<?x?x?xf32>
  %flat = tensor.collapse_shape %byGroup [[0, 1], [2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
  %places, %largest = mono.select top [%best] of %flat taking %flat
    : tensor<?x?xf32> -> tensor<?x?xi32>, tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.splat %zero[%all] : tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%largest : tensor<?x?xf32>) outs(%zeros : tensor<?xf32>)
    dimensions = [1]
  %score = tensor.expand_shape %sum [[0, 1]] output_shape [%rows, %groups]
    : tensor<?xf32> into tensor<?x?xf32>
  %ids = mono.select top [%kept] of %score : tensor<?x?xf32> -> tensor<?x?xi32>

  // 0 for the groups among them, -inf for the others.
  %empty3 = tensor.empty(%rows, %groups, %kept) : tensor<?x?x?xi32>
  %chosen = linalg.broadcast ins(%ids : tensor<?x?xi32>) outs(%empty3 : tensor<?x?x?xi32>)
    dimensions = [1]
  %number = tensor.generate %rows, %groups, %kept {
  ^bb0(%r : index, %g : index, %i : index):
    %g32 = arith.index_cast %g : index to i32
    tensor.yield %g32 : i32
  } : tensor<?x?x?xi32>
  %equal = arith.cmpi eq, %chosen, %number : tensor<?x?x?xi32>
  %low = arith.constant 0xFF800000 : f32
  %lows3 = tensor.splat %low[%rows, %groups, %kept] : tensor<?x?x?xf32>
  %zeros3 = tensor.splat %zero[%rows, %groups, %kept] : tensor<?x?x?xf32>
  %marks = arith.select %equal, %zeros3, %lows3 : tensor<?x?x?xi1>, tensor<?x?x?xf32>
  %lows = tensor.splat %low[%rows, %groups] : tensor<?x?xf32>
  %mask = linalg.reduce { arith.maximumf } ins(%marks : tensor<?x?x?xf32>)
    outs(%lows : tensor<?x?xf32>) dimensions = [2]
  %emptyWide = tensor.empty(%rows, %groups, %size) : tensor<?x?x?xf32>
  %wide = linalg.broadcast ins(%mask : tensor<?x?xf32>) outs(%emptyWide : tensor<?x?x?xf32>)
    dimensions = [2]
  %masks = tensor.collapse_shape %wide [[0], [1, 2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
  %limited = arith.addf %key, %masks : tensor<?x?xf32>
  mono.yield %limited : tensor<?x?xf32>
}

// The k experts of each row with the largest key, [rows, k], and their weights: their scores,
// renormalised to sum to `scale`. The score is carried beside the key, because taking a bias off
// again would lose bits.
mono.routine @choose_experts(%key : tensor<?x?xf32>, %score : tensor<?x?xf32>, %scale : f32,
                             %rows : index, %k : index) -> (tensor<?x?xi32>, tensor<?x?xf32>) {
  %ids, %chosen = mono.select top [%k] of %key taking %score
    : tensor<?x?xf32> -> tensor<?x?xi32>, tensor<?x?xf32>
  %weights = mono.call @renormalise(%chosen, %scale, %rows, %k)
    : (tensor<?x?xf32>, f32, index, index) -> tensor<?x?xf32>
  mono.yield %ids, %weights : tensor<?x?xi32>, tensor<?x?xf32>
}

// Sigmoid routing with a selection bias (noaux_tc): the k experts with the largest
// sigmoid(logit) + bias, and as weights their sigmoids without the bias, renormalised to `scale`.
mono.routine @route_topk(%logits : tensor<?x?xf32>, %bias : tensor<?xf32>, %scale : f32,
                         %rows : index, %experts : index, %k : index)
    -> (tensor<?x?xi32>, tensor<?x?xf32>) {
  %score = mono.call @sigmoid(%logits, %rows, %experts)
    : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
  %key = mono.call @add_columns(%score, %bias, %rows, %experts)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %ids, %weights = mono.call @choose_experts(%key, %score, %scale, %rows, %k)
    : (tensor<?x?xf32>, tensor<?x?xf32>, f32, index, index) -> (tensor<?x?xi32>, tensor<?x?xf32>)
  mono.yield %ids, %weights : tensor<?x?xi32>, tensor<?x?xf32>
}

// The same, limited to the `kept` best of `groups` groups (DeepSeek-V3); `best` as in
// @limit_to_groups.
mono.routine @route_topk_in_groups(%logits : tensor<?x?xf32>, %bias : tensor<?xf32>, %scale : f32,
                                   %groups : index, %kept : index, %best : index, %rows : index,
                                   %experts : index, %k : index)
    -> (tensor<?x?xi32>, tensor<?x?xf32>) {
  %score = mono.call @sigmoid(%logits, %rows, %experts)
    : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
  %key = mono.call @add_columns(%score, %bias, %rows, %experts)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %limited = mono.call @limit_to_groups(%key, %groups, %kept, %best, %rows, %experts)
    : (tensor<?x?xf32>, index, index, index, index, index) -> tensor<?x?xf32>
  %ids, %weights = mono.call @choose_experts(%limited, %score, %scale, %rows, %k)
    : (tensor<?x?xf32>, tensor<?x?xf32>, f32, index, index) -> (tensor<?x?xi32>, tensor<?x?xf32>)
  mono.yield %ids, %weights : tensor<?x?xi32>, tensor<?x?xf32>
}

// Softmax routing: the k experts with the largest logit, and as weights their softmax over all
// experts times `scale`, not renormalised (DeepSeek-V2, Qwen2-MoE).
mono.routine @route_softmax(%logits : tensor<?x?xf32>, %scale : f32, %rows : index,
                            %experts : index, %k : index) -> (tensor<?x?xi32>, tensor<?x?xf32>) {
  %score = mono.call @softmax_rows(%logits, %rows, %experts)
    : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
  %ids, %chosen = mono.select top [%k] of %logits taking %score
    : tensor<?x?xf32> -> tensor<?x?xi32>, tensor<?x?xf32>
  %scales = tensor.splat %scale[%rows, %k] : tensor<?x?xf32>
  %weights = arith.mulf %chosen, %scales : tensor<?x?xf32>
  mono.yield %ids, %weights : tensor<?x?xi32>, tensor<?x?xf32>
}

// Softmax routing with renormalised weights (Mixtral, Qwen3-MoE's norm_topk_prob): what is left is the
// softmax over the k chosen logits.
mono.routine @route_softmax_renormalised(%logits : tensor<?x?xf32>, %rows : index, %k : index)
    -> (tensor<?x?xi32>, tensor<?x?xf32>) {
  %ids, %chosen = mono.select top [%k] of %logits taking %logits
    : tensor<?x?xf32> -> tensor<?x?xi32>, tensor<?x?xf32>
  %weights = mono.call @softmax_rows(%chosen, %rows, %k)
    : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %ids, %weights : tensor<?x?xi32>, tensor<?x?xf32>
}

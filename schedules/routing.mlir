// Mixture-of-experts routing with sigmoid scores and a selection bias (noaux_tc).
mono.import "elementwise.mlir"

// The k experts of each row with the largest sigmoid(logit) + bias, in rising order, and their
// weights: the scores without the bias, renormalised to sum to `scale`.
mono.routine @route_topk(%logits : tensor<?x?xf32>, %bias : tensor<?xf32>, %scale : f32,
                         %rows : index, %experts : index, %k : index)
    -> (tensor<?x?xi32>, tensor<?x?xf32>) {
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%rows, %experts] : tensor<?x?xf32>
  %negative = arith.negf %logits : tensor<?x?xf32>
  %exp = math.exp %negative : tensor<?x?xf32>
  %denominator = arith.addf %ones, %exp : tensor<?x?xf32>
  %score = arith.divf %ones, %denominator : tensor<?x?xf32>

  // The score is carried beside the key: taking the bias off again would lose bits.
  %key = mono.call @add_columns(%score, %bias, %rows, %experts)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %ids, %chosen = mono.select top [%k] of %key taking %score
    : tensor<?x?xf32> -> tensor<?x?xi32>, tensor<?x?xf32>

  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero[%rows] : tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%chosen : tensor<?x?xf32>) outs(%init : tensor<?xf32>)
    dimensions = [1]
  %scales = tensor.splat %scale[%rows] : tensor<?xf32>
  %factor = arith.divf %scales, %sum : tensor<?xf32>
  %weights = mono.call @scale_rows(%chosen, %factor, %rows, %k)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %ids, %weights : tensor<?x?xi32>, tensor<?x?xf32>
}

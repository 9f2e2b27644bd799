// Attention in decode, whatever makes its keys: softmax over a part of the keys, the combination of
// parts, and the options that models add to scores. Parts are rescaled to their largest maximum, which
// changes nothing in exact arithmetic (arXiv 1805.02867). Natural exponentials throughout.
mono.import "elementwise.mlir"

// Softmax numerators of scores [heads, keys], and per head the maximum and the sum they belong to. A
// row without any key has sum 0. The sum is over the rounded numerators, which are what is multiplied.
mono.routine @partial_softmax(%score : tensor<?x?xf32>, %heads : index, %keys : index)
    -> (tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>) {
  // Low enough for any score, and finite, so that a row of -inf gives zeros.
  %low = arith.constant -1.0e30 : f32
  %lows = tensor.splat %low[%heads] : tensor<?xf32>
  %max = linalg.reduce { arith.maximumf } ins(%score : tensor<?x?xf32>) outs(%lows : tensor<?xf32>)
    dimensions = [1]
  %empty = tensor.empty(%heads, %keys) : tensor<?x?xf32>
  %maxs = linalg.broadcast ins(%max : tensor<?xf32>) outs(%empty : tensor<?x?xf32>) dimensions = [1]
  %below = arith.subf %score, %maxs : tensor<?x?xf32>
  %p = math.exp %below : tensor<?x?xf32>
  %p16 = arith.truncf %p : tensor<?x?xf32> to tensor<?x?xbf16>
  %rounded = arith.extf %p16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.splat %zero[%heads] : tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%rounded : tensor<?x?xf32>) outs(%zeros : tensor<?xf32>)
    dimensions = [1]
  mono.yield %p16, %max, %sum : tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>
}

// cap * tanh(score / cap) of scores [rows, columns], which stay below the cap (Gemma 2, arXiv
// 2408.00118); a cap of 0 leaves them as they are, at no cost.
mono.routine @softcap(%score : tensor<?x?xf32>, %cap : f32, %rows : index, %columns : index)
    -> tensor<?x?xf32> {
  %caps = tensor.splat %cap[%rows, %columns] : tensor<?x?xf32>
  %part = arith.divf %score, %caps : tensor<?x?xf32>
  %tanh = math.tanh %part : tensor<?x?xf32>
  %capped = arith.mulf %caps, %tanh : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %isCapped = arith.cmpf ogt, %cap, %zero : f32
  %y = arith.select %isCapped, %capped, %score : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// What each part of one head counts in the whole, [1, parts]: w / (sum of w sums) with
// w = exp(maximum - largest maximum), from maxima and sums [1, parts] of @partial_softmax: the sum of a
// part with keys is at least 1. Where no part has one all sums are 0, and the factors finite.
mono.routine @part_factors(%max : tensor<1x?xf32>, %sum : tensor<1x?xf32>, %parts : index)
    -> tensor<1x?xf32> {
  %low = arith.constant -1.0e30 : f32
  %lows = tensor.splat %low : tensor<1xf32>
  %most = linalg.reduce { arith.maximumf } ins(%max : tensor<1x?xf32>) outs(%lows : tensor<1xf32>)
    dimensions = [1]
  %empty = tensor.empty(%parts) : tensor<1x?xf32>
  %mosts = linalg.broadcast ins(%most : tensor<1xf32>) outs(%empty : tensor<1x?xf32>)
    dimensions = [1]
  %below = arith.subf %max, %mosts : tensor<1x?xf32>
  %w = math.exp %below : tensor<1x?xf32>
  %weighted = arith.mulf %w, %sum : tensor<1x?xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero : tensor<1xf32>
  %whole = linalg.reduce { arith.addf } ins(%weighted : tensor<1x?xf32>) outs(%init : tensor<1xf32>)
    dimensions = [1]
  // The largest score of all counts 1, so that this changes nothing where there is a key.
  %one = arith.constant 1.0 : f32
  %least = tensor.splat %one : tensor<1xf32>
  %total = arith.maximumf %whole, %least : tensor<1xf32>
  %totals = linalg.broadcast ins(%total : tensor<1xf32>) outs(%empty : tensor<1x?xf32>)
    dimensions = [1]
  %factor = arith.divf %w, %totals : tensor<1x?xf32>
  mono.yield %factor : tensor<1x?xf32>
}

// The same where the head has a sink: a logit that takes its share of the softmax and has no value
// (gpt-oss, arXiv 2508.10925). It counts as one more part.
mono.routine @part_factors_with_sink(%max : tensor<1x?xf32>, %sum : tensor<1x?xf32>,
                                     %sink : tensor<1xf32>, %parts : index) -> tensor<1x?xf32> {
  %one = arith.constant 1 : index
  %more = arith.addi %parts, %one : index
  %empty = tensor.empty(%more) : tensor<1x?xf32>
  %sinks = linalg.broadcast ins(%sink : tensor<1xf32>) outs(%empty : tensor<1x?xf32>)
    dimensions = [1]
  %unit = arith.constant 1.0 : f32
  %units = tensor.splat %unit[%more] : tensor<1x?xf32>
  %maxs = tensor.insert_slice %max into %sinks[0, 0] [1, %parts] [1, 1]
    : tensor<1x?xf32> into tensor<1x?xf32>
  %sums = tensor.insert_slice %sum into %units[0, 0] [1, %parts] [1, 1]
    : tensor<1x?xf32> into tensor<1x?xf32>
  %all = mono.call @part_factors(%maxs, %sums, %more)
    : (tensor<1x?xf32>, tensor<1x?xf32>, index) -> tensor<1x?xf32>
  %factor = tensor.extract_slice %all[0, 0] [1, %parts] [1, 1] : tensor<1x?xf32> to tensor<1x?xf32>
  mono.yield %factor : tensor<1x?xf32>
}

// Sum over the parts of one head of factor * values: [parts, columns] and [1, parts] -> [columns].
mono.routine @add_parts(%values : tensor<?x?xf32>, %factor : tensor<1x?xf32>, %parts : index,
                        %columns : index) -> tensor<?xf32> {
  %emptyT = tensor.empty(%columns, %parts) : tensor<?x?xf32>
  %byColumn = linalg.transpose ins(%values : tensor<?x?xf32>) outs(%emptyT : tensor<?x?xf32>)
    permutation = [1, 0]
  %flat = tensor.collapse_shape %factor [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
  %scaled = mono.call @scale_columns(%byColumn, %flat, %columns, %parts)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.splat %zero[%columns] : tensor<?xf32>
  %y = linalg.reduce { arith.addf } ins(%scaled : tensor<?x?xf32>) outs(%zeros : tensor<?xf32>)
    dimensions = [1]
  mono.yield %y : tensor<?xf32>
}

// Combines the parts of one head: values [parts, columns] that belong to maxima and sums [1, parts].
mono.routine @combine_parts(%values : tensor<?x?xf32>, %max : tensor<1x?xf32>,
                            %sum : tensor<1x?xf32>, %parts : index, %columns : index)
    -> tensor<?xf32> {
  %factor = mono.call @part_factors(%max, %sum, %parts)
    : (tensor<1x?xf32>, tensor<1x?xf32>, index) -> tensor<1x?xf32>
  %y = mono.call @add_parts(%values, %factor, %parts, %columns)
    : (tensor<?x?xf32>, tensor<1x?xf32>, index, index) -> tensor<?xf32>
  mono.yield %y : tensor<?xf32>
}

// RMSNorm (arXiv 1910.07467) in two halves, so that a row spread over workgroups needs one exchange of
// its sums of squares and no second pass: y = x * gamma / sqrt(sum(x^2) / n + eps). And LayerNorm.

mono.import "elementwise.mlir"

// Sum of squares of each row of a slice: [rows, columns] -> [rows].
mono.routine @sum_of_squares(%x : tensor<?x?xf32>, %rows : index) -> tensor<?xf32> {
  %square = arith.mulf %x, %x : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero[%rows] : tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<?x?xf32>) outs(%init : tensor<?xf32>)
    dimensions = [1]
  mono.yield %sum : tensor<?xf32>
}

// 1 / sqrt(sum / n + eps) of each row, from the sum of squares over all n columns.
mono.routine @reciprocal_rms(%sum : tensor<?xf32>, %rows : index, %n : f32, %eps : f32)
    -> tensor<?xf32> {
  %ns = tensor.splat %n[%rows] : tensor<?xf32>
  %epss = tensor.splat %eps[%rows] : tensor<?xf32>
  %mean = arith.divf %sum, %ns : tensor<?xf32>
  %shifted = arith.addf %mean, %epss : tensor<?xf32>
  %rstd = math.rsqrt %shifted : tensor<?xf32>
  mono.yield %rstd : tensor<?xf32>
}

// A size as f32.
mono.routine @size_as_f32(%size : index) -> f32 {
  %size32 = arith.index_cast %size : index to i32
  %n = arith.sitofp %size32 : i32 to f32
  mono.yield %n : f32
}

// RMSNorm of whole rows [rows, columns]: x * gamma / sqrt(sum(x^2) / columns + eps), gamma in f32.
mono.routine @rms_normed_by(%x : tensor<?x?xf32>, %gamma : tensor<?xf32>, %eps : f32,
                            %rows : index, %columns : index) -> tensor<?x?xf32> {
  %n = mono.call @size_as_f32(%columns) : (index) -> f32
  %square = mono.call @sum_of_squares(%x, %rows) : (tensor<?x?xf32>, index) -> tensor<?xf32>
  %rstd = mono.call @reciprocal_rms(%square, %rows, %n, %eps)
    : (tensor<?xf32>, index, f32, f32) -> tensor<?xf32>
  %scaled = mono.call @scale_rows(%x, %rstd, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %y = mono.call @scale_columns(%scaled, %gamma, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// The same with a gamma of bf16.
mono.routine @rms_normed(%x : tensor<?x?xf32>, %gamma16 : tensor<?xbf16>, %eps : f32,
                         %rows : index, %columns : index) -> tensor<?x?xf32> {
  %gamma = arith.extf %gamma16 : tensor<?xbf16> to tensor<?xf32>
  %y = mono.call @rms_normed_by(%x, %gamma, %eps, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, f32, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// The same rounded once, to bf16.
mono.routine @rms_norm(%x : tensor<?x?xf32>, %gamma16 : tensor<?xbf16>, %eps : f32,
                       %rows : index, %columns : index) -> tensor<?x?xbf16> {
  %y = mono.call @rms_normed(%x, %gamma16, %eps, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<?x?xf32>
  %y16 = arith.truncf %y : tensor<?x?xf32> to tensor<?x?xbf16>
  mono.yield %y16 : tensor<?x?xbf16>
}

// RMSNorm by 1 + w (Gemma, arXiv 2403.08295), rounded once. The sum is made in f32: in bf16 it would lose
// bits of w.
mono.routine @rms_norm_one_plus(%x : tensor<?x?xf32>, %w16 : tensor<?xbf16>, %eps : f32,
                                %rows : index, %columns : index) -> tensor<?x?xbf16> {
  %w = arith.extf %w16 : tensor<?xbf16> to tensor<?xf32>
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%columns] : tensor<?xf32>
  %gamma = arith.addf %ones, %w : tensor<?xf32>
  %y = mono.call @rms_normed_by(%x, %gamma, %eps, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, f32, index, index) -> tensor<?x?xf32>
  %y16 = arith.truncf %y : tensor<?x?xf32> to tensor<?x?xbf16>
  mono.yield %y16 : tensor<?x?xbf16>
}

// LayerNorm (arXiv 1607.06450) of whole rows [rows, columns]: (x - mean) / sqrt(variance + eps) * gamma +
// beta. Unlike RMSNorm's, its gamma and beta are f32.
mono.routine @layer_norm(%x : tensor<?x?xf32>, %gamma : tensor<?xf32>, %beta : tensor<?xf32>,
                         %eps : f32, %rows : index, %columns : index) -> tensor<?x?xf32> {
  %n = mono.call @size_as_f32(%columns) : (index) -> f32
  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero[%rows] : tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<?x?xf32>) outs(%init : tensor<?xf32>)
    dimensions = [1]
  %ns = tensor.splat %n[%rows] : tensor<?xf32>
  %mean = arith.divf %sum, %ns : tensor<?xf32>
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %means = linalg.broadcast ins(%mean : tensor<?xf32>) outs(%empty : tensor<?x?xf32>)
    dimensions = [1]
  %centred = arith.subf %x, %means : tensor<?x?xf32>
  %square = mono.call @sum_of_squares(%centred, %rows) : (tensor<?x?xf32>, index) -> tensor<?xf32>
  %rstd = mono.call @reciprocal_rms(%square, %rows, %n, %eps)
    : (tensor<?xf32>, index, f32, f32) -> tensor<?xf32>
  %normed = mono.call @scale_rows(%centred, %rstd, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %scaled = mono.call @scale_columns(%normed, %gamma, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  %y = mono.call @add_columns(%scaled, %beta, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

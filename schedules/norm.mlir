// RMSNorm in two halves, so that a row spread over workgroups needs one exchange of its sums of
// squares and no second pass: y = x * gamma / sqrt(sum(x^2) / n + eps).

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

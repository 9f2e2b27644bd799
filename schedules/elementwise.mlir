// Elementwise maths of [rows, columns] tensors with vectors along one of the axes.

// y[r, c] = x[r, c] * v[r]
mono.routine @scale_rows(%x : tensor<?x?xf32>, %v : tensor<?xf32>, %rows : index, %columns : index)
    -> tensor<?x?xf32> {
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %wide = linalg.broadcast ins(%v : tensor<?xf32>) outs(%empty : tensor<?x?xf32>) dimensions = [1]
  %y = arith.mulf %x, %wide : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// y[r, c] = x[r, c] * v[c]
mono.routine @scale_columns(%x : tensor<?x?xf32>, %v : tensor<?xf32>, %rows : index,
                            %columns : index) -> tensor<?x?xf32> {
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %wide = linalg.broadcast ins(%v : tensor<?xf32>) outs(%empty : tensor<?x?xf32>) dimensions = [0]
  %y = arith.mulf %x, %wide : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// y[r, c] = x[r, c] + v[c]
mono.routine @add_columns(%x : tensor<?x?xf32>, %v : tensor<?xf32>, %rows : index,
                          %columns : index) -> tensor<?x?xf32> {
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %wide = linalg.broadcast ins(%v : tensor<?xf32>) outs(%empty : tensor<?x?xf32>) dimensions = [0]
  %y = arith.addf %x, %wide : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

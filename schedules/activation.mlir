// Activations of MLPs, element by element of [rows, columns] tensors in f32.
mono.import "elementwise.mlir"

// 1 / (1 + exp(-x))
mono.routine @sigmoid(%x : tensor<?x?xf32>, %rows : index, %columns : index) -> tensor<?x?xf32> {
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%rows, %columns] : tensor<?x?xf32>
  %negative = arith.negf %x : tensor<?x?xf32>
  %exp = math.exp %negative : tensor<?x?xf32>
  %denominator = arith.addf %ones, %exp : tensor<?x?xf32>
  %y = arith.divf %ones, %denominator : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// x / (1 + exp(-x))
mono.routine @silu(%x : tensor<?x?xf32>, %rows : index, %columns : index) -> tensor<?x?xf32> {
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%rows, %columns] : tensor<?x?xf32>
  %negative = arith.negf %x : tensor<?x?xf32>
  %exp = math.exp %negative : tensor<?x?xf32>
  %denominator = arith.addf %ones, %exp : tensor<?x?xf32>
  %y = arith.divf %x, %denominator : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// GELU, exact: x / 2 * (1 + erf(x / sqrt(2))), as x / 2 * erfc(-x / sqrt(2)), which loses nothing far
// below 0 (arXiv 1606.08415; PyTorch's approximate="none").
mono.routine @gelu(%x : tensor<?x?xf32>, %rows : index, %columns : index) -> tensor<?x?xf32> {
  %factor = arith.constant -0.70710678118654752 : f32
  %factors = tensor.splat %factor[%rows, %columns] : tensor<?x?xf32>
  %half = arith.constant 0.5 : f32
  %halves = tensor.splat %half[%rows, %columns] : tensor<?x?xf32>
  %z = arith.mulf %x, %factors : tensor<?x?xf32>
  %tail = math.erfc %z : tensor<?x?xf32>
  %halfX = arith.mulf %x, %halves : tensor<?x?xf32>
  %y = arith.mulf %halfX, %tail : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// GELU, tanh form: x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as x * sigmoid of twice that
// argument (PyTorch's approximate="tanh").
mono.routine @gelu_tanh(%x : tensor<?x?xf32>, %rows : index, %columns : index)
    -> tensor<?x?xf32> {
  // -2 sqrt(2 / pi), and 0.044715 of it.
  %linear = arith.constant -1.5957691216057308 : f32
  %cubic = arith.constant -0.071354816272600248 : f32
  %linears = tensor.splat %linear[%rows, %columns] : tensor<?x?xf32>
  %cubics = tensor.splat %cubic[%rows, %columns] : tensor<?x?xf32>
  %square = arith.mulf %x, %x : tensor<?x?xf32>
  %scaled = arith.mulf %square, %cubics : tensor<?x?xf32>
  %slope = arith.addf %linears, %scaled : tensor<?x?xf32>
  %argument = arith.mulf %x, %slope : tensor<?x?xf32>
  %exp = math.exp %argument : tensor<?x?xf32>
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%rows, %columns] : tensor<?x?xf32>
  %denominator = arith.addf %ones, %exp : tensor<?x?xf32>
  %y = arith.divf %x, %denominator : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// SwiGLU: SiLU(gate) * up * weight, with one weight a row, e.g. that of routing (arXiv 2002.05202).
mono.routine @swiglu(%gate : tensor<?x?xf32>, %up : tensor<?x?xf32>, %weight : tensor<?xf32>,
                     %rows : index, %columns : index) -> tensor<?x?xf32> {
  %silu = mono.call @silu(%gate, %rows, %columns)
    : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
  %u = arith.mulf %silu, %up : tensor<?x?xf32>
  %y = mono.call @scale_rows(%u, %weight, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

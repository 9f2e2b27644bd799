// Linear layers, y = x W^T, tile by tile of their output: activations bf16, sums f32, weights in any
// format that mono.stream has. The caller opens the stream, so that weights are on their way while the
// activations are still waited for, and knows where its tile lies:
//
//   %w = mono.stream %weights[%t * 16, 0] [16, %depth] split_k(8)                     bf16
//   %w = mono.stream %codes[%t * 16, 0] [16, %depth] scaled %scales split_k(8)        MXFP4
mono.import "two_terms.mlir"

// One tile, [rows, rows of the stream], of a layer with bf16 or MX weights.
//   x      mailbox [rows, depth] bf16, at most 16 rows
//   input  region [rows, depth] bf16
mono.routine @linear_tile(%x : !mono.mailbox, %input : !mono.buffer, %weights : !mono.stream,
                          %rows : index, %depth : index) -> tensor<?x?xf32> {
  mono.receive %x[0, 0] [%rows, %depth] into %input
  %y = mono.contract %input[0, 0] [%rows, %depth], %weights : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// The same where the weights have one f32 scale for each block of 128 x 128 (DeepSeek-V3, arXiv
// 2412.19437): y[s, n] = sum over k of x[s, k] * scale[n / 128, k / 128] * w[n, k]. All rows of a tile lie
// in one row of blocks, so the scales are multiplied to the activations, which are then in two bf16
// terms and lose nothing that f32 has of them but the last bits (2^-17).
//   x      mailbox [rows, depth] bf16, at most 8 rows
//   input  region [2 * rows, depth] bf16
//   scale  [1, depth / 128]: the tile's row of the operand of the scales [n / 128, depth / 128] f32
//   columns  rows of the stream
mono.routine @linear_tile_block_scaled(%x : !mono.mailbox, %input : !mono.buffer,
                                       %weights : !mono.stream, %scale : tensor<1x?xf32>,
                                       %rows : index, %depth : index, %columns : index)
    -> tensor<?x?xf32> {
  %size = arith.constant 128 : index
  %blocks = arith.divui %depth, %size : index
  %scale1 = tensor.collapse_shape %scale [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
  %empty = tensor.empty(%rows, %blocks, %size) : tensor<?x?x?xf32>
  %wide = linalg.broadcast ins(%scale1 : tensor<?xf32>) outs(%empty : tensor<?x?x?xf32>)
    dimensions = [0, 2]
  %scales = tensor.collapse_shape %wide [[0], [1, 2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
  %x16 = mono.receive %x[0, 0] [%rows, %depth] : tensor<?x?xbf16>
  %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %scaled = arith.mulf %x32, %scales : tensor<?x?xf32>
  mono.call @store_two_terms(%scaled, %input, %rows) : (tensor<?x?xf32>, !mono.buffer, index) -> ()
  %terms = mono.contract %input[0, 0] [%rows * 2, %depth], %weights : tensor<?x?xf32>
  %y = mono.call @add_two_terms(%terms, %rows, %columns)
    : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// Linear layers, y = x W^T, tile by tile of their output: activations bf16, sums f32, weights in any
// format that mono.stream has. The caller opens the stream, so that weights are on their way while the
// activations are still waited for, and knows where its tile lies:
//
//   %w = mono.stream %weights[%t * 16, 0] [16, %depth] split_k(8)                     bf16
//   %w = mono.stream %codes[%t * 16, 0] [16, %depth] scaled %scales split_k(8)        MXFP4
mono.import "elementwise.mlir"

// One tile, [rows, rows of the stream], of a layer with bf16 or MX weights.
//   x      mailbox [rows, depth] bf16, at most 16 rows
//   input  region [rows, depth] bf16
mono.routine @linear_tile(%x : !mono.mailbox, %input : !mono.buffer, %weights : !mono.stream,
                          %rows : index, %depth : index) -> tensor<?x?xf32> {
  mono.receive %x[0, 0] [%rows, %depth] into %input
  %y = mono.contract %input[0, 0] [%rows, %depth], %weights : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

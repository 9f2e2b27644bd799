// Linear layers, y = x W^T: weights in any format that mono.stream has, sums in f32.
//
//   weights        operands                                                          stage
//   bf16           [N, K] bf16                                                       @linear_bf16
//   MXFP4, MXFP8   [N, K] f4E2M1FN or f8E4M3FN, scales [N, K / 32] f8E8M0FNU         @linear_mxfp4, @linear_mxfp8
//   FP8 in blocks  [N, K] f8E4M3FN, scales [ceil(N / 128), K / 128] f32, row-major   @linear_fp8_blocks
//
// All but the scales of blocks are in #mono.mfma_rows<16>. The scales of blocks are what checkpoints of
// DeepSeek-V3 call weight_scale_inv (arXiv 2412.19437); a rank's share of rows or columns begins with a block.
//
// The stages take 16 columns of y per task and 512 threads per workgroup; N is a multiple of 16, K of 256
// (bf16), 128 (MXFP4, FP8 in blocks) or 64 (MXFP8), and there are at most 16 rows. Their activations stay bf16:
// codes are widened in registers, which is exact within the range of bf16 (mono.contract). Those ending
// in _by_mxfp8 and _by_fp8 round the activations to 8 bits as well and multiply code by code, at twice
// the rate of bf16; K is a multiple of 128 there, and NaN or infinity in a row of x makes all results of
// that row NaN.
//
// A stage of another shape calls the tile: the caller opens the stream, so that weights are on their way
// while the activations are still waited for.
//
//   %w = mono.stream %weights[%t * 32, 0] [32, %depth] split_k(8)                     bf16
//   %w = mono.stream %codes[%t * 32, 0] [32, %depth] scaled %scales split_k(8)        all others
mono.import "fp8.mlir"
mono.import "mx.mlir"

// One tile, [rows, rows of the stream], with bf16 activations.
//   x      mailbox [rows, depth] bf16, at most 16 rows
//   input  region [rows, depth] bf16
mono.routine @linear_tile(%x : !mono.mailbox, %input : !mono.buffer, %weights : !mono.stream,
                          %rows : index, %depth : index) -> tensor<?x?xf32> {
  mono.receive %x[0, 0] [%rows, %depth] into %input
  %y = mono.contract %input[0, 0] [%rows, %depth], %weights : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// One tile of MXFP4 or MXFP8 weights, with activations rounded to MXFP8 (@quantise_mxfp8).
//   x       mailbox [rows, 32 * blocks] bf16, at most 16 rows
//   codes   region [rows, 32 * blocks] f8E4M3FN
//   scales  region [rows, blocks] f32
mono.routine @linear_tile_by_mxfp8(%x : !mono.mailbox, %codes : !mono.buffer,
                                   %scales : !mono.buffer, %weights : !mono.stream,
                                   %rows : index, %blocks : index) -> tensor<?x?xf32> {
  %x16 = mono.receive %x[0, 0] [%rows, %blocks * 32] : tensor<?x?xbf16>
  %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %code, %scale = mono.call @quantise_mxfp8(%x32, %rows, %blocks)
    : (tensor<?x?xf32>, index, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
  mono.store %code, %codes[0, 0] : tensor<?x?xf8E4M3FN>
  mono.store %scale, %scales[0, 0] : tensor<?x?xf32>
  %y = mono.contract %codes[0, 0] [%rows, %blocks * 32] scaled %scales, %weights : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// One tile of FP8 weights in scaled blocks, with activations rounded to FP8 (@quantise_fp8).
//   x       mailbox [rows, 128 * blocks] bf16, at most 16 rows
//   codes   region [rows, 128 * blocks] f8E4M3FN
//   scales  region [rows, blocks] f32
mono.routine @linear_tile_by_fp8(%x : !mono.mailbox, %codes : !mono.buffer,
                                 %scales : !mono.buffer, %weights : !mono.stream, %rows : index,
                                 %blocks : index) -> tensor<?x?xf32> {
  %x16 = mono.receive %x[0, 0] [%rows, %blocks * 128] : tensor<?x?xbf16>
  %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %code, %scale = mono.call @quantise_fp8(%x32, %rows, %blocks)
    : (tensor<?x?xf32>, index, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
  mono.store %code, %codes[0, 0] : tensor<?x?xf8E4M3FN>
  mono.store %scale, %scales[0, 0] : tensor<?x?xf32>
  %y = mono.contract %codes[0, 0] [%rows, %blocks * 128] scaled %scales, %weights
    : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// A whole layer with bf16 weights, stage "linear".
//   x  mailbox [rows, depth] bf16
//   w  operand [columns, depth] bf16, #mono.mfma_rows<16>
//   y  mailbox [rows, columns] bf16
mono.routine @linear_bf16(%x : !mono.mailbox, %w : !mono.buffer, %y : !mono.mailbox,
                          %rows : index, %depth : index, %columns : index, %base : index) {
  %input = mono.region "linear_input" [%rows, %depth] pad(8) : bf16
  mono.stage "linear" (%t) tasks [%columns floordiv 16] base [%base] {
    %weights = mono.stream %w[%t * 16, 0] [16, %depth] split_k(8)
    %sum = mono.call @linear_tile(%x, %input, %weights, %rows, %depth)
      : (!mono.mailbox, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %y16 = arith.truncf %sum : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %y16 to %y[0, %t * 16] : tensor<?x16xbf16>
  }
}

// The same with weights as codes with scales, whichever they are.
//   w       operand [columns, depth] f4E2M1FN or f8E4M3FN, #mono.mfma_rows<16>
//   scales  operand: see the head of this file
mono.routine @linear_scaled(%x : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
                            %y : !mono.mailbox, %rows : index, %depth : index, %columns : index,
                            %base : index) {
  %input = mono.region "linear_input" [%rows, %depth] pad(8) : bf16
  mono.stage "linear" (%t) tasks [%columns floordiv 16] base [%base] {
    %weights = mono.stream %w[%t * 16, 0] [16, %depth] scaled %scales split_k(8)
    %sum = mono.call @linear_tile(%x, %input, %weights, %rows, %depth)
      : (!mono.mailbox, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %y16 = arith.truncf %sum : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %y16 to %y[0, %t * 16] : tensor<?x16xbf16>
  }
}

// A whole layer with MXFP4 weights, stage "linear": @linear_scaled.
mono.routine @linear_mxfp4(%x : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
    %y : !mono.mailbox, %rows : index, %depth : index, %columns : index, %base : index) {
  mono.call @linear_scaled(%x, %w, %scales, %y, %rows, %depth, %columns, %base)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index) -> ()
}

// A whole layer with MXFP8 weights, stage "linear": @linear_scaled.
mono.routine @linear_mxfp8(%x : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
    %y : !mono.mailbox, %rows : index, %depth : index, %columns : index, %base : index) {
  mono.call @linear_scaled(%x, %w, %scales, %y, %rows, %depth, %columns, %base)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index) -> ()
}

// A whole layer with FP8 weights in scaled blocks, stage "linear": @linear_scaled.
mono.routine @linear_fp8_blocks(%x : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
    %y : !mono.mailbox, %rows : index, %depth : index, %columns : index, %base : index) {
  mono.call @linear_scaled(%x, %w, %scales, %y, %rows, %depth, %columns, %base)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index) -> ()
}

// A whole layer with MXFP4 or MXFP8 weights and activations rounded to MXFP8, stage "linear".
//   x, w, scales, y  as in @linear_scaled
mono.routine @linear_mx_by_mxfp8(%x : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
    %y : !mono.mailbox, %rows : index, %depth : index, %columns : index, %base : index) {
  %width = arith.constant 32 : index
  %blocks = arith.divui %depth, %width : index
  %xCodes = mono.region "linear_codes" [%rows, %depth] pad(16) : f8E4M3FN
  %xScales = mono.region "linear_scales" [%rows, %blocks] : f32
  mono.stage "linear" (%t) tasks [%columns floordiv 16] base [%base] {
    %weights = mono.stream %w[%t * 16, 0] [16, %depth] scaled %scales split_k(8)
    %sum = mono.call @linear_tile_by_mxfp8(%x, %xCodes, %xScales, %weights, %rows, %blocks)
      : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %y16 = arith.truncf %sum : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %y16 to %y[0, %t * 16] : tensor<?x16xbf16>
  }
}

// A whole layer with FP8 weights in scaled blocks and activations rounded to FP8, stage "linear".
//   x, w, scales, y  as in @linear_scaled
mono.routine @linear_fp8_blocks_by_fp8(%x : !mono.mailbox, %w : !mono.buffer, %scales : !mono.buffer,
    %y : !mono.mailbox, %rows : index, %depth : index, %columns : index, %base : index) {
  %width = arith.constant 128 : index
  %blocks = arith.divui %depth, %width : index
  %xCodes = mono.region "linear_codes" [%rows, %depth] pad(16) : f8E4M3FN
  %xScales = mono.region "linear_scales" [%rows, %blocks] : f32
  mono.stage "linear" (%t) tasks [%columns floordiv 16] base [%base] {
    %weights = mono.stream %w[%t * 16, 0] [16, %depth] scaled %scales split_k(8)
    %sum = mono.call @linear_tile_by_fp8(%x, %xCodes, %xScales, %weights, %rows, %blocks)
      : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %y16 = arith.truncf %sum : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %y16 to %y[0, %t * 16] : tensor<?x16xbf16>
  }
}

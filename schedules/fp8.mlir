// Activations as FP8 with f32 scales, one for each token and 128 columns: what weights in scaled blocks of
// 128 x 128 are multiplied with natively (DeepSeek-V3, arXiv 2412.19437, section 3.3).

// x [rows, 128 * blocks] as E4M3 codes and scales [rows, blocks]: x = code * scale. The scale is the
// largest magnitude / 448, the end of E4M3, and at least 2^-126; a code is x * (448 / largest magnitude)
// in f32, to nearest even. A block with NaN or infinity has no number left: all results of its row
// become NaN.
mono.routine @quantise_fp8(%x : tensor<?x?xf32>, %rows : index, %blocks : index)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) {
  %boxed = tensor.expand_shape %x [[0], [1, 2]] output_shape [%rows, %blocks, 128]
    : tensor<?x?xf32> into tensor<?x?x128xf32>
  %magnitude = math.absf %boxed : tensor<?x?x128xf32>
  // 448 * 2^-126: neither it nor 448 over it leaves the normal numbers.
  %least = arith.constant 0x04E00000 : f32
  %leasts = tensor.splat %least[%rows, %blocks] : tensor<?x?xf32>
  %largest = linalg.reduce { arith.maximumf } ins(%magnitude : tensor<?x?x128xf32>)
    outs(%leasts : tensor<?x?xf32>) dimensions = [2]
  %end = arith.constant 448.0 : f32
  %ends = tensor.splat %end[%rows, %blocks] : tensor<?x?xf32>
  %scale = arith.divf %largest, %ends : tensor<?x?xf32>
  %inverse = arith.divf %ends, %largest : tensor<?x?xf32>
  %empty = tensor.empty(%rows, %blocks) : tensor<?x?x128xf32>
  %inverses = linalg.broadcast ins(%inverse : tensor<?x?xf32>) outs(%empty : tensor<?x?x128xf32>)
    dimensions = [2]
  %scaled = arith.mulf %boxed, %inverses : tensor<?x?x128xf32>
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%rows, %blocks] : tensor<?x?x128xf32>
  %codes = arith.scaling_truncf %scaled, %ones
    : tensor<?x?x128xf32>, tensor<?x?x128xf32> to tensor<?x?x128xf8E4M3FN>
  %flat = tensor.collapse_shape %codes [[0], [1, 2]]
    : tensor<?x?x128xf8E4M3FN> into tensor<?x?xf8E4M3FN>
  mono.yield %flat, %scale : tensor<?x?xf8E4M3FN>, tensor<?x?xf32>
}

// Block formats of OCP MX: codes of a few bits, and one scale, a power of two, for 32 of them.

// x [rows, 32 * blocks] as MXFP8: codes E4M3 and scales, an f32 each, for 32 columns. The scale is
// 2^(floor(log2(largest magnitude)) - 8) (OCP MX specification 6.3), at least 2^-126; codes round to
// nearest even, and magnitudes past 448 scales become 448. A block with NaN or infinity has the scale
// infinity, which as an exponent means NaN.
mono.routine @quantise_mxfp8(%x : tensor<?x?xf32>, %rows : index, %blocks : index)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) {
  %boxed = tensor.expand_shape %x [[0], [1, 2]] output_shape [%rows, %blocks, 32]
    : tensor<?x?xf32> into tensor<?x?x32xf32>
  %magnitude = math.absf %boxed : tensor<?x?x32xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero[%rows, %blocks] : tensor<?x?xf32>
  %largest = linalg.reduce { arith.maximumf } ins(%magnitude : tensor<?x?x32xf32>)
    outs(%init : tensor<?x?xf32>) dimensions = [2]

  // The exponent field of the largest, less that of 2^8 over that of 1.
  %bits = arith.bitcast %largest : tensor<?x?xf32> to tensor<?x?xi32>
  %mantissa = arith.constant 23 : i32
  %mantissas = tensor.splat %mantissa[%rows, %blocks] : tensor<?x?xi32>
  %exponent = arith.shrui %bits, %mantissas : tensor<?x?xi32>
  %eight = arith.constant 8 : i32
  %eights = tensor.splat %eight[%rows, %blocks] : tensor<?x?xi32>
  %lower = arith.subi %exponent, %eights : tensor<?x?xi32>
  %least = arith.constant 1 : i32
  %leasts = tensor.splat %least[%rows, %blocks] : tensor<?x?xi32>
  %clamped = arith.maxsi %lower, %leasts : tensor<?x?xi32>
  %nan = arith.constant 255 : i32
  %nans = tensor.splat %nan[%rows, %blocks] : tensor<?x?xi32>
  %isNan = arith.cmpi eq, %exponent, %nans : tensor<?x?xi32>
  %field = arith.select %isNan, %nans, %clamped : tensor<?x?xi1>, tensor<?x?xi32>
  %scaleBits = arith.shli %field, %mantissas : tensor<?x?xi32>
  %scale = arith.bitcast %scaleBits : tensor<?x?xi32> to tensor<?x?xf32>

  // E4M3 ends at 448, or 1.75 * 2^8.
  %end = arith.constant 448.0 : f32
  %ends = tensor.splat %end[%rows, %blocks] : tensor<?x?xf32>
  %most = arith.mulf %scale, %ends : tensor<?x?xf32>
  %empty = tensor.empty(%rows, %blocks) : tensor<?x?x32xf32>
  %wideMost = linalg.broadcast ins(%most : tensor<?x?xf32>) outs(%empty : tensor<?x?x32xf32>)
    dimensions = [2]
  %negative = arith.negf %wideMost : tensor<?x?x32xf32>
  %below = arith.minimumf %boxed, %wideMost : tensor<?x?x32xf32>
  %inside = arith.maximumf %below, %negative : tensor<?x?x32xf32>
  %wideScale = linalg.broadcast ins(%scale : tensor<?x?xf32>) outs(%empty : tensor<?x?x32xf32>)
    dimensions = [2]
  %codes = arith.scaling_truncf %inside, %wideScale
    : tensor<?x?x32xf32>, tensor<?x?x32xf32> to tensor<?x?x32xf8E4M3FN>
  %flat = tensor.collapse_shape %codes [[0], [1, 2]]
    : tensor<?x?x32xf8E4M3FN> into tensor<?x?xf8E4M3FN>
  mono.yield %flat, %scale : tensor<?x?xf8E4M3FN>, tensor<?x?xf32>
}

// Columns first ..+ 32 * blocks of a bf16 region as MXFP8 in two other regions.
mono.routine @quantise_region(%from : !mono.buffer, %codes : !mono.buffer, %scales : !mono.buffer,
                              %first : index, %rows : index, %blocks : index) {
  %x16 = mono.load %from[0, %first] [%rows, %blocks * 32] : tensor<?x?xbf16>
  %x = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %code, %scale = mono.call @quantise_mxfp8(%x, %rows, %blocks)
    : (tensor<?x?xf32>, index, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
  mono.store %code, %codes[0, %first] : tensor<?x?xf8E4M3FN>
  mono.store %scale, %scales[0, %first floordiv 32] : tensor<?x?xf32>
  mono.yield
}

// The same in four steps, each with a quarter of the scratch in LDS; 4 * blocks blocks in all.
mono.routine @quantise_quarters(%from : !mono.buffer, %codes : !mono.buffer, %scales : !mono.buffer,
                                %first : index, %rows : index, %blocks : index) {
  %block = arith.constant 32 : index
  %columns = arith.muli %blocks, %block : index
  %second = arith.addi %first, %columns : index
  %third = arith.addi %second, %columns : index
  %fourth = arith.addi %third, %columns : index
  mono.call @quantise_region(%from, %codes, %scales, %first, %rows, %blocks)
    : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
  mono.call @quantise_region(%from, %codes, %scales, %second, %rows, %blocks)
    : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
  mono.call @quantise_region(%from, %codes, %scales, %third, %rows, %blocks)
    : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
  mono.call @quantise_region(%from, %codes, %scales, %fourth, %rows, %blocks)
    : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
  mono.yield
}

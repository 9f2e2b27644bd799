// Rotary position embedding (arXiv 2104.09864) in both conventions: pairs are neighbours (2i, 2i + 1),
// or lie half a head apart (i, i + pairs), which is what GPT-NeoX and Hugging Face's Llama do.
//
// The angles come as a table, [positions, columns] f32: the cosines of all pairs of a position, then
// their sines. A table serves every scaling of the frequencies, and nothing loses precision at long
// positions.
mono.import "elementwise.mlir"

// Rows of the angle table: [tokens, columns] for the positions of the tokens; zeros for a position that the
// table does not have.
mono.routine @rope_angles(%table : !mono.buffer, %positions : tensor<?xi32>) -> tensor<?x?xf32> {
  %angles = mono.gather %table at %positions : tensor<?xi32> -> tensor<?x?xf32>
  mono.yield %angles : tensor<?x?xf32>
}

// Rotates x [rows, 2 * pairs] by the angles of the pairs first, first + 1, ... of each row;
// `angles` [rows, 2 * pairsOfHead] has all pairs of a head:
//   y[2i] = x[2i] cos - x[2i + 1] sin,  y[2i + 1] = x[2i] sin + x[2i + 1] cos.
mono.routine @rope_interleaved(%x : tensor<?x?xf32>, %angles : tensor<?x?xf32>, %first : index,
                               %rows : index, %pairs : index, %pairsOfHead : index)
    -> tensor<?x?xf32> {
  %sines = arith.addi %first, %pairsOfHead : index
  %cos = tensor.extract_slice %angles[0, %first] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %sin = tensor.extract_slice %angles[0, %sines] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %even = tensor.extract_slice %x[0, 0] [%rows, %pairs] [1, 2] : tensor<?x?xf32> to tensor<?x?xf32>
  %odd = tensor.extract_slice %x[0, 1] [%rows, %pairs] [1, 2] : tensor<?x?xf32> to tensor<?x?xf32>
  %a = arith.mulf %even, %cos : tensor<?x?xf32>
  %b = arith.mulf %odd, %sin : tensor<?x?xf32>
  %c = arith.mulf %even, %sin : tensor<?x?xf32>
  %d = arith.mulf %odd, %cos : tensor<?x?xf32>
  %newEven = arith.subf %a, %b : tensor<?x?xf32>
  %newOdd = arith.addf %c, %d : tensor<?x?xf32>
  %half = tensor.insert_slice %newEven into %x[0, 0] [%rows, %pairs] [1, 2]
    : tensor<?x?xf32> into tensor<?x?xf32>
  %y = tensor.insert_slice %newOdd into %half[0, 1] [%rows, %pairs] [1, 2]
    : tensor<?x?xf32> into tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

// Rotates heads x [rows, 2 * pairs] by all their pairs, half a head apart; `angles` [rows, 2 * pairs]:
//   y[i] = x[i] cos - x[i + pairs] sin,  y[i + pairs] = x[i] sin + x[i + pairs] cos.
mono.routine @rope_halves(%x : tensor<?x?xf32>, %angles : tensor<?x?xf32>, %rows : index,
                          %pairs : index) -> tensor<?x?xf32> {
  %cos = tensor.extract_slice %angles[0, 0] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %sin = tensor.extract_slice %angles[0, %pairs] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %first = tensor.extract_slice %x[0, 0] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %second = tensor.extract_slice %x[0, %pairs] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %a = arith.mulf %first, %cos : tensor<?x?xf32>
  %b = arith.mulf %second, %sin : tensor<?x?xf32>
  %c = arith.mulf %first, %sin : tensor<?x?xf32>
  %d = arith.mulf %second, %cos : tensor<?x?xf32>
  %newFirst = arith.subf %a, %b : tensor<?x?xf32>
  %newSecond = arith.addf %c, %d : tensor<?x?xf32>
  %half = tensor.insert_slice %newFirst into %x[0, 0] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> into tensor<?x?xf32>
  %y = tensor.insert_slice %newSecond into %half[0, %pairs] [%rows, %pairs] [1, 1]
    : tensor<?x?xf32> into tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

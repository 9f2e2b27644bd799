// Activations in two bf16 terms: x = high + low to 16 bits of mantissa. The matrix cores take 16 rows of
// activations at a time, so as long as there are at most 8 rows the second term rides along for
// nothing: rows 0 ..+ n hold the high terms, rows n ..+ n the low ones, and the halves of the result
// are added.

// Stores x [rows, columns] as two terms to a bf16 region [2 * rows, columns].
mono.routine @store_two_terms(%x : tensor<?x?xf32>, %into : !mono.buffer, %rows : index) {
  %high = arith.truncf %x : tensor<?x?xf32> to tensor<?x?xbf16>
  %rounded = arith.extf %high : tensor<?x?xbf16> to tensor<?x?xf32>
  %rest = arith.subf %x, %rounded : tensor<?x?xf32>
  %low = arith.truncf %rest : tensor<?x?xf32> to tensor<?x?xbf16>
  mono.store %high, %into[0, 0] : tensor<?x?xbf16>
  mono.store %low, %into[%rows, 0] : tensor<?x?xbf16>
  mono.yield
}

// Product of both terms from that of each: [2 * rows, columns] -> [rows, columns].
mono.routine @add_two_terms(%y : tensor<?x?xf32>, %rows : index, %columns : index)
    -> tensor<?x?xf32> {
  %high = tensor.extract_slice %y[0, 0] [%rows, %columns] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %low = tensor.extract_slice %y[%rows, 0] [%rows, %columns] [1, 1]
    : tensor<?x?xf32> to tensor<?x?xf32>
  %sum = arith.addf %high, %low : tensor<?x?xf32>
  mono.yield %sum : tensor<?x?xf32>
}

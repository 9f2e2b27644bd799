mono.import "lib.mlir" // a circle of imports is read once
mono.routine @double(%x : tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = arith.addf %x, %x : tensor<?x?xf32>
  mono.yield %y : tensor<?x?xf32>
}

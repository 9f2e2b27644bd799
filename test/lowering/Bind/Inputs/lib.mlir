mono.import "deeper.mlir"
mono.routine @quadruple(%x : tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = mono.call @double(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %z = mono.call @double(%y) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  mono.yield %z : tensor<?x?xf32>
}

// What routines ask of the sizes they are given (mono.require).

// Whether n is a multiple of `of`.
mono.routine @is_multiple(%n : index, %of : index) -> i1 {
  %none = arith.constant 0 : index
  %rest = arith.remui %n, %of : index
  %is = arith.cmpi eq, %rest, %none : index
  mono.yield %is : i1
}

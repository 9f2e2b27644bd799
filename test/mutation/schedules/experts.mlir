// Rows by index in small: a cache that gets new rows while others are read, attention over them, a
// selection, and contractions with the weights and rows it names.
mono.schedule @experts target("gfx950") grid(8 x 128) {
  %places = mono.operand "places" read [2] : i32
  %wanted = mono.operand "wanted" read [32] : i32
  %new = mono.operand "new" read [2, 128] : bf16
  %query = mono.operand "query" read [4, 128] : bf16
  %cache = mono.operand "cache" update [32, 128] : bf16
  %w = mono.operand "w" read weight [4, 32, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %w_scale = mono.operand "w_scale" read weight [4, 32, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 32] : f32

  %new_places = mono.mailbox "new_places" tagged scope(device) slots(1) [2] : i32
  %new_rows = mono.mailbox "new_rows" tagged scope(device) slots(1) [2, 128] : bf16
  %chosen = mono.mailbox "chosen" tagged scope(device) slots(1) [4, 2] : i32
  %rows = mono.mailbox "rows" tagged scope(device) slots(1) [4, 128] : bf16
  %fresh = mono.region "fresh" [2, 128] pad(8) : bf16
  %keys = mono.region "keys" [32, 128] pad(8) : bf16
  %q = mono.region "q" [4, 128] pad(8) : bf16
  %p = mono.region "p" [4, 32] pad(8) : bf16
  %u = mono.region "u" [8, 128] pad(8) : bf16

  // New rows go to rows 0 to 31 of the cache, each to another, or one to none.
  mono.stage "place" (%t) tasks [1] base [7] {
    %raw = mono.load %places[0] [2] : tensor<2xi32>
    %all = arith.constant dense<32> : tensor<2xi32>
    %within = arith.remui %raw, %all : tensor<2xi32>
    %distinct = mono.distinct %within : tensor<2xi32>
    mono.post %distinct to %new_places[0] : tensor<2xi32>
  }
  mono.stage "put" (%t) tasks [2] base [0] {
    %place = mono.receive %new_places[%t] [1] : tensor<1xi32>
    %v = mono.load %new[%t, 0] [1, 128] : tensor<1x128xbf16>
    mono.post %v to %new_rows[%t, 0] : tensor<1x128xbf16>
    mono.scatter %v, %cache[0] at %place : tensor<1x128xbf16>, tensor<1xi32>
  }
  // Old rows and new ones, and once in a while none.
  mono.stage "attend" (%t) tasks [1] base [2] {
    %v = mono.load %query[0, 0] [4, 128] : tensor<4x128xbf16>
    mono.store %v, %q[0, 0] : tensor<4x128xbf16>
    %raw = mono.load %wanted[0] [32] : tensor<32xi32>
    %some = arith.constant dense<34> : tensor<32xi32>
    %index = arith.remui %raw, %some : tensor<32xi32>
    %new_at = mono.receive %new_places[0] [2] : tensor<2xi32>
    mono.receive %new_rows[0, 0] [2, 128] into %fresh
    mono.gather %cache or %fresh places(%new_at : tensor<2xi32>) at %index into %keys : tensor<32xi32>
    %score = mono.product %q[0, 0] [4, 128], %keys[0, 0] [32, 128] : tensor<4x32xf32>
    %ids = mono.select top [2] of %score : tensor<4x32xf32> -> tensor<4x2xi32>
    mono.post %ids to %chosen[0, 0] : tensor<4x2xi32>
    %score16 = arith.truncf %score : tensor<4x32xf32> to tensor<4x32xbf16>
    mono.store %score16, %p[0, 0] : tensor<4x32xbf16>
    %o = mono.product %p[0, 0] [4, 32], %keys[0, 0] [32, 128] by_columns : tensor<4x128xf32>
    %o16 = arith.truncf %o : tensor<4x128xf32> to tensor<4x128xbf16>
    mono.post %o16 to %rows[0, 0] : tensor<4x128xbf16>
  }
  // A choice names a matrix and, once in a while, no row.
  mono.stage "experts" (%t) tasks [2] base [3] {
    %ids = mono.receive %chosen[0, 0] [4, 2] : tensor<4x2xi32>
    %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<4x2xi32> into tensor<8xi32>
    %four = arith.constant dense<4> : tensor<8xi32>
    %list = arith.remui %flat, %four : tensor<8xi32>
    %stream = mono.stream %w[0, %t * 16, 0] [4, 16, 128] scaled %w_scale groups(%list : tensor<8xi32>) split_k(2)
    %five = arith.constant dense<5> : tensor<8xi32>
    %which = arith.remui %flat, %five : tensor<8xi32>
    mono.receive_rows %rows at %which into %u : tensor<8xi32>
    %c9 = arith.constant 9 : index
    %map = tensor.generate {
    ^bb0(%g: index, %r: index):
      %sum = arith.addi %g, %r : index
      %row = arith.remui %sum, %c9 : index
      %row32 = arith.index_cast %row : index to i32
      tensor.yield %row32 : i32
    } : tensor<8x4xi32>
    %out = mono.contract %u[0, 0] [8, 128] rows(%map : tensor<8x4xi32>), %stream : tensor<4x16xf32>
    mono.store %out, %y[0, %t * 16] : tensor<4x16xf32>
  }
}

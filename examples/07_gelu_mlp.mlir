// An MLP of routines: y = x + W2 GELU(W1 LayerNorm(x) + b1) + b2 with FP8 weights as checkpoints have
// them, E4M3 with an f32 scale for each block of 128 x 128, over TP tensor parallel ranks.
mono.import "../schedules/activation.mlir"
mono.import "../schedules/elementwise.mlir"
mono.import "../schedules/linear.mlir"
mono.import "../schedules/norm.mlir"

mono.schedule @gelu_mlp target("gfx950") grid(64 x 512) {
  %S = mono.param "S" in [1 to 16]                     // tokens
  %TP = mono.param "TP" in [1, 2, 4]                   // ranks
  %rank = mono.ranks [%TP]
  %HIDDEN = mono.param "HIDDEN" in [256 to 4096] default 256
  %MLP = mono.param "MLP" in [512 to 16384] default 1024
  %UNITS = arith.divui %MLP, %TP : index               // of this rank
  %sixteen = arith.constant 16 : index
  %width = arith.constant 128 : index
  %eps = arith.constant 1.0e-5 : f32

  %x = mono.operand "x" read [%S, %HIDDEN] : bf16
  %gamma = mono.operand "gamma" read weight [%HIDDEN] : f32
  %beta = mono.operand "beta" read weight [%HIDDEN] : f32
  %w1 = mono.operand "w1" read weight [%UNITS, %HIDDEN] : f8E4M3FN, #mono.mfma_rows<16>
  %w1_scale = mono.operand "w1_scale" read weight [%UNITS ceildiv 128, %HIDDEN floordiv 128] : f32
  %b1 = mono.operand "b1" read weight [%UNITS] : f32
  %w2 = mono.operand "w2" read weight [%HIDDEN, %UNITS] : f8E4M3FN, #mono.mfma_rows<16>
  %w2_scale = mono.operand "w2_scale" read weight [%HIDDEN ceildiv 128, %UNITS floordiv 128] : f32
  %b2 = mono.operand "b2" read weight [%HIDDEN] : f32
  %y = mono.operand "y" write [%S, %HIDDEN] : bf16

  %normed = mono.mailbox "normed" tagged scope(device) slots(1) [%S, %HIDDEN] : bf16
  %units = mono.mailbox "units" tagged scope(device) slots(1) [%S, %UNITS] : bf16
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [%TP, %S, %HIDDEN] : bf16
  %row = mono.region "row" [%S, %HIDDEN] pad(8) : bf16
  %unit_row = mono.region "unit_row" [%S, %UNITS] pad(8) : bf16

  mono.stage "norm" (%t) tasks [%S] base [0] {
    %one = arith.constant 1 : index
    %x16 = mono.load %x[%t, 0] [1, %HIDDEN] : tensor<1x?xbf16>
    %x32 = arith.extf %x16 : tensor<1x?xbf16> to tensor<1x?xf32>
    %g = mono.load %gamma[0] [%HIDDEN] : tensor<?xf32>
    %b = mono.load %beta[0] [%HIDDEN] : tensor<?xf32>
    %n = mono.call @layer_norm(%x32, %g, %b, %eps, %one, %HIDDEN)
      : (tensor<1x?xf32>, tensor<?xf32>, tensor<?xf32>, f32, index, index) -> tensor<1x?xf32>
    %n16 = arith.truncf %n : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.post %n16 to %normed[%t, 0] : tensor<1x?xbf16>
  }

  // 16 units per task; all eight wavefronts share the depth.
  mono.stage "up" (%t) tasks [%UNITS floordiv 16] base [0] {
    %w = mono.stream %w1[%t * 16, 0] [16, %HIDDEN] scaled %w1_scale split_k(8)
    %b = mono.load %b1[%t * 16] [16] : tensor<16xf32>
    %u = mono.call @linear_tile(%normed, %row, %w, %S, %HIDDEN)
      : (!mono.mailbox, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %biased = mono.call @add_columns(%u, %b, %S, %sixteen)
      : (tensor<?x16xf32>, tensor<16xf32>, index, index) -> tensor<?x16xf32>
    %act = mono.call @gelu(%biased, %S, %sixteen) : (tensor<?x16xf32>, index, index) -> tensor<?x16xf32>
    %act16 = arith.truncf %act : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %act16 to %units[0, %t * 16] : tensor<?x16xbf16>
  }

  // This rank's part of each sum goes to all ranks.
  mono.stage "down" (%t) tasks [%HIDDEN floordiv 16] base [0] {
    %w = mono.stream %w2[%t * 16, 0] [16, %UNITS] scaled %w2_scale split_k(8)
    %part = mono.call @linear_tile(%units, %unit_row, %w, %S, %UNITS)
      : (!mono.mailbox, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %part16 = arith.truncf %part : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %part16 to %parts[%rank, 0, %t * 16] : tensor<?x16xbf16>
  }

  // Second half of the all-reduce, bias and residual.
  mono.stage "reduce" (%t) tasks [%HIDDEN floordiv 128] base [0] {
    %x16 = mono.load %x[0, %t * 128] [%S, 128] : tensor<?x128xbf16>
    %x32 = arith.extf %x16 : tensor<?x128xbf16> to tensor<?x128xf32>
    %b = mono.load %b2[%t * 128] [128] : tensor<128xf32>
    %xb = mono.call @add_columns(%x32, %b, %S, %width)
      : (tensor<?x128xf32>, tensor<128xf32>, index, index) -> tensor<?x128xf32>
    %sum = mono.receive %parts[0, 0, %t * 128] [%TP, %S, 128] sum : tensor<?x128xf32>
    %y32 = arith.addf %xb, %sum : tensor<?x128xf32>
    %y16 = arith.truncf %y32 : tensor<?x128xf32> to tensor<?x128xbf16>
    mono.store %y16, %y[0, %t * 128] : tensor<?x128xbf16>
  }
}

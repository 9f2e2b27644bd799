// The shape of models/glm5/attn_out_router.mlir at a fiftieth of its size: contraction, all-reduce
// over ranks, norm, contraction out of LDS, top-8.
mono.import "../../../schedules/elementwise.mlir"
mono.import "../../../schedules/norm.mlir"
mono.import "../../../schedules/routing.mlir"

mono.schedule @router target("gfx950") grid(16 x 128) {
  %S = mono.param "S" in [1 to 8]
  %TP = mono.param "TP" in [1, 2, 4, 8]
  %rank = mono.ranks [%TP]

  %h = mono.operand "h" read [%S, 64] : bf16
  %w_o = mono.operand "w_o" read weight [256, 64] : bf16, #mono.mfma_rows<16>
  %x = mono.operand "x" read [%S, 256] : bf16
  %w_post = mono.operand "w_post" read weight [256] : bf16
  %w_gate = mono.operand "w_gate" read weight [64, 256] : bf16, #mono.mfma_rows<16>
  %bias = mono.operand "bias" read weight [64] : f32
  %attn_residual = mono.operand "attn_residual" write [%S, 256] : bf16
  %router_logits = mono.operand "router_logits" write [%S, 64] : f32
  %topk_ids = mono.operand "topk_ids" write [%S, 8] : i32
  %topk_weights = mono.operand "topk_weights" write [%S, 8] : f32

  %partial = mono.mailbox "partial" tagged scope(peers) slots(2) [%TP, %S, 256] : bf16
  %scaled = mono.mailbox "scaled" tagged scope(device) slots(1) [%S, 256] : bf16
  %squares = mono.mailbox "squares" tagged scope(device) slots(1) [2, %S] : f32
  %logits = mono.mailbox "logits" tagged scope(device) slots(1) [%S, 64] : f32
  %row = mono.region "row" [%S, 256] pad(8) : bf16

  mono.stage "o_proj" (%t) tasks [8] base [0] {
    %w = mono.stream %w_o[%t * 32, 0] [32, 64] split_k(2)
    %sum = mono.contract %h[0, 0] [%S, 64], %w : tensor<?x32xf32>
    %rounded = arith.truncf %sum : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %partial[%rank, 0, %t * 32] : tensor<?x32xbf16>
  }
  mono.stage "reduce" (%t) tasks [2] base [8] {
    %n = arith.constant 128 : index
    %gamma16 = mono.load %w_post[%t * 128] [128] : tensor<128xbf16>
    %gamma = arith.extf %gamma16 : tensor<128xbf16> to tensor<128xf32>
    %x16 = mono.load %x[0, %t * 128] [%S, 128] : tensor<?x128xbf16>
    %x32 = arith.extf %x16 : tensor<?x128xbf16> to tensor<?x128xf32>
    %sum = mono.receive %partial[0, 0, %t * 128] [%TP, %S, 128] sum : tensor<?x128xf32>
    %x1 = arith.addf %x32, %sum : tensor<?x128xf32>
    %x1_16 = arith.truncf %x1 : tensor<?x128xf32> to tensor<?x128xbf16>
    mono.store %x1_16, %attn_residual[0, %t * 128] : tensor<?x128xbf16>
    %y = arith.extf %x1_16 : tensor<?x128xbf16> to tensor<?x128xf32>
    %square = mono.call @sum_of_squares(%y, %S) : (tensor<?x128xf32>, index) -> tensor<?xf32>
    mono.post %square to %squares[%t, 0] : tensor<?xf32>
    %g = mono.call @scale_columns(%y, %gamma, %S, %n)
      : (tensor<?x128xf32>, tensor<128xf32>, index, index) -> tensor<?x128xf32>
    %g16 = arith.truncf %g : tensor<?x128xf32> to tensor<?x128xbf16>
    mono.post %g16 to %scaled[0, %t * 128] : tensor<?x128xbf16>
  }
  mono.stage "router" (%t) tasks [4] base [10] {
    %w = mono.stream %w_gate[%t * 16, 0] [16, 256] split_k(2)
    mono.receive %scaled[0, 0] [%S, 256] into %row
    %raw = mono.contract %row[0, 0] [%S, 256], %w : tensor<?x16xf32>
    %sum = mono.receive %squares[0, 0] [2, %S] sum : tensor<?xf32>
    %columns = arith.constant 256.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %rstd = mono.call @reciprocal_rms(%sum, %S, %columns, %eps)
      : (tensor<?xf32>, index, f32, f32) -> tensor<?xf32>
    %n = arith.constant 16 : index
    %logit = mono.call @scale_rows(%raw, %rstd, %S, %n)
      : (tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
    mono.store %logit, %router_logits[0, %t * 16] : tensor<?x16xf32>
    mono.post %logit to %logits[0, %t * 16] : tensor<?x16xf32>
  }
  mono.stage "select" (%t) tasks [1] base [0] {
    %b = mono.load %bias[0] [64] : tensor<64xf32>
    %logit = mono.receive %logits[0, 0] [%S, 64] : tensor<?x64xf32>
    %scale = arith.constant 2.5 : f32
    %experts = arith.constant 64 : index
    %eight = arith.constant 8 : index
    %ids, %weights = mono.call @route_topk(%logit, %b, %scale, %S, %experts, %eight)
      : (tensor<?x64xf32>, tensor<64xf32>, f32, index, index, index)
      -> (tensor<?x8xi32>, tensor<?x8xf32>)
    mono.store %ids, %topk_ids[0, 0] : tensor<?x8xi32>
    mono.store %weights, %topk_weights[0, 0] : tensor<?x8xf32>
  }
}

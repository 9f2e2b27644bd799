// GLM-5: from the attention heads' output to the routing decision, one launch a rank.
//
//   o_proj (columns sharded over the ranks) -> all-reduce -> residual -> RMSNorm -> router -> top-8
//
// Every stage has workgroups of its own, so the weights of a late stage are on their way long before
// its input exists:
//
//   workgroup    0 ......... 191   192 ..... 239   240 . 255
//                o_proj            reduce          router       (select runs on workgroup 0)
mono.import "../../schedules/elementwise.mlir"
mono.import "../../schedules/norm.mlir"
mono.import "../../schedules/routing.mlir"

mono.schedule @attn_out_router target("gfx950") grid(256 x 512) {
  %S = mono.param "S" in [1 to 8]          // tokens
  %TP = mono.param "TP" in [1, 2, 4, 8]    // tensor parallel ranks
  %rank = mono.ranks [%TP]

  // 64 heads of 256 values; a rank holds its heads and the matching columns of w_o.
  %heads = arith.constant 16384 : index
  %depth = arith.divui %heads, %TP : index

  %h = mono.operand "h" read [%S, %depth] : bf16
  %w_o = mono.operand "w_o" read weight [6144, %depth] : bf16, #mono.mfma_rows<16>
  %x = mono.operand "x" read [%S, 6144] : bf16
  %w_post = mono.operand "w_post" read weight [6144] : bf16
  %w_gate = mono.operand "w_gate" read weight [256, 6144] : bf16, #mono.mfma_rows<16>
  %bias = mono.operand "bias" read weight [256] : f32

  %attn_residual = mono.operand "attn_residual" write [%S, 6144] : bf16
  %router_logits = mono.operand "router_logits" write [%S, 256] : f32
  %topk_ids = mono.operand "topk_ids" write [%S, 8] : i32
  %topk_weights = mono.operand "topk_weights" write [%S, 8] : f32

  %partial = mono.mailbox "partial" tagged scope(peers) slots(2) [%TP, %S, 6144] : bf16
  %scaled = mono.mailbox "scaled" tagged scope(device) slots(1) [%S, 6144] : bf16
  %squares = mono.mailbox "squares" tagged scope(device) slots(1) [48, %S] : f32
  %logits = mono.mailbox "logits" tagged scope(device) slots(1) [%S, 256] : f32

  %row = mono.region "row" [%S, 6144] pad(8) : bf16

  // 32 rows of w_o per task; each of the 8 wavefronts takes an eighth of the depth.
  mono.stage "o_proj" (%t) tasks [192] base [0] {
    %w = mono.stream %w_o[%t * 32, 0] [32, %depth] split_k(8)
    %sum = mono.contract %h[0, 0] [%S, %depth], %w : tensor<?x32xf32>
    %rounded = arith.truncf %sum : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %partial[%rank, 0, %t * 32] : tensor<?x32xbf16>
  }

  // Second half of the all-reduce, residual, and the part of RMSNorm that needs no other column.
  // The norm's weight is applied here, where each element of it is read once; 1 / rms is a factor
  // of a whole row and can wait until after the router's product.
  mono.stage "reduce" (%t) tasks [48] base [192] {
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

  // 16 experts a task, logits in f32.
  mono.stage "router" (%t) tasks [16] base [240] {
    %w = mono.stream %w_gate[%t * 16, 0] [16, 6144] split_k(8)
    mono.receive %scaled[0, 0] [%S, 6144] into %row
    %raw = mono.contract %row[0, 0] [%S, 6144], %w : tensor<?x16xf32>
    %sum = mono.receive %squares[0, 0] [48, %S] sum : tensor<?xf32>
    %columns = arith.constant 6144.0 : f32
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
    %b = mono.load %bias[0] [256] : tensor<256xf32>
    %logit = mono.receive %logits[0, 0] [%S, 256] : tensor<?x256xf32>
    %scale = arith.constant 2.5 : f32
    %experts = arith.constant 256 : index
    %eight = arith.constant 8 : index
    %ids, %weights = mono.call @route_topk(%logit, %b, %scale, %S, %experts, %eight)
      : (tensor<?x256xf32>, tensor<256xf32>, f32, index, index, index)
      -> (tensor<?x8xi32>, tensor<?x8xf32>)
    mono.store %ids, %topk_ids[0, 0] : tensor<?x8xi32>
    mono.store %weights, %topk_weights[0, 0] : tensor<?x8xf32>
  }
}

// Qwen3-MoE: a whole mixture-of-experts decoder layer for S tokens, one launch a rank.
//
//   RMSNorm -> queries, keys, values -> RMSNorm of each head, RoPE, cache rows -> attention, in splits
//     -> combination -> output projection -> all-reduce, residual -> RMSNorm -> router
//     -> MXFP4 experts -> all-reduce, residual
//
// Tensor parallel: query heads and units of every expert are sharded over the ranks, and the key and
// value heads too; ranks share one where there are fewer of those than ranks.
// docs/models/qwen3_moe.md.
mono.import "../../schedules/decoder.mlir"
mono.import "../../schedules/experts.mlir"
mono.import "../../schedules/gqa.mlir"
mono.import "../../schedules/norm.mlir"
mono.import "../../schedules/rope.mlir"
mono.import "../../schedules/routing.mlir"
mono.import "../../schedules/sizes.mlir"

mono.schedule @qwen3_moe_layer target("gfx950") grid(256 x 512) {
  %S = mono.param "S" in [1 to 8]                         // tokens
  %TP = mono.param "TP" in [1, 2, 4, 8]                   // tensor parallel ranks
  %CTX = mono.param "CTX" in [32 to 131072] default 4096   // tokens a row may have
  %PAGE = mono.param "PAGE" in [1 to 131072] default 64    // tokens of a cache page
  %SPLITS = mono.param "SPLITS" in [1 to 1024] default 32  // attention tasks of a row and group
  %rank = mono.ranks [%TP]

  // The model's dimensions; the defaults are Qwen3-30B-A3B's.
  %HIDDEN = mono.param "HIDDEN" in [256 to 8192] default 2048
  %HEADS = mono.param "HEADS" in [8 to 128] default 32
  %KV_HEADS = mono.param "KV_HEADS" in [1 to 128] default 4
  %DIM = mono.param "DIM" in [32, 64, 96, 128, 256] default 128
  %EXPERTS = mono.param "EXPERTS" in [16 to 512] default 128
  %MOE = mono.param "MOE" in [128 to 4096] default 768
  %CHOSEN = mono.param "CHOSEN" in [1 to 8] default 8

  %two = arith.constant 2 : index
  %sixteen = arith.constant 16 : index
  %thirtyTwo = arith.constant 32 : index
  %one = arith.constant 1 : index
  %H = arith.divui %HEADS, %TP : index                    // query heads here
  %KV = arith.ceildivui %KV_HEADS, %TP : index            // key and value heads here
  %ALL = arith.addi %H, %KV : index
  %PROJECTED = arith.addi %ALL, %KV : index               // heads of w_qkv
  %DEPTH = arith.muli %H, %DIM : index
  %PAIRS = arith.divui %DIM, %two : index
  %PAGES = arith.divui %CTX, %PAGE : index
  %CACHE = arith.muli %S, %CTX : index                    // cache rows
  %KEYS = arith.divui %CTX, %SPLITS : index               // tokens an attention task
  %PARTS_MOST = arith.constant 64 : index                 // that one task combines in whole heads
  %SLICES = arith.ceildivui %SPLITS, %PARTS_MOST : index
  %UNITS = arith.divui %MOE, %TP : index                  // of an expert, here
  %TILES = arith.divui %UNITS, %sixteen : index           // gate and up tiles of an expert
  %tileDepth = arith.constant 128 : index                 // of MXFP4 weights
  %D_TILES = arith.ceildivui %UNITS, %tileDepth : index
  %D_DEPTH = arith.muli %D_TILES, %tileDepth : index      // units and what pads them
  %PAD = arith.subi %D_DEPTH, %UNITS : index
  %PADDED = arith.minui %PAD, %one : index
  %PAIRED = arith.muli %S, %CHOSEN : index
  %GROUPS = arith.minui %PAIRED, %EXPERTS : index         // distinct experts

  //===--- what parameters must keep ------------------------------------------===//

  %SPLIT_TOKENS = arith.muli %SPLITS, %thirtyTwo : index
  %UNIT_TILES = arith.muli %TP, %sixteen : index
  %KV_MORE = arith.maxui %KV_HEADS, %TP : index
  %KV_FEWER = arith.minui %KV_HEADS, %TP : index
  %columns = arith.constant 128 : index                   // of the residual stream, a task
  %headsOfRanks = mono.call @is_multiple(%HEADS, %TP) : (index, index) -> i1
  mono.require %headsOfRanks, "expected HEADS to be a multiple of TP"
  %headsOfKeys = mono.call @is_multiple(%HEADS, %KV_HEADS) : (index, index) -> i1
  mono.require %headsOfKeys, "expected HEADS to be a multiple of KV_HEADS"
  %keysOfRanks = mono.call @is_multiple(%KV_MORE, %KV_FEWER) : (index, index) -> i1
  mono.require %keysOfRanks, "expected KV_HEADS to be a multiple of TP, or TP of KV_HEADS"
  %unitsOfRanks = mono.call @is_multiple(%MOE, %UNIT_TILES) : (index, index) -> i1
  mono.require %unitsOfRanks, "expected MOE to be a multiple of 16 * TP"
  %streamOfTasks = mono.call @is_multiple(%HIDDEN, %columns) : (index, index) -> i1
  mono.require %streamOfTasks, "expected HIDDEN to be a multiple of 128"
  %pagesOfTokens = mono.call @is_multiple(%CTX, %PAGE) : (index, index) -> i1
  mono.require %pagesOfTokens, "expected CTX to be a multiple of PAGE"
  %splitsOfTokens = mono.call @is_multiple(%CTX, %SPLIT_TOKENS) : (index, index) -> i1
  mono.require %splitsOfTokens, "expected CTX to be a multiple of 32 * SPLITS"
  %enough = arith.cmpi ule, %CHOSEN, %EXPERTS : index
  mono.require %enough, "expected CHOSEN to be at most EXPERTS"
  %expertTiles = mono.call @is_multiple(%EXPERTS, %sixteen) : (index, index) -> i1
  mono.require %expertTiles, "expected EXPERTS to be a multiple of 16"

  //===--- operands -----------------------------------------------------------===//

  %x = mono.operand "x" read [%S, %HIDDEN] : bf16
  %positions = mono.operand "positions" read [%S] : i32   // in [0, CTX); of padding rows any other
  %block_table = mono.operand "block_table" read [%S, %PAGES] : i32
  %cos_sin = mono.operand "cos_sin" read [%CTX, %DIM] : f32
  %cache_k = mono.operand "cache_k" update [%CACHE, %KV, %DIM] : bf16
  %cache_v = mono.operand "cache_v" update [%CACHE, %KV, %DIM] : bf16

  %w_in = mono.operand "w_in" read weight [%HIDDEN] : bf16
  %w_qkv = mono.operand "w_qkv" read weight [%PROJECTED * symbol(%DIM), %HIDDEN] : bf16, #mono.mfma_rows<16>
  %q_norm = mono.operand "q_norm" read weight [%DIM] : bf16
  %k_norm = mono.operand "k_norm" read weight [%DIM] : bf16
  %w_o = mono.operand "w_o" read weight [%HIDDEN, %DEPTH] : bf16, #mono.mfma_rows<16>
  %w_post = mono.operand "w_post" read weight [%HIDDEN] : bf16
  %w_router = mono.operand "w_router" read weight [%EXPERTS, %HIDDEN] : bf16, #mono.mfma_rows<16>
  %w_gate_up = mono.operand "w_gate_up" read weight [%EXPERTS, %UNITS * 2, %HIDDEN] : f4E2M1FN, #mono.mfma_rows<16>
  %w_gate_up_scale = mono.operand "w_gate_up_scale" read weight [%EXPERTS, %UNITS * 2, %HIDDEN floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_down = mono.operand "w_down" read weight [%EXPERTS, %HIDDEN, %D_DEPTH] : f4E2M1FN, #mono.mfma_rows<16>
  %w_down_scale = mono.operand "w_down_scale" read weight [%EXPERTS, %HIDDEN, %D_DEPTH floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>

  %y = mono.operand "y" write [%S, %HIDDEN] : bf16
  %attn_residual = mono.operand "attn_residual" write [%S, %HIDDEN] : bf16
  %router_logits = mono.operand "router_logits" write [%S, %EXPERTS] : f32
  %topk_ids = mono.operand "topk_ids" write [%S, %CHOSEN] : i32
  %topk_weights = mono.operand "topk_weights" write [%S, %CHOSEN] : f32

  //===--- mailboxes and regions ----------------------------------------------===//

  %qkv = mono.mailbox "qkv" tagged scope(device) slots(1) [%S, %PROJECTED, %DIM] : f32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [%S * symbol(%KV)] : i32
  %query = mono.mailbox "query" tagged scope(device) slots(1) [%S, %H, %DIM] : bf16
  %new_k = mono.mailbox "new_k" tagged scope(device) slots(1) [%S, %KV, %DIM] : bf16
  %new_v = mono.mailbox "new_v" tagged scope(device) slots(1) [%S, %KV, %DIM] : bf16
  %heads = mono.mailbox "heads" tagged scope(device) slots(1) [%S, %DEPTH] : bf16
  %o_partial = mono.mailbox "o_partial" tagged scope(peers) slots(2) [%TP, %S, %HIDDEN] : bf16
  %scaled = mono.mailbox "scaled" tagged scope(device) slots(1) [%S, %HIDDEN] : bf16
  %squares = mono.mailbox "squares" tagged scope(device) slots(1) [%HIDDEN floordiv 128, %S] : f32
  %logits = mono.mailbox "logits" tagged scope(device) slots(1) [%S, %EXPERTS] : f32
  %units = mono.mailbox "units" tagged scope(device) slots(1) [%GROUPS, %S, %D_DEPTH] : bf16
  %mlp_partial = mono.mailbox "mlp_partial" tagged scope(peers) slots(2) [%TP, %S, %HIDDEN] : bf16

  %stream = mono.region "stream" [%S, 128] : f32          // residual stream after attention
  %row = mono.region "row" [%S, %HIDDEN] pad(8) : bf16    // routed and expert input
  %groups = mono.region "groups" [%GROUPS] : i32
  %group_weight = mono.region "group_weight" [%GROUPS, %S] : f32
  %group_pair = mono.region "group_pair" [%GROUPS, %S] : i32
  %pair_row = mono.region "pair_row" [%PAIRED] : i32
  %route_ids = mono.region "route_ids" [%S, %CHOSEN] : i32
  %route_weights = mono.region "route_weights" [%S, %CHOSEN] : f32

  //===--- attention ----------------------------------------------------------===//

  %eps = arith.constant 1.0e-6 : f32
  %lastWorkgroup = arith.constant 255 : index
  %residualBase = arith.constant 192 : index              // workgroups from here on keep the residual
  mono.call @post_places(%block_table, %positions, %places, %S, %KV, %PAGES, %PAGE, %lastWorkgroup)
    : (!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.call @project_heads(%x, %w_in, %w_qkv, %qkv, %S, %HIDDEN, %PROJECTED, %DIM, %eps)
    : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, f32) -> ()

  mono.stage "rotate_query" (%t) tasks [%S * symbol(%H)] base [0] {
    %raw = mono.receive %qkv[%t floordiv symbol(%H), %t mod symbol(%H), 0] [1, 1, %DIM] : tensor<1x1x?xf32>
    %q = tensor.collapse_shape %raw [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
    %pos = mono.load %positions[%t floordiv symbol(%H)] [1] : tensor<1xi32>
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<1xi32>) -> tensor<1x?xf32>
    %gamma = mono.load %q_norm[0] [%DIM] : tensor<?xbf16>
    %normed = mono.call @rms_normed(%q, %gamma, %eps, %one, %DIM)
      : (tensor<1x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<1x?xf32>
    %rotated = mono.call @rope_halves(%normed, %angles, %one, %PAIRS)
      : (tensor<1x?xf32>, tensor<1x?xf32>, index, index) -> tensor<1x?xf32>
    %rotated16 = arith.truncf %rotated : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.post %rotated16 to %query[%t floordiv symbol(%H), %t mod symbol(%H), 0] : tensor<1x?xbf16>
  }

  // A row's new cache entries of one head: to the caches for later launches, to mailboxes for this.
  mono.stage "write_cache" (%t) tasks [%S * symbol(%KV)] base [(%S * symbol(%H)) mod 256] {
    %pos = mono.load %positions[%t floordiv symbol(%KV)] [1] : tensor<1xi32>
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<1xi32>) -> tensor<1x?xf32>
    %place = mono.receive %places[%t] [1] : tensor<1xi32>
    %rawK = mono.receive %qkv[%t floordiv symbol(%KV), %t mod symbol(%KV) + %H, 0] [1, 1, %DIM] : tensor<1x1x?xf32>
    %k = tensor.collapse_shape %rawK [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
    %gamma = mono.load %k_norm[0] [%DIM] : tensor<?xbf16>
    %normed = mono.call @rms_normed(%k, %gamma, %eps, %one, %DIM)
      : (tensor<1x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<1x?xf32>
    %rotated = mono.call @rope_halves(%normed, %angles, %one, %PAIRS)
      : (tensor<1x?xf32>, tensor<1x?xf32>, index, index) -> tensor<1x?xf32>
    %k16 = arith.truncf %rotated : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.scatter %k16, %cache_k[0] at %place : tensor<1x?xbf16>, tensor<1xi32>
    mono.post %k16 to %new_k[%t floordiv symbol(%KV), %t mod symbol(%KV), 0] : tensor<1x?xbf16>
    %rawV = mono.receive %qkv[%t floordiv symbol(%KV), %t mod symbol(%KV) + %ALL, 0] [1, 1, %DIM] : tensor<1x1x?xf32>
    %v = tensor.collapse_shape %rawV [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
    %v16 = arith.truncf %v : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.scatter %v16, %cache_v[0] at %place : tensor<1x?xbf16>, tensor<1xi32>
    mono.post %v16 to %new_v[%t floordiv symbol(%KV), %t mod symbol(%KV), 0] : tensor<1x?xbf16>
  }

  %dimF = mono.call @size_as_f32(%DIM) : (index) -> f32
  %scale = math.rsqrt %dimF : f32
  %noCap = arith.constant 0.0 : f32
  %part, %part_max, %part_sum = mono.call @gqa_parts(%query, %new_k, %new_v, %places, %cache_k, %cache_v, %block_table, %positions, %S, %H, %KV, %DIM, %PAGES, %PAGE, %CTX, %SPLITS, %KEYS, %scale, %noCap)
    : (!mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index, index, index, index, index, index, index, f32, f32)
    -> (!mono.mailbox, !mono.mailbox, !mono.mailbox)
  mono.call @gqa_combine(%part, %part_max, %part_sum, %heads, %S, %H, %SPLITS, %DIM, %SLICES)
    : (!mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.mailbox, index, index, index, index, index) -> ()

  mono.call @project_output(%heads, %w_o, %o_partial, %rank, %S, %HIDDEN, %DEPTH)
    : (!mono.mailbox, !mono.buffer, !mono.mailbox, index, index, index, index) -> ()
  mono.call @reduce_and_norm(%o_partial, %x, %w_post, %stream, %attn_residual, %scaled, %squares, %TP, %S, %HIDDEN, %residualBase)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, !mono.mailbox, index, index, index, index) -> ()

  //===--- routing ------------------------------------------------------------===//

  mono.stage "router" (%t) tasks [%EXPERTS floordiv 16] base [240] {
    %w = mono.stream %w_router[%t * 16, 0] [16, %HIDDEN] split_k(8)
    mono.receive %scaled[0, 0] [%S, %HIDDEN] into %row
    %raw = mono.contract %row[0, 0] [%S, %HIDDEN], %w : tensor<?x16xf32>
    %rstd = mono.call @receive_rms(%squares, %S, %HIDDEN, %eps)
      : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    %logit = mono.call @scale_rows(%raw, %rstd, %S, %sixteen)
      : (tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
    mono.store %logit, %router_logits[0, %t * 16] : tensor<?x16xf32>
    mono.post %logit to %logits[0, %t * 16] : tensor<?x16xf32>
  }

  // Every workgroup routes for itself: that costs less than another exchange. What it finds, and the
  // normed rows, stay in LDS for its experts.
  mono.stage "route" (%t) tasks [256] base [0] {
    %zeroth = arith.constant 0 : index
    %rstd = mono.call @receive_rms(%squares, %S, %HIDDEN, %eps)
      : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    mono.call @receive_normed(%scaled, %rstd, %row, %zeroth, %S, %HIDDEN)
      : (!mono.mailbox, tensor<?xf32>, !mono.buffer, index, index, index) -> ()
    %logit = mono.receive %logits[0, 0] [%S, %EXPERTS] : tensor<?x?xf32>
    %ids, %weights = mono.call @route_softmax_renormalised(%logit, %S, %CHOSEN)
      : (tensor<?x?xf32>, index, index) -> (tensor<?x?xi32>, tensor<?x?xf32>)
    mono.store %ids, %route_ids[0, 0] : tensor<?x?xi32>
    mono.store %weights, %route_weights[0, 0] : tensor<?x?xf32>
    %list = mono.call @distinct_experts(%ids, %EXPERTS, %PAIRED, %GROUPS)
      : (tensor<?x?xi32>, index, index, index) -> tensor<?xi32>
    mono.store %list, %groups[0] : tensor<?xi32>
    mono.call @store_groups(%list, %ids, %weights, %group_weight, %group_pair, %pair_row, %GROUPS, %S, %CHOSEN, %PAIRED)
      : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xf32>, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
  }

  mono.stage "routing_result" (%t) tasks [1] base [255] {
    %ids = mono.load %route_ids[0, 0] [%S, %CHOSEN] : tensor<?x?xi32>
    %weights = mono.load %route_weights[0, 0] [%S, %CHOSEN] : tensor<?x?xf32>
    mono.store %ids, %topk_ids[0, 0] : tensor<?x?xi32>
    mono.store %weights, %topk_weights[0, 0] : tensor<?x?xf32>
  }

  //===--- experts ------------------------------------------------------------===//

  // Zeros for the units that a rank's share lacks to whole tiles.
  mono.stage "pad_units" (%t) tasks [%GROUPS * symbol(%PADDED)] base [128] {
    %zero = arith.constant 0.0 : bf16
    %zeros = tensor.splat %zero[%S, %PAD] : tensor<?x?xbf16>
    mono.post %zeros to %units[%t, 0, %UNITS] : tensor<?x?xbf16>
  }

  %first = arith.constant 0 : index
  mono.call @experts_gate_up(%row, %w_gate_up, %w_gate_up_scale, %groups, %group_weight, %units, %GROUPS, %TILES, %S, %HIDDEN, %EXPERTS, %first)
    : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index, index) -> ()
  mono.call @experts_down(%units, %w_down, %w_down_scale, %groups, %group_pair, %pair_row, %mlp_partial, %rank, %GROUPS, %PAIRED, %S, %HIDDEN, %D_DEPTH, %EXPERTS, %first)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index, index, index, index) -> ()
  mono.call @add_output(%mlp_partial, %stream, %y, %TP, %S, %HIDDEN, %residualBase)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
}

// Llama 3: a whole dense decoder layer for S tokens, one launch a rank.
//
//   RMSNorm -> queries, keys, values -> RoPE, cache rows -> attention, in splits -> combination
//     -> output projection -> all-reduce, residual -> RMSNorm -> gated MLP -> all-reduce, residual
//
// Tensor parallel: query heads and units of the MLP are sharded over the ranks, and the key and value
// heads too; ranks share one where there are fewer of those than ranks. docs/models/llama3.md.
mono.import "../../schedules/decoder.mlir"
mono.import "../../schedules/experts.mlir"
mono.import "../../schedules/gqa.mlir"
mono.import "../../schedules/norm.mlir"
mono.import "../../schedules/rope.mlir"
mono.import "../../schedules/sizes.mlir"

mono.schedule @llama3_layer target("gfx950") grid(256 x 512) {
  %S = mono.param "S" in [1 to 8]                         // tokens
  %TP = mono.param "TP" in [1, 2, 4, 8]                   // tensor parallel ranks
  %CTX = mono.param "CTX" in [32 to 131072] default 4096   // tokens a row may have
  %PAGE = mono.param "PAGE" in [1 to 131072] default 64    // tokens of a cache page
  %SPLITS = mono.param "SPLITS" in [1 to 1024] default 32  // attention tasks of a row and group
  %rank = mono.ranks [%TP]

  // The model's dimensions; the defaults are Llama-3.1-8B's.
  %HIDDEN = mono.param "HIDDEN" in [256 to 8192] default 4096
  %HEADS = mono.param "HEADS" in [8 to 128] default 32
  %KV_HEADS = mono.param "KV_HEADS" in [1 to 128] default 8
  %DIM = mono.param "DIM" in [32, 64, 96, 128, 256] default 128
  %MLP = mono.param "MLP" in [256 to 65536] default 14336

  %none = arith.constant 0 : index
  %sixteen = arith.constant 16 : index
  %thirtyTwo = arith.constant 32 : index
  %H = arith.divui %HEADS, %TP : index                    // query heads here
  %KV = arith.ceildivui %KV_HEADS, %TP : index            // key and value heads here
  %ALL = arith.addi %H, %KV : index
  %PROJECTED = arith.addi %ALL, %KV : index               // heads of w_qkv
  %DEPTH = arith.muli %H, %DIM : index
  %PAGES = arith.divui %CTX, %PAGE : index
  %CACHE = arith.muli %S, %CTX : index                    // cache rows
  %KEYS = arith.divui %CTX, %SPLITS : index               // tokens an attention task
  %PARTS_MOST = arith.constant 64 : index                 // that one task combines in whole heads
  %SLICES = arith.ceildivui %SPLITS, %PARTS_MOST : index
  %UNITS = arith.divui %MLP, %TP : index                  // of the MLP, here
  %TILES = arith.divui %UNITS, %sixteen : index
  %D_MOST = arith.constant 8192 : index                   // units LDS holds
  %D_PARTS = arith.ceildivui %UNITS, %D_MOST : index
  %D_DEPTH = arith.divui %UNITS, %D_PARTS : index
  %ALL_PARTS = arith.muli %TP, %D_PARTS : index

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
  %unitsOfRanks = mono.call @is_multiple(%MLP, %UNIT_TILES) : (index, index) -> i1
  mono.require %unitsOfRanks, "expected MLP to be a multiple of 16 * TP"
  %streamOfTasks = mono.call @is_multiple(%HIDDEN, %columns) : (index, index) -> i1
  mono.require %streamOfTasks, "expected HIDDEN to be a multiple of 128"
  %pagesOfTokens = mono.call @is_multiple(%CTX, %PAGE) : (index, index) -> i1
  mono.require %pagesOfTokens, "expected CTX to be a multiple of PAGE"
  %splitsOfTokens = mono.call @is_multiple(%CTX, %SPLIT_TOKENS) : (index, index) -> i1
  mono.require %splitsOfTokens, "expected CTX to be a multiple of 32 * SPLITS"
  %wholeParts = mono.call @is_multiple(%UNITS, %D_PARTS) : (index, index) -> i1
  mono.require %wholeParts, "expected the MLP units of a rank to be a multiple of their parts in LDS, of at most 8192"

  //===--- operands -----------------------------------------------------------===//

  %x = mono.operand "x" read [%S, %HIDDEN] : bf16
  %positions = mono.operand "positions" read [%S] : i32   // in [0, CTX); of padding rows any other
  %block_table = mono.operand "block_table" read [%S, %PAGES] : i32
  %cos_sin = mono.operand "cos_sin" read [%CTX, %DIM] : f32
  %cache_k = mono.operand "cache_k" update [%CACHE, %KV, %DIM] : bf16
  %cache_v = mono.operand "cache_v" update [%CACHE, %KV, %DIM] : bf16

  %w_in = mono.operand "w_in" read weight [%HIDDEN] : bf16
  %w_qkv = mono.operand "w_qkv" read weight [%PROJECTED * symbol(%DIM), %HIDDEN] : bf16, #mono.mfma_rows<16>
  %w_o = mono.operand "w_o" read weight [%HIDDEN, %DEPTH] : bf16, #mono.mfma_rows<16>
  %w_post = mono.operand "w_post" read weight [%HIDDEN] : bf16
  %w_gate_up = mono.operand "w_gate_up" read weight [%UNITS * 2, %HIDDEN] : bf16, #mono.mfma_rows<16>
  %w_down = mono.operand "w_down" read weight [%HIDDEN, %UNITS] : bf16, #mono.mfma_rows<16>

  %y = mono.operand "y" write [%S, %HIDDEN] : bf16
  %attn_residual = mono.operand "attn_residual" write [%S, %HIDDEN] : bf16

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
  %units = mono.mailbox "units" tagged scope(device) slots(1) [%D_PARTS, %S, %D_DEPTH] : bf16
  %mlp_partial = mono.mailbox "mlp_partial" tagged scope(peers) slots(2) [%ALL_PARTS, %S, %HIDDEN] : bf16

  %stream = mono.region "stream" [%S, 128] : f32          // residual stream after attention
  %row = mono.region "row" [%S, %HIDDEN] pad(8) : bf16    // normed but for the factor of each row
  %u = mono.region "u" [%S, %D_DEPTH] pad(8) : bf16

  //===--- attention ----------------------------------------------------------===//

  %eps = arith.constant 1.0e-5 : f32
  %lastWorkgroup = arith.constant 255 : index
  %residualBase = arith.constant 192 : index              // workgroups from here on keep the residual
  mono.call @post_places(%block_table, %positions, %places, %S, %KV, %PAGES, %PAGE, %lastWorkgroup)
    : (!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.call @project_heads(%x, %w_in, %w_qkv, %qkv, %S, %HIDDEN, %PROJECTED, %DIM, %eps)
    : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, f32) -> ()

  mono.stage "rotate_query" (%t) tasks [%S * symbol(%H)] base [0] {
    %pos = mono.load %positions[%t floordiv symbol(%H)] [1] : tensor<1xi32>
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<1xi32>) -> tensor<1x?xf32>
    %q = mono.call @receive_head(%qkv, %t, %H, %none, %DIM)
      : (!mono.mailbox, index, index, index, index) -> tensor<1x?xf32>
    %q16 = mono.call @rotate_head(%q, %angles, %DIM)
      : (tensor<1x?xf32>, tensor<1x?xf32>, index) -> tensor<1x?xbf16>
    mono.post %q16 to %query[%t floordiv symbol(%H), %t mod symbol(%H), 0] : tensor<1x?xbf16>
  }

  // A row's new cache entries of one head: to the caches for later launches, to mailboxes for this.
  mono.stage "write_cache" (%t) tasks [%S * symbol(%KV)] base [(%S * symbol(%H)) mod 256] {
    %pos = mono.load %positions[%t floordiv symbol(%KV)] [1] : tensor<1xi32>
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<1xi32>) -> tensor<1x?xf32>
    %place = mono.receive %places[%t] [1] : tensor<1xi32>
    %k = mono.call @receive_head(%qkv, %t, %KV, %H, %DIM)
      : (!mono.mailbox, index, index, index, index) -> tensor<1x?xf32>
    %k16 = mono.call @rotate_head(%k, %angles, %DIM)
      : (tensor<1x?xf32>, tensor<1x?xf32>, index) -> tensor<1x?xbf16>
    mono.call @keep_head(%k16, %place, %cache_k, %new_k, %t, %KV)
      : (tensor<1x?xbf16>, tensor<1xi32>, !mono.buffer, !mono.mailbox, index, index) -> ()
    %v = mono.call @receive_head(%qkv, %t, %KV, %ALL, %DIM)
      : (!mono.mailbox, index, index, index, index) -> tensor<1x?xf32>
    %v16 = arith.truncf %v : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.call @keep_head(%v16, %place, %cache_v, %new_v, %t, %KV)
      : (tensor<1x?xbf16>, tensor<1xi32>, !mono.buffer, !mono.mailbox, index, index) -> ()
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

  //===--- MLP ----------------------------------------------------------------===//

  // 16 units per task: 16 gate rows, then the 16 up rows of the same units.
  mono.stage "gate_up" (%t) tasks [%TILES] base [0] {
    %w = mono.stream %w_gate_up[%t * 32, 0] [32, %HIDDEN] split_k(8)
    mono.receive %scaled[0, 0] [%S, %HIDDEN] into %row
    %raw = mono.contract %row[0, 0] [%S, %HIDDEN], %w : tensor<?x32xf32>
    %rstd = mono.call @receive_rms(%squares, %S, %HIDDEN, %eps)
      : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    %gateRaw = tensor.extract_slice %raw[0, 0] [%S, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
    %gate = mono.call @scale_rows(%gateRaw, %rstd, %S, %sixteen)
      : (tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
    %up = tensor.extract_slice %raw[0, 16] [%S, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
    %unit = mono.call @swiglu(%gate, %up, %rstd, %S, %sixteen)
      : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
    %unit16 = arith.truncf %unit : tensor<?x16xf32> to tensor<?x16xbf16>
    mono.post %unit16 to %units[(%t * 16) floordiv symbol(%D_DEPTH), 0, (%t * 16) mod symbol(%D_DEPTH)] : tensor<?x16xbf16>
  }

  mono.stage "down" (%t) tasks [(%HIDDEN floordiv 32) * symbol(%D_PARTS)] base [0] {
    %w = mono.stream %w_down[(%t floordiv symbol(%D_PARTS)) * 32, (%t mod symbol(%D_PARTS)) * symbol(%D_DEPTH)] [32, %D_DEPTH] split_k(8)
    mono.receive %units[%t mod symbol(%D_PARTS), 0, 0] [1, %S, %D_DEPTH] into %u
    %product = mono.contract %u[0, 0] [%S, %D_DEPTH], %w : tensor<?x32xf32>
    %rounded = arith.truncf %product : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %mlp_partial[%rank * symbol(%D_PARTS) + %t mod symbol(%D_PARTS), 0, (%t floordiv symbol(%D_PARTS)) * 32] : tensor<?x32xbf16>
  }

  mono.call @add_output(%mlp_partial, %stream, %y, %ALL_PARTS, %S, %HIDDEN, %residualBase)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
}

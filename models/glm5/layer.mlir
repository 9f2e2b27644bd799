// GLM-5: a whole decoder layer for S tokens, one launch a rank.
//
//   RMSNorm -> down projections -> norms, RoPE, cache rows -> up projections
//     -> index scores -> top-k tokens -> latent attention over them, in splits -> combination
//     -> value expansion -> output projection -> all-reduce, residual -> RMSNorm -> router
//     -> MXFP4 experts and the shared expert -> all-reduce, residual
//
// Tensor parallel: heads and the units of every expert are sharded over the ranks, the rest is
// replicated; all ranks compute the same bits. With SHARD_A = 1 the projections that all ranks need are
// sharded too, and exchanged. Maths and names: docs/models/glm5.md.
//
// The query's way is in two bf16 terms (schedules/two_terms.mlir): the softmax enlarges what rounding
// does to it.
//
// A stage's tasks lie where the workgroups are free at that time, so that its first weights are on
// their way while it still waits.
mono.import "../../schedules/attention.mlir"
mono.import "../../schedules/decoder.mlir"
mono.import "../../schedules/elementwise.mlir"
mono.import "../../schedules/experts.mlir"
mono.import "../../schedules/mx.mlir"
mono.import "../../schedules/norm.mlir"
mono.import "../../schedules/paged_cache.mlir"
mono.import "../../schedules/rope.mlir"
mono.import "../../schedules/routing.mlir"
mono.import "../../schedules/sizes.mlir"
mono.import "../../schedules/two_terms.mlir"

mono.schedule @glm5_layer target("gfx950") grid(256 x 512) {
  %S = mono.param "S" in [1 to 8]                         // tokens
  %TP = mono.param "TP" in [1, 2, 4, 8]                   // tensor parallel ranks
  %CTX = mono.param "CTX" in [128 to 131072] default 4096 // tokens a row may have
  %PAGE = mono.param "PAGE" in [1 to 131072] default 64   // tokens of a cache page
  %INDEXER = mono.param "INDEXER" in [0 to 1] default 1   // 0: the tokens are given in index_topk
  %SHARD_A = mono.param "SHARD_A" in [0 to 1] default 0   // 1: no projection is computed twice
  %SPLITS = mono.param "SPLITS" in [1, 2, 4, 8, 16, 32, 64] default 32 // attention tasks of a row
  %ATTN = mono.param "ATTN" in [bf16, mxfp8] default bf16 // attention weights
  %ACT = mono.param "ACT" in [bf16, mxfp8] default bf16   // activations of the experts
  %rank = mono.ranks [%TP]

  // The model's dimensions; the defaults are GLM-5's.
  %HIDDEN = mono.param "HIDDEN" in [128 to 16384] default 6144
  %HEADS = mono.param "HEADS" in [8 to 128] default 64
  %Q_LORA = mono.param "Q_LORA" in [64 to 4096] default 2048
  %KV_LORA = mono.param "KV_LORA" in [64 to 1024] default 512
  %NOPE = mono.param "NOPE" in [64 to 256] default 192
  %ROPE = mono.param "ROPE" in [32, 64] default 64
  %V_DIM = mono.param "V_DIM" in [32 to 512] default 256
  %INDEX_HEADS = mono.param "INDEX_HEADS" in [1 to 64] default 32
  %INDEX_DIM = mono.param "INDEX_DIM" in [64 to 256] default 128
  %TOPK = mono.param "TOPK" in [32 to 4096] default 2048
  %EXPERTS = mono.param "EXPERTS" in [16 to 512] default 256
  %MOE = mono.param "MOE" in [128 to 4096] default 2048
  %CHOSEN = mono.param "CHOSEN" in [1 to 8] default 8

  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %sixteen = arith.constant 16 : index
  %thirtyTwo = arith.constant 32 : index
  %chunk = arith.constant 128 : index                        // tokens a scoring task
  %H = arith.divui %HEADS, %TP : index
  %HG = arith.minui %H, %sixteen : index                      // heads an attention task
  %HEAD_GROUPS = arith.divui %H, %HG : index
  %HEAD_DIMS = arith.muli %H, %V_DIM : index
  %O_MOST = arith.constant 8192 : index                      // of them, LDS holds so many
  %O_PARTS = arith.ceildivui %HEAD_DIMS, %O_MOST : index
  %O_DEPTH = arith.divui %HEAD_DIMS, %O_PARTS : index
  %UNITS = arith.divui %MOE, %TP : index                     // of an expert, here
  %HALF = arith.divui %HIDDEN, %two : index
  %D_MOST = arith.constant 512 : index                       // units a task of "down" takes
  %QK = arith.addi %NOPE, %ROPE : index
  %KV = arith.addi %KV_LORA, %ROPE : index                   // of a cached token
  %PAIRS = arith.divui %ROPE, %two : index                   // rotary pairs of a head
  %PAGES = arith.divui %CTX, %PAGE : index
  %CACHE = arith.muli %S, %CTX : index                       // cache rows
  %KEYS = arith.divui %TOPK, %SPLITS : index                 // tokens an attention task
  %CHUNKS = arith.divui %CTX, %chunk : index
  %SECTION_MOST = arith.constant 16384 : index               // scores a selecting task takes
  %SECTION = arith.minui %CTX, %SECTION_MOST : index
  %SECTIONS = arith.divui %CTX, %SECTION : index
  %ALONE = arith.divui %one, %SECTIONS : index               // 1 if there is one section
  %SEVERAL = arith.subi %one, %ALONE : index
  %AT_ONCE = arith.muli %ALONE, %INDEXER : index
  %BY_SECTION = arith.muli %SEVERAL, %INDEXER : index
  %CANDIDATES = arith.muli %SECTIONS, %TOPK : index
  %GIVEN = arith.subi %one, %INDEXER : index
  %INDEX_AT = arith.addi %KV, %INDEX_DIM : index             // index weights behind the index key
  %INDEX_ROWS0 = arith.addi %INDEX_DIM, %INDEX_HEADS : index
  %INDEX_ROWS = arith.muli %INDEX_ROWS0, %INDEXER : index
  %SMALL0 = arith.addi %KV, %INDEX_ROWS : index

  // The projections that all ranks need: who computes them, and which part of them this rank has.
  %isSharded = arith.cmpi eq, %SHARD_A, %one : index
  %REPEATED = arith.subi %one, %SHARD_A : index
  %SHARES = arith.select %isSharded, %TP, %one : index
  %share = arith.select %isSharded, %rank, %none : index
  %Q_ROWS = arith.divui %Q_LORA, %SHARES : index             // of w_a here: q_a first,
  %SMALL_TILES0 = arith.muli %SHARES, %sixteen : index
  %SMALL_TILES = arith.ceildivui %SMALL0, %SMALL_TILES0 : index
  %SMALL_ROWS = arith.muli %SMALL_TILES, %sixteen : index    // then the rest, in whole tiles
  %SMALL = arith.muli %SMALL_ROWS, %SHARES : index
  %A_ROWS = arith.addi %Q_ROWS, %SMALL_ROWS : index
  %INDEX_HEADS_HERE = arith.divui %INDEX_HEADS, %SHARES : index
  // A share is too small to keep the workgroups busy by its rows alone, so its depth is split as well.
  %A_MOST0 = arith.constant 256 : index                      // least depth of 8 wavefronts
  %A_MOST = arith.divui %HIDDEN, %A_MOST0 : index
  %A_PARTS0 = arith.minui %A_MOST, %TP : index
  %A_PARTS = arith.maxui %A_PARTS0, %two : index             // LDS holds half of a row
  %A_DEPTH = arith.divui %HIDDEN, %A_PARTS : index
  %ALL_CHOSEN = arith.muli %S, %CHOSEN : index
  %D_DEPTH = arith.minui %UNITS, %D_MOST : index
  %D_PARTS = arith.divui %UNITS, %D_DEPTH : index
  %MOST = arith.minui %ALL_CHOSEN, %EXPERTS : index          // distinct routed experts
  %GROUPS = arith.addi %MOST, %one : index                   // and the shared one
  %CHOICES = arith.addi %CHOSEN, %one : index
  %PAIRED = arith.muli %S, %CHOICES : index
  %TILES = arith.divui %UNITS, %sixteen : index              // gate and up tiles of an expert
  %BLOCKS = arith.divui %UNITS, %thirtyTwo : index           // MX blocks of an expert's units
  %WIDE = arith.subi %one, %ACT : index                      // 1 if experts take bf16

  // Tasks of stages and where they begin.
  %NOPE_PARTS = arith.divui %NOPE, %thirtyTwo : index
  %ROPE_PARTS = arith.divui %ROPE, %thirtyTwo : index
  %PASS = arith.subi %INDEX_DIM, %ROPE : index
  %PASS_PARTS = arith.divui %PASS, %thirtyTwo : index
  %LATENT_PARTS0 = arith.constant 64 : index
  %LATENT_PARTS = arith.divui %KV_LORA, %LATENT_PARTS0 : index
  %V_PARTS = arith.divui %V_DIM, %thirtyTwo : index
  %ALL_WORKGROUPS = arith.constant 256 : index
  %A_TILES = arith.divui %A_ROWS, %sixteen : index
  %SHARE_TASKS0 = arith.muli %A_PARTS, %A_TILES : index
  %SHARE_TASKS1 = arith.addi %SHARE_TASKS0, %A_TILES : index
  %SHARE_TASKS = arith.remui %SHARE_TASKS1, %ALL_WORKGROUPS : index
  %UP_BASE = arith.select %isSharded, %SHARE_TASKS, %none : index // behind those of the shares

  //===--- what parameters must keep ------------------------------------------===//

  %MX_OF_RANKS = arith.muli %TP, %thirtyTwo : index
  %TILES_OF_SHARES = arith.muli %SHARES, %sixteen : index
  %SCORED = arith.muli %CTX, %INDEXER : index                // tokens with index scores
  %headsOfRanks = mono.call @is_multiple(%HEADS, %TP) : (index, index) -> i1
  mono.require %headsOfRanks, "expected HEADS to be a multiple of TP"
  %headsOfTasks = mono.call @is_multiple(%H, %HG) : (index, index) -> i1
  mono.require %headsOfTasks, "expected the heads of a rank to be at most 16 or a multiple of 16"
  %unitsOfRanks = mono.call @is_multiple(%MOE, %MX_OF_RANKS) : (index, index) -> i1
  mono.require %unitsOfRanks, "expected MOE to be a multiple of 32 * TP"
  %unitsOfTasks = mono.call @is_multiple(%UNITS, %D_DEPTH) : (index, index) -> i1
  mono.require %unitsOfTasks, "expected the units of an expert on a rank to be at most 512 or a multiple of 512"
  %hiddenOfBlocks = mono.call @is_multiple(%HIDDEN, %thirtyTwo) : (index, index) -> i1
  mono.require %hiddenOfBlocks, "expected HIDDEN to be a multiple of 32"
  %pagesOfTokens = mono.call @is_multiple(%CTX, %PAGE) : (index, index) -> i1
  mono.require %pagesOfTokens, "expected CTX to be a multiple of PAGE"
  %chunksOfTokens = mono.call @is_multiple(%SCORED, %chunk) : (index, index) -> i1
  mono.require %chunksOfTokens, "expected CTX to be a multiple of 128, the tokens of a scoring task, with INDEXER = 1"
  %splitsOfTokens = mono.call @is_multiple(%TOPK, %SPLITS) : (index, index) -> i1
  mono.require %splitsOfTokens, "expected TOPK to be a multiple of SPLITS"
  %pairsOfRope = mono.call @is_multiple(%ROPE, %two) : (index, index) -> i1
  mono.require %pairsOfRope, "expected ROPE to be a multiple of 2"
  %indexHeadsOfShares = mono.call @is_multiple(%INDEX_HEADS, %SHARES) : (index, index) -> i1
  mono.require %indexHeadsOfShares, "expected INDEX_HEADS to be a multiple of TP with SHARD_A = 1"
  %queryOfShares = mono.call @is_multiple(%Q_LORA, %TILES_OF_SHARES) : (index, index) -> i1
  mono.require %queryOfShares, "expected Q_LORA to be a multiple of 16, and of 16 * TP with SHARD_A = 1"
  %ropeFits = arith.cmpi ule, %ROPE, %INDEX_DIM : index
  mono.require %ropeFits, "expected ROPE to be at most INDEX_DIM"
  %enough = arith.cmpi ule, %CHOSEN, %EXPERTS : index
  mono.require %enough, "expected CHOSEN to be at most EXPERTS"

  //===--- operands -----------------------------------------------------------===//

  %x = mono.operand "x" read [%S, %HIDDEN] : bf16
  %positions = mono.operand "positions" read [%S] : i32   // in [0, CTX); of padding rows any other
  %block_table = mono.operand "block_table" read [%S, %PAGES] : i32
  %cos_sin = mono.operand "cos_sin" read [%CTX, %ROPE] : f32
  %cache_kv = mono.operand "cache_kv" update [%CACHE, %KV] : bf16
  %cache_index = mono.operand "cache_index" update [%CACHE * symbol(%INDEXER), %INDEX_DIM] : bf16

  %w_in = mono.operand "w_in" read weight [%HIDDEN] : bf16
  %w_a = mono.operand "w_a" read weight [%A_ROWS, %HIDDEN] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_a_scale = mono.operand "w_a_scale" read weight [%A_ROWS * symbol(%ATTN), %HIDDEN floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %q_norm = mono.operand "q_norm" read weight [%Q_LORA] : bf16
  %kv_norm = mono.operand "kv_norm" read weight [%KV_LORA] : bf16
  %index_norm_w = mono.operand "index_norm_w" read weight [%INDEX_DIM * symbol(%INDEXER)] : f32
  %index_norm_b = mono.operand "index_norm_b" read weight [%INDEX_DIM * symbol(%INDEXER)] : f32
  %w_qb = mono.operand "w_qb" read weight [%H * symbol(%QK), %Q_LORA] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_qb_scale = mono.operand "w_qb_scale" read weight [%H * symbol(%QK) * symbol(%ATTN), %Q_LORA floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_iq = mono.operand "w_iq" read weight [%INDEX_HEADS_HERE * symbol(%INDEX_DIM) * symbol(%INDEXER), %Q_LORA] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_iq_scale = mono.operand "w_iq_scale" read weight [%INDEX_HEADS_HERE * symbol(%INDEX_DIM) * symbol(%INDEXER) * symbol(%ATTN), %Q_LORA floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_uk = mono.operand "w_uk" read weight [%H * symbol(%KV_LORA), %NOPE] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_uk_scale = mono.operand "w_uk_scale" read weight [%H * symbol(%KV_LORA) * symbol(%ATTN), %NOPE floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_uv = mono.operand "w_uv" read weight [%H * symbol(%V_DIM), %KV_LORA] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_uv_scale = mono.operand "w_uv_scale" read weight [%H * symbol(%V_DIM) * symbol(%ATTN), %KV_LORA floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_o = mono.operand "w_o" read weight [%HIDDEN, %H * symbol(%V_DIM)] : bf16 or f8E4M3FN if %ATTN, #mono.mfma_rows<16>
  %w_o_scale = mono.operand "w_o_scale" read weight [%HIDDEN * symbol(%ATTN), (%H * symbol(%V_DIM)) floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_post = mono.operand "w_post" read weight [%HIDDEN] : bf16
  %w_gate = mono.operand "w_gate" read weight [%EXPERTS, %HIDDEN] : bf16, #mono.mfma_rows<16>
  %bias = mono.operand "bias" read weight [%EXPERTS] : f32
  %w_gate_up = mono.operand "w_gate_up" read weight [%EXPERTS + 1, %UNITS * 2, %HIDDEN] : f4E2M1FN, #mono.mfma_rows<16>
  %w_gate_up_scale = mono.operand "w_gate_up_scale" read weight [%EXPERTS + 1, %UNITS * 2, %HIDDEN floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %w_down = mono.operand "w_down" read weight [%EXPERTS + 1, %HIDDEN, %UNITS] : f4E2M1FN, #mono.mfma_rows<16>
  %w_down_scale = mono.operand "w_down_scale" read weight [%EXPERTS + 1, %HIDDEN, %UNITS floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>

  %y = mono.operand "y" write [%S, %HIDDEN] : bf16
  %attn_residual = mono.operand "attn_residual" write [%S, %HIDDEN] : bf16
  %index_topk = mono.operand "index_topk" update [%S, %TOPK] : i32 // read if INDEXER is 0
  %router_logits = mono.operand "router_logits" write [%S, %EXPERTS] : f32
  %topk_ids = mono.operand "topk_ids" write [%S, %CHOSEN] : i32
  %topk_weights = mono.operand "topk_weights" write [%S, %CHOSEN] : f32

  //===--- mailboxes ----------------------------------------------------------===//

  %new_at = mono.mailbox "places" tagged scope(device) slots(1) [%S] : i32
  %down_part = mono.mailbox "down_part" tagged scope(device) slots(1) [%A_PARTS, %S, %A_ROWS] : f32
  %q_aOwn = mono.mailbox "q_a" tagged scope(device) slots(1) [%S, %Q_LORA] : f32
  %q_aOfAll = mono.mailbox "q_a_of_all" tagged scope(peers) slots(2) [%S, %Q_LORA] : f32
  %q_a = arith.select %isSharded, %q_aOfAll, %q_aOwn : !mono.mailbox
  %smallOwn = mono.mailbox "small" tagged scope(device) slots(1) [%S, %SMALL] : f32 {mono.padded}
  %smallOfAll = mono.mailbox "small_of_all" tagged scope(peers) slots(2) [%S, %SMALL] : f32 {mono.padded}
  %small = arith.select %isSharded, %smallOfAll, %smallOwn : !mono.mailbox
  %q_nope = mono.mailbox "q_nope" tagged scope(device) slots(1) [%S, %H, %NOPE] : f32
  %q_pe = mono.mailbox "q_pe" tagged scope(device) slots(1) [%S, %H, %ROPE] : bf16
  %index_qOwn = mono.mailbox "index_q" tagged scope(device) slots(1) [%S, %INDEX_HEADS, %INDEX_DIM] : bf16
  %index_qOfAll = mono.mailbox "index_q_of_all" tagged scope(peers) slots(2) [%S, %INDEX_HEADS, %INDEX_DIM] : bf16
  %index_q = arith.select %isSharded, %index_qOfAll, %index_qOwn : !mono.mailbox
  %new_kv = mono.mailbox "new_kv" tagged scope(device) slots(1) [%S, %KV] : bf16
  %new_index = mono.mailbox "new_index" tagged scope(device) slots(1) [%S, %INDEX_DIM] : bf16
  %q_latent = mono.mailbox "q_latent" tagged scope(device) slots(1) [%S, %H, %KV_LORA] : f32
  %scores = mono.mailbox "index_scores" tagged scope(device) slots(1) [%S, %CTX] : f32
  %section_scores = mono.mailbox "section_scores" tagged scope(device) slots(1) [%S, %CANDIDATES] : f32
  %section_tokens = mono.mailbox "section_tokens" tagged scope(device) slots(1) [%S, %CANDIDATES] : i32
  %selected = mono.mailbox "selected" tagged scope(device) slots(1) [%S, %TOPK] : i32
  %part = mono.mailbox "attention_part" tagged scope(device) slots(1) [%S, %SPLITS, %H, %KV_LORA] : f32
  %part_max = mono.mailbox "attention_max" tagged scope(device) slots(1) [%S, %H, %SPLITS] : f32
  %part_sum = mono.mailbox "attention_sum" tagged scope(device) slots(1) [%S, %H, %SPLITS] : f32
  %o_latent = mono.mailbox "o_latent" tagged scope(device) slots(1) [%S, %H, %KV_LORA] : f32
  %heads = mono.mailbox "heads" tagged scope(device) slots(1) [%S, %H * symbol(%V_DIM)] : bf16
  %o_partial = mono.mailbox "o_partial" tagged scope(peers) slots(2) [%TP * symbol(%O_PARTS), %S, %HIDDEN] : bf16
  %scaled = mono.mailbox "scaled" tagged scope(device) slots(1) [%S, %HIDDEN] : bf16
  %squares = mono.mailbox "squares" tagged scope(device) slots(1) [%HIDDEN floordiv 128, %S] : f32
  %logits = mono.mailbox "logits" tagged scope(device) slots(1) [%S, %EXPERTS] : f32
  %units = mono.mailbox "units" tagged scope(device) slots(1) [%D_PARTS * symbol(%WIDE), %GROUPS, %S, %D_DEPTH] : bf16
  %unit_codes = mono.mailbox "unit_codes" tagged scope(device) slots(1) [%D_PARTS * symbol(%ACT), %GROUPS, %S, %D_DEPTH] : f8E4M3FN
  %unit_scales = mono.mailbox "unit_scales" tagged scope(device) slots(1) [%D_PARTS * symbol(%ACT), %GROUPS, %S, %D_DEPTH floordiv 32] : f32
  %mlp_partial = mono.mailbox "mlp_partial" tagged scope(peers) slots(2) [%TP * symbol(%D_PARTS), %S, %HIDDEN] : bf16

  //===--- LDS ----------------------------------------------------------------===//

  %h = mono.region "h" [%S * 2, %HALF] pad(8) : bf16         // half of the normed input, two terms
  %qr = mono.region "qr" [%S * 2, %Q_LORA] pad(8) : bf16     // normed q_a, two terms
  %head = mono.region "head" [%S * 2, %NOPE] pad(8) : bf16   // a head's query without RoPE, two terms
  %iq = mono.region "iq" [%INDEX_HEADS, %INDEX_DIM] pad(8) : bf16
  %fresh_index = mono.region "fresh_index" [%S, %INDEX_DIM] : bf16
  %index_keys = mono.region "index_keys" [128, %INDEX_DIM] pad(8) : bf16
  %candidates = mono.region "candidates" [%CANDIDATES] : i32
  %ql = mono.region "ql" [%HG * 2, %KV_LORA] pad(8) : bf16    // a row's latent query, two terms
  %qp = mono.region "qp" [%HG, %ROPE] pad(8) : bf16
  %fresh_kv = mono.region "fresh_kv" [%S, %KV] : bf16
  %keys = mono.region "keys" [%KEYS, %KV] pad(8) : bf16
  %p = mono.region "p" [%HG, %KEYS] pad(8) : bf16
  %ol = mono.region "ol" [%S * 2, %KV_LORA] pad(8) : bf16    // a head's latent output, two terms
  %o = mono.region "o" [%S, %O_DEPTH] pad(8) : bf16
  %stream = mono.region "stream" [%S, 128] : f32             // residual stream after attention
  %row = mono.region "row" [%S, %HIDDEN] pad(8) : bf16       // routed and expert input
  %groups = mono.region "groups" [%GROUPS] : i32
  %group_weight = mono.region "group_weight" [%GROUPS, %S] : f32
  %group_pair = mono.region "group_pair" [%GROUPS, %S] : i32
  %pair_row = mono.region "pair_row" [%PAIRED] : i32
  %route_ids = mono.region "route_ids" [%S, %CHOSEN] : i32
  %route_weights = mono.region "route_weights" [%S, %CHOSEN] : f32
  %u = mono.region "u" [%PAIRED * symbol(%WIDE), %D_DEPTH] pad(8) : bf16
  // The same inputs as MXFP8.
  %row_codes = mono.region "row_codes" [%S * symbol(%ACT), %HIDDEN] pad(16) : f8E4M3FN
  %row_scales = mono.region "row_scales" [%S * symbol(%ACT), %HIDDEN floordiv 32] : f32
  %u_codes = mono.region "u_codes" [%PAIRED * symbol(%ACT), %D_DEPTH] pad(16) : f8E4M3FN
  %u_scales = mono.region "u_scales" [%PAIRED * symbol(%ACT), %D_DEPTH floordiv 32] : f32

  //===--- down projections ---------------------------------------------------===//

  %eps = arith.constant 1.0e-5 : f32

  // For "write_kv", long before the rows are there.
  %lastWorkgroup = arith.constant 255 : index
  %residualBase = arith.constant 192 : index              // workgroups from here on keep the residual
  mono.call @post_places(%block_table, %positions, %new_at, %S, %one, %PAGES, %PAGE, %lastWorkgroup)
    : (!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()

  mono.stage "down_q" (%t) tasks [(%Q_LORA floordiv 16) * symbol(%REPEATED)] base [0] {
    %sum = mono.call @project_input(%x, %w_in, %w_a, %w_a_scale, %h, %t, %none, %eps, %S, %HALF)
      : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, index, index, f32, index, index)
      -> tensor<?x16xf32>
    mono.post %sum to %q_a[0, %t * 16] : tensor<?x16xf32>
  }

  // Latent, rotary key, index key, index head weights.
  mono.stage "down_kv" (%t) tasks [%SMALL_TILES * symbol(%REPEATED)] base [(%Q_LORA floordiv 16) mod 256] {
    %sum = mono.call @project_input(%x, %w_in, %w_a, %w_a_scale, %h, %t, %Q_LORA, %eps, %S, %HALF)
      : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, index, index, f32, index, index)
      -> tensor<?x16xf32>
    mono.post %sum to %small[0, %t * 16] : tensor<?x16xf32>
  }

  // A share of both: 16 rows and a part of the depth a task, then the parts are added and every rank
  // gets the sums.
  mono.stage "down_share" (%t) tasks [(%A_ROWS floordiv 16) * symbol(%A_PARTS) * symbol(%SHARD_A)] base [0] {
    %x16 = mono.load %x[0, (%t mod symbol(%A_PARTS)) * symbol(%A_DEPTH)] [%S, %A_DEPTH] : tensor<?x?xbf16>
    %x0 = mono.load %x[0, 0] [%S, %HALF] : tensor<?x?xbf16>
    %x1 = mono.load %x[0, %HALF] [%S, %HALF] : tensor<?x?xbf16>
    %w = mono.stream %w_a[(%t floordiv symbol(%A_PARTS)) * 16, (%t mod symbol(%A_PARTS)) * symbol(%A_DEPTH)] [16, %A_DEPTH] scaled %w_a_scale split_k(8)
    %square0 = mono.call @squares_of(%x0, %S) : (tensor<?x?xbf16>, index) -> tensor<?xf32>
    %square1 = mono.call @squares_of(%x1, %S) : (tensor<?x?xbf16>, index) -> tensor<?xf32>
    %gamma = mono.load %w_in[(%t mod symbol(%A_PARTS)) * symbol(%A_DEPTH)] [%A_DEPTH] : tensor<?xbf16>
    %terms = mono.call @project_scaled(%x16, %gamma, %h, %w, %S, %A_DEPTH)
      : (tensor<?x?xbf16>, tensor<?xbf16>, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    %sum = mono.call @norm_product(%terms, %square0, %square1, %eps, %S, %HIDDEN)
      : (tensor<?x16xf32>, tensor<?xf32>, tensor<?xf32>, f32, index, index) -> tensor<?x16xf32>
    mono.post %sum to %down_part[%t mod symbol(%A_PARTS), 0, (%t floordiv symbol(%A_PARTS)) * 16] : tensor<?x16xf32>
  }

  mono.stage "share_q" (%t) tasks [(%Q_ROWS floordiv 16) * symbol(%SHARD_A)] base [((%A_ROWS floordiv 16) * symbol(%A_PARTS)) mod 256] {
    %sum = mono.receive %down_part[0, 0, %t * 16] [%A_PARTS, %S, 16] sum : tensor<?x16xf32>
    mono.post %sum to %q_a[0, %share * symbol(%Q_ROWS) + %t * 16] : tensor<?x16xf32>
  }

  mono.stage "share_kv" (%t) tasks [%SMALL_TILES * symbol(%SHARD_A)] base [((%A_ROWS floordiv 16) * symbol(%A_PARTS) + %Q_ROWS floordiv 16) mod 256] {
    %sum = mono.receive %down_part[0, 0, %t * 16 + %Q_ROWS] [%A_PARTS, %S, 16] sum : tensor<?x16xf32>
    mono.post %sum to %small[0, %share * symbol(%SMALL_ROWS) + %t * 16] : tensor<?x16xf32>
  }

  //===--- up projections, RoPE, cache ----------------------------------------===//

  mono.stage "up_q_nope" (%t) tasks [%H * symbol(%NOPE_PARTS)] base [%UP_BASE] {
    %gamma = mono.load %q_norm[0] [%Q_LORA] : tensor<?xbf16>
    %w = mono.stream %w_qb[(%t floordiv symbol(%NOPE_PARTS)) * symbol(%QK) + (%t mod symbol(%NOPE_PARTS)) * 32, 0] [32, %Q_LORA] scaled %w_qb_scale split_k(8)
    %q = mono.call @project_query(%q_a, %gamma, %qr, %w, %eps, %S, %Q_LORA)
      : (!mono.mailbox, tensor<?xbf16>, !mono.buffer, !mono.stream, f32, index, index) -> tensor<?x32xf32>
    %box = tensor.expand_shape %q [[0, 1], [2]] output_shape [%S, 1, 32]
      : tensor<?x32xf32> into tensor<?x1x32xf32>
    mono.post %box to %q_nope[0, %t floordiv symbol(%NOPE_PARTS), (%t mod symbol(%NOPE_PARTS)) * 32]
      : tensor<?x1x32xf32>
  }

  mono.stage "up_q_rope" (%t) tasks [%H * symbol(%ROPE_PARTS)] base [(%UP_BASE + %H * symbol(%NOPE_PARTS)) mod 256] {
    %pos = mono.load %positions[0] [%S] : tensor<?xi32>
    %gamma = mono.load %q_norm[0] [%Q_LORA] : tensor<?xbf16>
    %w = mono.stream %w_qb[(%t floordiv symbol(%ROPE_PARTS)) * symbol(%QK) + %NOPE + (%t mod symbol(%ROPE_PARTS)) * 32, 0] [32, %Q_LORA] scaled %w_qb_scale split_k(8)
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<?xi32>) -> tensor<?x?xf32>
    %q = mono.call @project_query(%q_a, %gamma, %qr, %w, %eps, %S, %Q_LORA)
      : (!mono.mailbox, tensor<?xbf16>, !mono.buffer, !mono.stream, f32, index, index) -> tensor<?x32xf32>
    %box = mono.call @rotate_tile(%q, %angles, %t, %ROPE_PARTS, %S, %PAIRS)
      : (tensor<?x32xf32>, tensor<?x?xf32>, index, index, index, index) -> tensor<?x1x32xbf16>
    mono.post %box to %q_pe[0, %t floordiv symbol(%ROPE_PARTS), (%t mod symbol(%ROPE_PARTS)) * 32]
      : tensor<?x1x32xbf16>
  }

  // The index heads rotate their first dims.
  mono.stage "up_index_rope" (%t) tasks [%INDEX_HEADS_HERE * symbol(%ROPE_PARTS) * symbol(%INDEXER)] base [(%UP_BASE + %H * symbol(%NOPE_PARTS) + %H * symbol(%ROPE_PARTS)) mod 256] {
    %pos = mono.load %positions[0] [%S] : tensor<?xi32>
    %gamma = mono.load %q_norm[0] [%Q_LORA] : tensor<?xbf16>
    %w = mono.stream %w_iq[(%t floordiv symbol(%ROPE_PARTS)) * symbol(%INDEX_DIM) + (%t mod symbol(%ROPE_PARTS)) * 32, 0] [32, %Q_LORA] scaled %w_iq_scale split_k(8)
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<?xi32>) -> tensor<?x?xf32>
    %q = mono.call @project_query(%q_a, %gamma, %qr, %w, %eps, %S, %Q_LORA)
      : (!mono.mailbox, tensor<?xbf16>, !mono.buffer, !mono.stream, f32, index, index) -> tensor<?x32xf32>
    %box = mono.call @rotate_tile(%q, %angles, %t, %ROPE_PARTS, %S, %PAIRS)
      : (tensor<?x32xf32>, tensor<?x?xf32>, index, index, index, index) -> tensor<?x1x32xbf16>
    mono.post %box to %index_q[0, %share * symbol(%INDEX_HEADS_HERE) + %t floordiv symbol(%ROPE_PARTS), (%t mod symbol(%ROPE_PARTS)) * 32]
      : tensor<?x1x32xbf16>
  }

  mono.stage "up_index_pass" (%t) tasks [%INDEX_HEADS_HERE * symbol(%PASS_PARTS) * symbol(%INDEXER)] base [(%UP_BASE + %H * symbol(%NOPE_PARTS) + (%H + %INDEX_HEADS_HERE) * symbol(%ROPE_PARTS)) mod 256] {
    %gamma = mono.load %q_norm[0] [%Q_LORA] : tensor<?xbf16>
    %w = mono.stream %w_iq[(%t floordiv symbol(%PASS_PARTS)) * symbol(%INDEX_DIM) + %ROPE + (%t mod symbol(%PASS_PARTS)) * 32, 0] [32, %Q_LORA] scaled %w_iq_scale split_k(8)
    %q = mono.call @project_query(%q_a, %gamma, %qr, %w, %eps, %S, %Q_LORA)
      : (!mono.mailbox, tensor<?xbf16>, !mono.buffer, !mono.stream, f32, index, index) -> tensor<?x32xf32>
    %q16 = arith.truncf %q : tensor<?x32xf32> to tensor<?x32xbf16>
    %box = tensor.expand_shape %q16 [[0, 1], [2]] output_shape [%S, 1, 32]
      : tensor<?x32xbf16> into tensor<?x1x32xbf16>
    mono.post %box to %index_q[0, %share * symbol(%INDEX_HEADS_HERE) + %t floordiv symbol(%PASS_PARTS), (%t mod symbol(%PASS_PARTS)) * 32 + %ROPE]
      : tensor<?x1x32xbf16>
  }

  // One row's new cache entries: to the caches for later launches, to mailboxes for this one.
  mono.stage "write_kv" (%t) tasks [%S] base [248] {
    %pos = mono.load %positions[%t] [1] : tensor<1xi32>
    %gamma = mono.load %kv_norm[0] [%KV_LORA] : tensor<?xbf16>
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<1xi32>) -> tensor<1x?xf32>
    %place = mono.receive %new_at[%t] [1] : tensor<1xi32>

    %c = mono.receive %small[%t, 0] [1, %KV_LORA] : tensor<1x?xf32>
    %c16 = mono.call @rms_norm(%c, %gamma, %eps, %one, %KV_LORA)
      : (tensor<1x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<1x?xbf16>
    mono.scatter %c16, %cache_kv[0] at %place : tensor<1x?xbf16>, tensor<1xi32>
    mono.post %c16 to %new_kv[%t, 0] : tensor<1x?xbf16>

    %kpe = mono.receive %small[%t, %KV_LORA] [1, %ROPE] : tensor<1x?xf32>
    %kpeR = mono.call @rope_interleaved(%kpe, %angles, %none, %one, %PAIRS, %PAIRS)
      : (tensor<1x?xf32>, tensor<1x?xf32>, index, index, index, index) -> tensor<1x?xf32>
    %kpe16 = arith.truncf %kpeR : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.scatter %kpe16, %cache_kv[%KV_LORA] at %place : tensor<1x?xbf16>, tensor<1xi32>
    mono.post %kpe16 to %new_kv[%t, %KV_LORA] : tensor<1x?xbf16>
  }

  mono.stage "write_index" (%t) tasks [%S * symbol(%INDEXER)] base [240] {
    %pos = mono.load %positions[%t] [1] : tensor<1xi32>
    %gammaI = mono.load %index_norm_w[0] [%INDEX_DIM] : tensor<?xf32>
    %betaI = mono.load %index_norm_b[0] [%INDEX_DIM] : tensor<?xf32>
    %angles = mono.call @rope_angles(%cos_sin, %pos) : (!mono.buffer, tensor<1xi32>) -> tensor<1x?xf32>
    %place = mono.receive %new_at[%t] [1] : tensor<1xi32>
    %epsI = arith.constant 1.0e-6 : f32
    %ik = mono.receive %small[%t, %KV] [1, %INDEX_DIM] : tensor<1x?xf32>
    %ikN = mono.call @layer_norm(%ik, %gammaI, %betaI, %epsI, %one, %INDEX_DIM)
      : (tensor<1x?xf32>, tensor<?xf32>, tensor<?xf32>, f32, index, index) -> tensor<1x?xf32>
    %first = tensor.extract_slice %ikN[0, 0] [1, %ROPE] [1, 1] : tensor<1x?xf32> to tensor<1x?xf32>
    %firstR = mono.call @rope_interleaved(%first, %angles, %none, %one, %PAIRS, %PAIRS)
      : (tensor<1x?xf32>, tensor<1x?xf32>, index, index, index, index) -> tensor<1x?xf32>
    %ikR = tensor.insert_slice %firstR into %ikN[0, 0] [1, %ROPE] [1, 1]
      : tensor<1x?xf32> into tensor<1x?xf32>
    %ik16 = arith.truncf %ikR : tensor<1x?xf32> to tensor<1x?xbf16>
    mono.scatter %ik16, %cache_index[0] at %place : tensor<1x?xbf16>, tensor<1xi32>
    mono.post %ik16 to %new_index[%t, 0] : tensor<1x?xbf16>
  }

  // Queries into the latent space: each head's key expansion, absorbed.
  mono.stage "absorb" (%t) tasks [%H * symbol(%LATENT_PARTS)] base [0] {
    %w = mono.stream %w_uk[%t * 64, 0] [64, %NOPE] scaled %w_uk_scale split_k(2)
    %box = mono.receive %q_nope[0, %t floordiv symbol(%LATENT_PARTS), 0] [%S, 1, %NOPE] : tensor<?x1x?xf32>
    %query = tensor.collapse_shape %box [[0, 1], [2]] : tensor<?x1x?xf32> into tensor<?x?xf32>
    mono.call @store_two_terms(%query, %head, %S) : (tensor<?x?xf32>, !mono.buffer, index) -> ()
    %terms = mono.contract %head[0, 0] [%S * 2, %NOPE], %w : tensor<?x64xf32>
    %sixtyFour = arith.constant 64 : index
    %q = mono.call @add_two_terms(%terms, %S, %sixtyFour)
      : (tensor<?x64xf32>, index, index) -> tensor<?x64xf32>
    %out = tensor.expand_shape %q [[0, 1], [2]] output_shape [%S, 1, 64]
      : tensor<?x64xf32> into tensor<?x1x64xf32>
    mono.post %out to %q_latent[0, %t floordiv symbol(%LATENT_PARTS), (%t mod symbol(%LATENT_PARTS)) * 64]
      : tensor<?x1x64xf32>
  }

  //===--- indexer ------------------------------------------------------------===//

  // 128 tokens of one row a task: score = sum over index heads of weight * max(0, query . key). Tokens
  // past the row's own read no memory and score -inf.
  mono.stage "score_index" (%t) tasks [%S * symbol(%CHUNKS) * symbol(%INDEXER)] base [(%H * symbol(%LATENT_PARTS)) mod 256] {
    %r = arith.divui %t, %CHUNKS : index
    %which = arith.remui %t, %CHUNKS : index
    %begin = arith.muli %which, %chunk : index
    %tokens = tensor.generate %chunk {
    ^bb0(%i : index):
      %token = arith.addi %begin, %i : index
      %token32 = arith.index_cast %token : index to i32
      tensor.yield %token32 : i32
    } : tensor<?xi32>
    %index = mono.call @known_tokens(%block_table, %positions, %tokens, %r, %PAGES, %PAGE, %chunk)
      : (!mono.buffer, !mono.buffer, tensor<?xi32>, index, index, index, index) -> tensor<?xi32>
    %new = mono.receive %new_at[0] [%S] : tensor<?xi32>
    mono.receive %new_index[0, 0] [%S, %INDEX_DIM] into %fresh_index
    mono.gather %cache_index or %fresh_index places(%new : tensor<?xi32>) at %index into %index_keys : tensor<?xi32>

    %raw = mono.receive %small[%t floordiv symbol(%CHUNKS), %INDEX_AT] [1, %INDEX_HEADS] : tensor<1x?xf32>
    %weight = tensor.collapse_shape %raw [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
    mono.receive %index_q[%t floordiv symbol(%CHUNKS), 0, 0] [1, %INDEX_HEADS, %INDEX_DIM] into %iq
    %dot = mono.product %index_keys[0, 0] [128, %INDEX_DIM], %iq[0, 0] [%INDEX_HEADS, %INDEX_DIM] : tensor<128x?xf32>
    %zero = arith.constant 0.0 : f32
    %zeros = tensor.splat %zero[%INDEX_HEADS] : tensor<128x?xf32>
    %positive = arith.maximumf %dot, %zeros : tensor<128x?xf32>
    %weighted = mono.call @scale_columns(%positive, %weight, %chunk, %INDEX_HEADS)
      : (tensor<128x?xf32>, tensor<?xf32>, index, index) -> tensor<128x?xf32>
    %init = tensor.splat %zero : tensor<128xf32>
    %sum = linalg.reduce { arith.addf } ins(%weighted : tensor<128x?xf32>) outs(%init : tensor<128xf32>)
      dimensions = [1]
    // 1 / sqrt(heads * dim); a constant factor of all scores, kept for their sake.
    %factors = arith.muli %INDEX_HEADS, %INDEX_DIM : index
    %factors32 = arith.index_cast %factors : index to i32
    %factorsF = arith.sitofp %factors32 : i32 to f32
    %scale = math.rsqrt %factorsF : f32
    %scales = tensor.splat %scale : tensor<128xf32>
    %score = arith.mulf %sum, %scales : tensor<128xf32>
    %mask = mono.call @mask_of(%index, %chunk) : (tensor<?xi32>, index) -> tensor<128xf32>
    %masked = arith.addf %score, %mask : tensor<128xf32>
    mono.post %masked to %scores[%t floordiv symbol(%CHUNKS), (%t mod symbol(%CHUNKS)) * 128] : tensor<128xf32>
  }

  // The tokens of a row: at once where one workgroup can hold all scores, or else of sections first.
  mono.stage "select_index" (%t) tasks [%S * symbol(%AT_ONCE)] base [240] {
    %score = mono.receive %scores[%t, 0] [1, %CTX] : tensor<1x?xf32>
    %ids = mono.select top [%TOPK] of %score : tensor<1x?xf32> -> tensor<1x?xi32>
    mono.post %ids to %selected[%t, 0] : tensor<1x?xi32>
    mono.store %ids, %index_topk[%t, 0] : tensor<1x?xi32>
  }

  mono.stage "select_section" (%t) tasks [%S * symbol(%SECTIONS) * symbol(%BY_SECTION)] base [128] {
    %score = mono.receive %scores[%t floordiv symbol(%SECTIONS), (%t mod symbol(%SECTIONS)) * symbol(%SECTION)] [1, %SECTION] : tensor<1x?xf32>
    %ids, %best = mono.select top [%TOPK] of %score taking %score
      : tensor<1x?xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
    %which = arith.remui %t, %SECTIONS : index
    %begin = arith.muli %which, %SECTION : index
    %begin32 = arith.index_cast %begin : index to i32
    %begins = tensor.splat %begin32[%TOPK] : tensor<1x?xi32>
    %tokens = arith.addi %ids, %begins : tensor<1x?xi32>
    // Places left over keep no token.
    %ids1 = tensor.collapse_shape %ids [[0, 1]] : tensor<1x?xi32> into tensor<?xi32>
    %mask1 = mono.call @mask_of(%ids1, %TOPK) : (tensor<?xi32>, index) -> tensor<?xf32>
    %mask = tensor.expand_shape %mask1 [[0, 1]] output_shape [1, %TOPK] : tensor<?xf32> into tensor<1x?xf32>
    %masked = arith.addf %best, %mask : tensor<1x?xf32>
    mono.post %masked to %section_scores[%t floordiv symbol(%SECTIONS), (%t mod symbol(%SECTIONS)) * symbol(%TOPK)] : tensor<1x?xf32>
    mono.post %tokens to %section_tokens[%t floordiv symbol(%SECTIONS), (%t mod symbol(%SECTIONS)) * symbol(%TOPK)] : tensor<1x?xi32>
  }

  // Candidates stand in rising order of their tokens, so equal scores go to the lower token.
  mono.stage "select_merge" (%t) tasks [%S * symbol(%BY_SECTION)] base [240] {
    %score = mono.receive %section_scores[%t, 0] [1, %CANDIDATES] : tensor<1x?xf32>
    mono.receive %section_tokens[%t, 0] [1, %CANDIDATES] into %candidates
    %places = mono.select top [%TOPK] of %score : tensor<1x?xf32> -> tensor<1x?xi32>
    %places1 = tensor.collapse_shape %places [[0, 1]] : tensor<1x?xi32> into tensor<?xi32>
    %found = mono.gather %candidates at %places1 : tensor<?xi32> -> tensor<?xi32>
    %zero = arith.constant 0 : i32
    %zeros = tensor.splat %zero[%TOPK] : tensor<?xi32>
    %isEmpty = arith.cmpi slt, %places1, %zeros : tensor<?xi32>
    %ids1 = arith.select %isEmpty, %places1, %found : tensor<?xi1>, tensor<?xi32>
    %ids = tensor.expand_shape %ids1 [[0, 1]] output_shape [1, %TOPK] : tensor<?xi32> into tensor<1x?xi32>
    mono.post %ids to %selected[%t, 0] : tensor<1x?xi32>
    mono.store %ids, %index_topk[%t, 0] : tensor<1x?xi32>
  }

  // A layer that goes on with the tokens of an earlier one.
  mono.stage "given_selection" (%t) tasks [%S * symbol(%GIVEN)] base [240] {
    %ids = mono.load %index_topk[%t, 0] [1, %TOPK] : tensor<1x?xi32>
    mono.post %ids to %selected[%t, 0] : tensor<1x?xi32>
  }

  //===--- attention ----------------------------------------------------------===//

  mono.stage "attend" (%t) tasks [%S * symbol(%SPLITS) * symbol(%HEAD_GROUPS)] base [0] {
    %perRow = arith.muli %SPLITS, %HEAD_GROUPS : index
    %r = arith.divui %t, %perRow : index
    mono.receive %new_kv[0, 0] [%S, %KV] into %fresh_kv
    %query1 = mono.receive %q_latent[%t floordiv (symbol(%SPLITS) * symbol(%HEAD_GROUPS)), (%t mod symbol(%HEAD_GROUPS)) * symbol(%HG), 0] [1, %HG, %KV_LORA] : tensor<1x?x?xf32>
    %query = tensor.collapse_shape %query1 [[0, 1], [2]] : tensor<1x?x?xf32> into tensor<?x?xf32>
    mono.call @store_two_terms(%query, %ql, %HG) : (tensor<?x?xf32>, !mono.buffer, index) -> ()
    mono.receive %q_pe[%t floordiv (symbol(%SPLITS) * symbol(%HEAD_GROUPS)), (%t mod symbol(%HEAD_GROUPS)) * symbol(%HG), 0] [1, %HG, %ROPE] into %qp
    %ids = mono.receive %selected[%t floordiv (symbol(%SPLITS) * symbol(%HEAD_GROUPS)), ((%t floordiv symbol(%HEAD_GROUPS)) mod symbol(%SPLITS)) * symbol(%KEYS)] [1, %KEYS] : tensor<1x?xi32>
    %tokens = tensor.collapse_shape %ids [[0, 1]] : tensor<1x?xi32> into tensor<?xi32>
    %index = mono.call @known_tokens(%block_table, %positions, %tokens, %r, %PAGES, %PAGE, %KEYS)
      : (!mono.buffer, !mono.buffer, tensor<?xi32>, index, index, index, index) -> tensor<?xi32>
    %new = mono.receive %new_at[0] [%S] : tensor<?xi32>
    mono.gather %cache_kv or %fresh_kv places(%new : tensor<?xi32>) at %index into %keys : tensor<?xi32>

    %terms = mono.product %ql[0, 0] [%HG * 2, %KV_LORA], %keys[0, 0] [%KEYS, %KV_LORA] : tensor<?x?xf32>
    %latent = mono.call @add_two_terms(%terms, %HG, %KEYS)
      : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
    %rotary = mono.product %qp[0, 0] [%HG, %ROPE], %keys[0, %KV_LORA] [%KEYS, %ROPE] : tensor<?x?xf32>
    %dot = arith.addf %latent, %rotary : tensor<?x?xf32>
    %qk32 = arith.index_cast %QK : index to i32
    %qkF = arith.sitofp %qk32 : i32 to f32
    %scale = math.rsqrt %qkF : f32
    %scales = tensor.splat %scale[%HG, %KEYS] : tensor<?x?xf32>
    %score = arith.mulf %dot, %scales : tensor<?x?xf32>
    %mask = mono.call @mask_of(%index, %KEYS) : (tensor<?xi32>, index) -> tensor<?xf32>
    %masked = mono.call @add_columns(%score, %mask, %HG, %KEYS)
      : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
    %p16, %max, %sum = mono.call @partial_softmax(%masked, %HG, %KEYS)
      : (tensor<?x?xf32>, index, index) -> (tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>)
    mono.store %p16, %p[0, 0] : tensor<?x?xbf16>
    %max1 = tensor.expand_shape %max [[0, 1]] output_shape [%HG, 1] : tensor<?xf32> into tensor<?x1xf32>
    %sum1 = tensor.expand_shape %sum [[0, 1]] output_shape [%HG, 1] : tensor<?xf32> into tensor<?x1xf32>
    mono.post %max1 to %part_max[%t floordiv (symbol(%SPLITS) * symbol(%HEAD_GROUPS)), (%t mod symbol(%HEAD_GROUPS)) * symbol(%HG), (%t floordiv symbol(%HEAD_GROUPS)) mod symbol(%SPLITS)] : tensor<?x1xf32>
    mono.post %sum1 to %part_sum[%t floordiv (symbol(%SPLITS) * symbol(%HEAD_GROUPS)), (%t mod symbol(%HEAD_GROUPS)) * symbol(%HG), (%t floordiv symbol(%HEAD_GROUPS)) mod symbol(%SPLITS)] : tensor<?x1xf32>
    %value = mono.product %p[0, 0] [%HG, %KEYS], %keys[0, 0] [%KEYS, %KV_LORA] by_columns : tensor<?x?xf32>
    mono.post %value to %part[%t floordiv (symbol(%SPLITS) * symbol(%HEAD_GROUPS)), (%t floordiv symbol(%HEAD_GROUPS)) mod symbol(%SPLITS), (%t mod symbol(%HEAD_GROUPS)) * symbol(%HG), 0] : tensor<?x?xf32>
  }

  // A quarter of one head of one row.
  mono.stage "combine" (%t) tasks [%S * symbol(%H) * 4] base [0] {
    %four = arith.constant 4 : index
    %columns = arith.divui %KV_LORA, %four : index
    %max = mono.receive %part_max[%t floordiv (symbol(%H) * 4), (%t floordiv 4) mod symbol(%H), 0] [1, 1, %SPLITS] : tensor<1x1x?xf32>
    %sum = mono.receive %part_sum[%t floordiv (symbol(%H) * 4), (%t floordiv 4) mod symbol(%H), 0] [1, 1, %SPLITS] : tensor<1x1x?xf32>
    %value = mono.receive %part[%t floordiv (symbol(%H) * 4), 0, (%t floordiv 4) mod symbol(%H), (%t mod 4) * symbol(%columns)] [1, %SPLITS, 1, %columns] : tensor<1x?x1x?xf32>
    %max2 = tensor.collapse_shape %max [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
    %sum2 = tensor.collapse_shape %sum [[0, 1], [2]] : tensor<1x1x?xf32> into tensor<1x?xf32>
    %value2 = tensor.collapse_shape %value [[0, 1], [2, 3]] : tensor<1x?x1x?xf32> into tensor<?x?xf32>
    %o1 = mono.call @combine_parts(%value2, %max2, %sum2, %SPLITS, %columns)
      : (tensor<?x?xf32>, tensor<1x?xf32>, tensor<1x?xf32>, index, index) -> tensor<?xf32>
    mono.post %o1 to %o_latent[%t floordiv (symbol(%H) * 4), (%t floordiv 4) mod symbol(%H), (%t mod 4) * symbol(%columns)] : tensor<?xf32>
  }

  mono.stage "expand_values" (%t) tasks [%H * symbol(%V_PARTS)] base [128] {
    %w = mono.stream %w_uv[%t * 32, 0] [32, %KV_LORA] scaled %w_uv_scale split_k(4)
    %box = mono.receive %o_latent[0, %t floordiv symbol(%V_PARTS), 0] [%S, 1, %KV_LORA] : tensor<?x1x?xf32>
    %latent = tensor.collapse_shape %box [[0, 1], [2]] : tensor<?x1x?xf32> into tensor<?x?xf32>
    mono.call @store_two_terms(%latent, %ol, %S) : (tensor<?x?xf32>, !mono.buffer, index) -> ()
    %terms = mono.contract %ol[0, 0] [%S * 2, %KV_LORA], %w : tensor<?x32xf32>
    %v = mono.call @add_two_terms(%terms, %S, %thirtyTwo)
      : (tensor<?x32xf32>, index, index) -> tensor<?x32xf32>
    %v16 = arith.truncf %v : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %v16 to %heads[0, %t * 32] : tensor<?x32xbf16>
  }

  //===--- output projection, all-reduce, residual ----------------------------===//

  mono.stage "o_proj" (%t) tasks [(%HIDDEN floordiv 32) * symbol(%O_PARTS)] base [0] {
    %w = mono.stream %w_o[(%t floordiv symbol(%O_PARTS)) * 32, (%t mod symbol(%O_PARTS)) * symbol(%O_DEPTH)] [32, %O_DEPTH] scaled %w_o_scale split_k(8)
    mono.receive %heads[0, (%t mod symbol(%O_PARTS)) * symbol(%O_DEPTH)] [%S, %O_DEPTH] into %o
    %sum = mono.contract %o[0, 0] [%S, %O_DEPTH], %w : tensor<?x32xf32>
    %rounded = arith.truncf %sum : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %o_partial[%rank * symbol(%O_PARTS) + %t mod symbol(%O_PARTS), 0, (%t floordiv symbol(%O_PARTS)) * 32] : tensor<?x32xbf16>
  }

  %o_parts = arith.muli %TP, %O_PARTS : index
  mono.call @reduce_and_norm(%o_partial, %x, %w_post, %stream, %attn_residual, %scaled, %squares, %o_parts, %S, %HIDDEN, %residualBase)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, !mono.mailbox, index, index, index, index) -> ()

  //===--- routing and the shared expert --------------------------------------===//

  %shared = arith.index_cast %EXPERTS : index to i32 // its number, behind the routed ones
  %one32 = arith.constant 1.0 : f32                  // and its weight

  mono.stage "router" (%t) tasks [%EXPERTS floordiv 16] base [240] {
    %w = mono.stream %w_gate[%t * 16, 0] [16, %HIDDEN] split_k(8)
    mono.receive %scaled[0, 0] [%S, %HIDDEN] into %row
    %raw = mono.contract %row[0, 0] [%S, %HIDDEN], %w : tensor<?x16xf32>
    %rstd = mono.call @receive_rms(%squares, %S, %HIDDEN, %eps)
      : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    %logit = mono.call @scale_rows(%raw, %rstd, %S, %sixteen)
      : (tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
    mono.store %logit, %router_logits[0, %t * 16] : tensor<?x16xf32>
    mono.post %logit to %logits[0, %t * 16] : tensor<?x16xf32>
  }

  // What the experts take; it stays in LDS for them.
  mono.stage "take_rows" (%t) tasks [256] base [0] {
    %rstd = mono.call @receive_rms(%squares, %S, %HIDDEN, %eps)
      : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    %zeroth = arith.constant 0 : index
    mono.call @receive_normed(%scaled, %rstd, %row, %zeroth, %S, %HALF)
      : (!mono.mailbox, tensor<?xf32>, !mono.buffer, index, index, index) -> ()
    mono.call @receive_normed(%scaled, %rstd, %row, %HALF, %S, %HALF)
      : (!mono.mailbox, tensor<?xf32>, !mono.buffer, index, index, index) -> ()
  }

  mono.stage "quantise_rows" (%t) tasks [256 * symbol(%ACT)] base [0] {
    // In sixteen steps: beside the rows and their codes there is little LDS left.
    %parts = arith.constant 512 : index
    %blocks = arith.divui %HIDDEN, %parts : index
    %second = arith.divui %HALF, %two : index
    %fourth = arith.addi %HALF, %second : index
    %zeroth = arith.constant 0 : index
    mono.call @quantise_quarters(%row, %row_codes, %row_scales, %zeroth, %S, %blocks)
      : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
    mono.call @quantise_quarters(%row, %row_codes, %row_scales, %second, %S, %blocks)
      : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
    mono.call @quantise_quarters(%row, %row_codes, %row_scales, %HALF, %S, %blocks)
      : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
    mono.call @quantise_quarters(%row, %row_codes, %row_scales, %fourth, %S, %blocks)
      : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
  }

  // The shared expert's units need no routing: they are computed while the router is at work, and leave
  // its tasks to all workgroups evenly.
  mono.stage "shared_gate_up" (%t) tasks [%TILES * symbol(%WIDE)] base [0] {
    %expert = tensor.splat %shared : tensor<1xi32>
    %w = mono.stream %w_gate_up[0, %t * 32, 0] [%EXPERTS + 1, 32, %HIDDEN] scaled %w_gate_up_scale groups(%expert : tensor<1xi32>) split_k(8)
    %both = mono.contract %row[0, 0] [%S, %HIDDEN], %w : tensor<?x32xf32>
    %weight = tensor.splat %one32[%S] : tensor<?xf32>
    %unit16 = mono.call @units_of_tile(%both, %weight, %S)
      : (tensor<?x32xf32>, tensor<?xf32>, index) -> tensor<?x16xbf16>
    mono.post %unit16 to %units[(%t * 16) floordiv symbol(%D_DEPTH), 0, 0, (%t * 16) mod symbol(%D_DEPTH)] : tensor<?x16xbf16>
  }

  mono.stage "shared_gate_up_mx" (%t) tasks [%BLOCKS * symbol(%ACT)] base [0] {
    %expert = tensor.splat %shared : tensor<1xi32>
    %w = mono.stream %w_gate_up[0, %t * 64, 0] [%EXPERTS + 1, 64, %HIDDEN] scaled %w_gate_up_scale groups(%expert : tensor<1xi32>) split_k(8)
    %both = mono.contract %row_codes[0, 0] [%S, %HIDDEN] scaled %row_scales, %w : tensor<?x64xf32>
    %weight = tensor.splat %one32[%S] : tensor<?xf32>
    %codes, %scale = mono.call @units_of_block(%both, %weight, %S)
      : (tensor<?x64xf32>, tensor<?xf32>, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
    mono.post %codes to %unit_codes[(%t * 32) floordiv symbol(%D_DEPTH), 0, 0, (%t * 32) mod symbol(%D_DEPTH)] : tensor<?x?xf8E4M3FN>
    mono.post %scale to %unit_scales[(%t * 32) floordiv symbol(%D_DEPTH), 0, 0, ((%t * 32) mod symbol(%D_DEPTH)) floordiv 32] : tensor<?x?xf32>
  }

  // Every workgroup routes for itself: that costs less than another exchange. What it finds stays in LDS
  // for its experts.
  mono.stage "route" (%t) tasks [256] base [0] {
    %b = mono.load %bias[0] [%EXPERTS] : tensor<?xf32>
    %logit = mono.receive %logits[0, 0] [%S, %EXPERTS] : tensor<?x?xf32>
    %scale = arith.constant 2.5 : f32
    %ids, %weights = mono.call @route_topk(%logit, %b, %scale, %S, %EXPERTS, %CHOSEN)
      : (tensor<?x?xf32>, tensor<?xf32>, f32, index, index, index)
      -> (tensor<?x?xi32>, tensor<?x?xf32>)
    mono.store %ids, %route_ids[0, 0] : tensor<?x?xi32>
    mono.store %weights, %route_weights[0, 0] : tensor<?x?xf32>
    %list = mono.call @expert_groups(%ids, %EXPERTS, %ALL_CHOSEN, %MOST)
      : (tensor<?x?xi32>, index, index, index) -> tensor<?xi32>
    mono.store %list, %groups[0] : tensor<?xi32>

    // The shared expert is everybody's last choice, with weight 1.
    %sharedOnly = tensor.splat %shared[%S, %CHOICES] : tensor<?x?xi32>
    %onesOnly = tensor.splat %one32[%S, %CHOICES] : tensor<?x?xf32>
    %choices = tensor.insert_slice %ids into %sharedOnly[0, 0] [%S, %CHOSEN] [1, 1]
      : tensor<?x?xi32> into tensor<?x?xi32>
    %shares = tensor.insert_slice %weights into %onesOnly[0, 0] [%S, %CHOSEN] [1, 1]
      : tensor<?x?xf32> into tensor<?x?xf32>
    mono.call @store_groups(%list, %choices, %shares, %group_weight, %group_pair, %pair_row, %GROUPS, %S, %CHOICES, %PAIRED)
      : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xf32>, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
  }

  mono.stage "routing_result" (%t) tasks [1] base [255] {
    %ids = mono.load %route_ids[0, 0] [%S, %CHOSEN] : tensor<?x?xi32>
    %weights = mono.load %route_weights[0, 0] [%S, %CHOSEN] : tensor<?x?xf32>
    mono.store %ids, %topk_ids[0, 0] : tensor<?x?xi32>
    mono.store %weights, %topk_weights[0, 0] : tensor<?x?xf32>
  }

  //===--- experts ------------------------------------------------------------===//

  // 16 units of one routed group's expert for all rows, with the routing weights applied. Groups past the
  // last distinct expert read nothing.
  mono.stage "gate_up" (%t) tasks [%MOST * symbol(%TILES) * symbol(%WIDE)] base [0] {
    %expert = mono.load %groups[%t floordiv symbol(%TILES) + 1] [1] : tensor<1xi32>
    %w = mono.stream %w_gate_up[0, (%t mod symbol(%TILES)) * 32, 0] [%EXPERTS + 1, 32, %HIDDEN] scaled %w_gate_up_scale groups(%expert : tensor<1xi32>) split_k(8)
    %both = mono.contract %row[0, 0] [%S, %HIDDEN], %w : tensor<?x32xf32>
    %weight1 = mono.load %group_weight[%t floordiv symbol(%TILES) + 1, 0] [1, %S] : tensor<1x?xf32>
    %weight = tensor.collapse_shape %weight1 [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
    %unit16 = mono.call @units_of_tile(%both, %weight, %S)
      : (tensor<?x32xf32>, tensor<?xf32>, index) -> tensor<?x16xbf16>
    mono.post %unit16 to %units[((%t mod symbol(%TILES)) * 16) floordiv symbol(%D_DEPTH), %t floordiv symbol(%TILES) + 1, 0, ((%t mod symbol(%TILES)) * 16) mod symbol(%D_DEPTH)] : tensor<?x16xbf16>
  }

  // 32 columns of the output over all experts, one after the other.
  mono.stage "down" (%t) tasks [(%HIDDEN floordiv 32) * symbol(%D_PARTS) * symbol(%WIDE)] base [0] {
    %list = mono.load %groups[0] [%GROUPS] : tensor<?xi32>
    %w = mono.stream %w_down[0, (%t floordiv symbol(%D_PARTS)) * 32, (%t mod symbol(%D_PARTS)) * symbol(%D_DEPTH)] [%EXPERTS + 1, 32, %D_DEPTH] scaled %w_down_scale groups(%list : tensor<?xi32>) split_k(8)
    %which = arith.remui %t, %D_PARTS : index
    %rows = mono.call @rows_of_part(%pair_row, %which, %GROUPS, %S, %PAIRED)
      : (!mono.buffer, index, index, index, index) -> tensor<?xi32>
    %pair = mono.load %group_pair[0, 0] [%GROUPS, %S] : tensor<?x?xi32>
    mono.receive_rows %units at %rows into %u : tensor<?xi32>
    %sum = mono.contract %u[0, 0] [%PAIRED, %D_DEPTH] rows(%pair : tensor<?x?xi32>), %w : tensor<?x32xf32>
    %rounded = arith.truncf %sum : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %mlp_partial[%rank * symbol(%D_PARTS) + %t mod symbol(%D_PARTS), 0, (%t floordiv symbol(%D_PARTS)) * 32] : tensor<?x32xbf16>
  }

  //===--- experts with MXFP8 activations -------------------------------------===//

  // As "gate_up", but 32 units: those that share a scale of what "down_mx" takes.
  mono.stage "gate_up_mx" (%t) tasks [%MOST * symbol(%BLOCKS) * symbol(%ACT)] base [0] {
    %expert = mono.load %groups[%t floordiv symbol(%BLOCKS) + 1] [1] : tensor<1xi32>
    %w = mono.stream %w_gate_up[0, (%t mod symbol(%BLOCKS)) * 64, 0] [%EXPERTS + 1, 64, %HIDDEN] scaled %w_gate_up_scale groups(%expert : tensor<1xi32>) split_k(8)
    %both = mono.contract %row_codes[0, 0] [%S, %HIDDEN] scaled %row_scales, %w : tensor<?x64xf32>
    %weight1 = mono.load %group_weight[%t floordiv symbol(%BLOCKS) + 1, 0] [1, %S] : tensor<1x?xf32>
    %weight = tensor.collapse_shape %weight1 [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
    %codes, %scale = mono.call @units_of_block(%both, %weight, %S)
      : (tensor<?x64xf32>, tensor<?xf32>, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
    mono.post %codes to %unit_codes[((%t mod symbol(%BLOCKS)) * 32) floordiv symbol(%D_DEPTH), %t floordiv symbol(%BLOCKS) + 1, 0, ((%t mod symbol(%BLOCKS)) * 32) mod symbol(%D_DEPTH)] : tensor<?x?xf8E4M3FN>
    mono.post %scale to %unit_scales[((%t mod symbol(%BLOCKS)) * 32) floordiv symbol(%D_DEPTH), %t floordiv symbol(%BLOCKS) + 1, 0, (((%t mod symbol(%BLOCKS)) * 32) mod symbol(%D_DEPTH)) floordiv 32] : tensor<?x?xf32>
  }

  mono.stage "down_mx" (%t) tasks [(%HIDDEN floordiv 32) * symbol(%D_PARTS) * symbol(%ACT)] base [0] {
    %list = mono.load %groups[0] [%GROUPS] : tensor<?xi32>
    %w = mono.stream %w_down[0, (%t floordiv symbol(%D_PARTS)) * 32, (%t mod symbol(%D_PARTS)) * symbol(%D_DEPTH)] [%EXPERTS + 1, 32, %D_DEPTH] scaled %w_down_scale groups(%list : tensor<?xi32>) split_k(8)
    %which = arith.remui %t, %D_PARTS : index
    %rows = mono.call @rows_of_part(%pair_row, %which, %GROUPS, %S, %PAIRED)
      : (!mono.buffer, index, index, index, index) -> tensor<?xi32>
    %pair = mono.load %group_pair[0, 0] [%GROUPS, %S] : tensor<?x?xi32>
    mono.receive_rows %unit_codes at %rows into %u_codes : tensor<?xi32>
    mono.receive_rows %unit_scales at %rows into %u_scales : tensor<?xi32>
    %sum = mono.contract %u_codes[0, 0] [%PAIRED, %D_DEPTH] scaled %u_scales rows(%pair : tensor<?x?xi32>), %w : tensor<?x32xf32>
    %rounded = arith.truncf %sum : tensor<?x32xf32> to tensor<?x32xbf16>
    mono.post %rounded to %mlp_partial[%rank * symbol(%D_PARTS) + %t mod symbol(%D_PARTS), 0, (%t floordiv symbol(%D_PARTS)) * 32] : tensor<?x32xbf16>
  }

  %mlp_parts = arith.muli %TP, %D_PARTS : index
  mono.call @add_output(%mlp_partial, %stream, %y, %mlp_parts, %S, %HIDDEN, %residualBase)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
}

// Product of the normed input with 16 rows of `w`, those from first + 16 * t on, [rows, 16]. Every
// workgroup norms for itself, and a row's 1 / rms waits until after the product. LDS holds one half of the
// columns at a time, `middle`. The input is asked for before the weights: loads return in order. Gamma is
// not: where lanes are left over, as with 3072 columns, its load waits in a branch, and what is in front of
// the weights must not.
mono.routine @project_input(%x : !mono.buffer, %gamma : !mono.buffer, %w : !mono.buffer,
                            %scales : !mono.buffer, %half : !mono.buffer, %t : index, %first : index,
                            %eps : f32, %rows : index, %middle : index) -> tensor<?x16xf32> {
  %x0 = mono.load %x[0, 0] [%rows, %middle] : tensor<?x?xbf16>
  %x1 = mono.load %x[0, %middle] [%rows, %middle] : tensor<?x?xbf16>
  %w0 = mono.stream %w[%t * 16 + %first, 0] [16, %middle] scaled %scales split_k(8)
  %w1 = mono.stream %w[%t * 16 + %first, %middle] [16, %middle] scaled %scales split_k(8)
  %square0 = mono.call @squares_of(%x0, %rows) : (tensor<?x?xbf16>, index) -> tensor<?xf32>
  %gamma0 = mono.load %gamma[0] [%middle] : tensor<?xbf16>
  %gamma1 = mono.load %gamma[%middle] [%middle] : tensor<?xbf16>
  %terms0 = mono.call @project_scaled(%x0, %gamma0, %half, %w0, %rows, %middle)
    : (tensor<?x?xbf16>, tensor<?xbf16>, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
  %square1 = mono.call @squares_of(%x1, %rows) : (tensor<?x?xbf16>, index) -> tensor<?xf32>
  %terms1 = mono.call @project_scaled(%x1, %gamma1, %half, %w1, %rows, %middle)
    : (tensor<?x?xbf16>, tensor<?xbf16>, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
  %terms = arith.addf %terms0, %terms1 : tensor<?x16xf32>
  %columns = arith.addi %middle, %middle : index
  %sum = mono.call @norm_product(%terms, %square0, %square1, %eps, %rows, %columns)
    : (tensor<?x16xf32>, tensor<?xf32>, tensor<?xf32>, f32, index, index) -> tensor<?x16xf32>
  mono.yield %sum : tensor<?x16xf32>
}

// Sum of squares of each row of columns of the input.
mono.routine @squares_of(%x16 : tensor<?x?xbf16>, %rows : index) -> tensor<?xf32> {
  %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %square = mono.call @sum_of_squares(%x32, %rows) : (tensor<?x?xf32>, index) -> tensor<?xf32>
  mono.yield %square : tensor<?xf32>
}

// Product of columns of x * gamma with a tile, of each of its two terms, [2 * rows, 16]; by way of the
// region `into`, [2 * rows, columns or more].
mono.routine @project_scaled(%x16 : tensor<?x?xbf16>, %gamma16 : tensor<?xbf16>, %into : !mono.buffer,
                             %w : !mono.stream, %rows : index, %columns : index)
    -> tensor<?x16xf32> {
  %x32 = arith.extf %x16 : tensor<?x?xbf16> to tensor<?x?xf32>
  %gamma = arith.extf %gamma16 : tensor<?xbf16> to tensor<?xf32>
  %scaled = mono.call @scale_columns(%x32, %gamma, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xf32>, index, index) -> tensor<?x?xf32>
  mono.call @store_two_terms(%scaled, %into, %rows) : (tensor<?x?xf32>, !mono.buffer, index) -> ()
  %terms = mono.contract %into[0, 0] [%rows * 2, %columns], %w : tensor<?x16xf32>
  mono.yield %terms : tensor<?x16xf32>
}

// What is left of the norm of a product of both terms: the factor 1 / rms of each row, from the squares of
// both halves of its `columns`.
mono.routine @norm_product(%terms : tensor<?x16xf32>, %square0 : tensor<?xf32>,
                           %square1 : tensor<?xf32>, %eps : f32, %rows : index, %columns : index)
    -> tensor<?x16xf32> {
  %square = arith.addf %square0, %square1 : tensor<?xf32>
  %n = mono.call @size_as_f32(%columns) : (index) -> f32
  %rstd = mono.call @reciprocal_rms(%square, %rows, %n, %eps)
    : (tensor<?xf32>, index, f32, f32) -> tensor<?xf32>
  %sixteen = arith.constant 16 : index
  %sum = mono.call @add_two_terms(%terms, %rows, %sixteen)
    : (tensor<?x16xf32>, index, index) -> tensor<?x16xf32>
  %y = mono.call @scale_rows(%sum, %rstd, %rows, %sixteen)
    : (tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
  mono.yield %y : tensor<?x16xf32>
}

// Product of the normed compressed query, from its mailbox, with 32 weight rows, [rows, 32]; in two terms
// by way of the region `qr`.
mono.routine @project_query(%q_a : !mono.mailbox, %gamma : tensor<?xbf16>, %qr : !mono.buffer,
                            %w : !mono.stream, %eps : f32, %rows : index, %columns : index)
    -> tensor<?x32xf32> {
  %q32 = mono.receive %q_a[0, 0] [%rows, %columns] : tensor<?x?xf32>
  %normed = mono.call @rms_normed(%q32, %gamma, %eps, %rows, %columns)
    : (tensor<?x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<?x?xf32>
  mono.call @store_two_terms(%normed, %qr, %rows) : (tensor<?x?xf32>, !mono.buffer, index) -> ()
  %terms = mono.contract %qr[0, 0] [%rows * 2, %columns], %w : tensor<?x32xf32>
  %thirtyTwo = arith.constant 32 : index
  %q = mono.call @add_two_terms(%terms, %rows, %thirtyTwo)
    : (tensor<?x32xf32>, index, index) -> tensor<?x32xf32>
  mono.yield %q : tensor<?x32xf32>
}

// RoPE of what task t has of a head's rotary dims: 16 pairs, of which a head has `parts` times as many.
mono.routine @rotate_tile(%q : tensor<?x32xf32>, %angles : tensor<?x?xf32>, %t : index,
                          %parts : index, %rows : index, %pairs : index) -> tensor<?x1x32xbf16> {
  %sixteen = arith.constant 16 : index
  %part = arith.remui %t, %parts : index
  %first = arith.muli %part, %sixteen : index
  %r = mono.call @rope_interleaved(%q, %angles, %first, %rows, %sixteen, %pairs)
    : (tensor<?x32xf32>, tensor<?x?xf32>, index, index, index, index) -> tensor<?x32xf32>
  %r16 = arith.truncf %r : tensor<?x32xf32> to tensor<?x32xbf16>
  %box = tensor.expand_shape %r16 [[0, 1], [2]] output_shape [%rows, 1, 32]
    : tensor<?x32xbf16> into tensor<?x1x32xbf16>
  mono.yield %box : tensor<?x1x32xbf16>
}

// Units of 16 gates and their ups, with the weights of the rows.
mono.routine @units_of_tile(%both : tensor<?x32xf32>, %weight : tensor<?xf32>, %rows : index)
    -> tensor<?x16xbf16> {
  %sixteen = arith.constant 16 : index
  %gate = tensor.extract_slice %both[0, 0] [%rows, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
  %up = tensor.extract_slice %both[0, 16] [%rows, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
  %unit = mono.call @swiglu(%gate, %up, %weight, %rows, %sixteen)
    : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xf32>, index, index) -> tensor<?x16xf32>
  %unit16 = arith.truncf %unit : tensor<?x16xf32> to tensor<?x16xbf16>
  mono.yield %unit16 : tensor<?x16xbf16>
}

// The same of 32 units, as codes that share a scale. Gates and ups come 16 by 16.
mono.routine @units_of_block(%both : tensor<?x64xf32>, %weight : tensor<?xf32>, %rows : index)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) {
  %one = arith.constant 1 : index
  %thirtyTwo = arith.constant 32 : index
  %tiles = tensor.expand_shape %both [[0], [1, 2, 3]] output_shape [%rows, 2, 2, 16]
    : tensor<?x64xf32> into tensor<?x2x2x16xf32>
  %gates = tensor.extract_slice %tiles[0, 0, 0, 0] [%rows, 2, 1, 16] [1, 1, 1, 1]
    : tensor<?x2x2x16xf32> to tensor<?x2x16xf32>
  %ups = tensor.extract_slice %tiles[0, 0, 1, 0] [%rows, 2, 1, 16] [1, 1, 1, 1]
    : tensor<?x2x2x16xf32> to tensor<?x2x16xf32>
  %gate = tensor.collapse_shape %gates [[0], [1, 2]] : tensor<?x2x16xf32> into tensor<?x32xf32>
  %up = tensor.collapse_shape %ups [[0], [1, 2]] : tensor<?x2x16xf32> into tensor<?x32xf32>
  %unit = mono.call @swiglu(%gate, %up, %weight, %rows, %thirtyTwo)
    : (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xf32>, index, index) -> tensor<?x32xf32>
  %codes, %scale = mono.call @quantise_mxfp8(%unit, %rows, %one)
    : (tensor<?x32xf32>, index, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
  mono.yield %codes, %scale : tensor<?x?xf8E4M3FN>, tensor<?x?xf32>
}

// Rows of the units' mailbox that hold the inputs of each pair of a row and an expert, of one part of
// the depth.
mono.routine @rows_of_part(%pair_row : !mono.buffer, %part : index, %groups : index, %rows : index,
                           %pairs : index) -> tensor<?xi32> {
  %ofFirst = mono.load %pair_row[0] [%pairs] : tensor<?xi32>
  %perPart = arith.muli %groups, %rows : index
  %before = arith.muli %part, %perPart : index
  %before32 = arith.index_cast %before : index to i32
  %befores = tensor.splat %before32[%pairs] : tensor<?xi32>
  %at = arith.addi %ofFirst, %befores : tensor<?xi32>
  mono.yield %at : tensor<?xi32>
}

// Shapes that the linear layers of schedules/linear.mlir do not take, and what is said.
// RUN: monoc %s -D S=16 -D N=400 -D K=768 --check
// RUN: not monoc %s -D S=17 -D N=400 -D K=768 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: 'mono.contract' op expected at most 16 activation rows (the N side of MFMA 16x16x32), but got 17
// ROWS: mono.contract %input
// ROWS: note: called from
// ROWS: mono.call @linear_tile
// ROWS: linear.mlir:{{[0-9]+}}:3: note: called from
// ROWS: mono.call @linear_scaled
// RUN: not monoc %s -D S=4 -D N=200 -D K=768 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: 'mono.operand' op expected a multiple of 16 rows for layout #mono.mfma_rows<16>, but got 200
// RUN: not monoc %s -D S=4 -D N=400 -D K=192 2>&1 | FileCheck %s --check-prefix=DEPTH
// DEPTH: error: 'mono.stream' op expected a depth that is a multiple of 128, a block that shares an f32 scale, but got 192
// RUN: not monoc %s -D S=4 -D N=400 -D K=768 -D EXTRA=1 2>&1 | FileCheck %s --check-prefix=SCALES
// SCALES: error: 'mono.stream' op expected a row-major operand 'tensor<4x6xf32>', a scale for each block of 128 x 128 of operand 'w', but operand 'ws' is 'tensor<5x6xf32>'
// RUN: sed 's|4 x 512|4 x 256|; s|../../schedules|%schedules|' %s > %t.mlir
// RUN: not monoc %t.mlir -D S=4 -D N=400 -D K=768 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: error: 'mono.stream' op expected split_k to divide the 4 wavefronts of the workgroup, but got 8
mono.import "../../schedules/linear.mlir"

mono.schedule @layer target("gfx950") grid(4 x 512) {
  %S = mono.param "S" in [1 to 32]
  %N = mono.param "N" in [16 to 1024]
  %K = mono.param "K" in [64 to 4096]
  %EXTRA = mono.param "EXTRA" in [0, 1] default 0      // a row of scales too many
  %zero = arith.constant 0 : index
  %x = mono.operand "x" read [%S, %K] : bf16
  %w = mono.operand "w" read weight [%N, %K] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [%N ceildiv 128 + %EXTRA, %K ceildiv 128] : f32
  %y = mono.operand "y" write [%S, %N] : bf16
  %in = mono.mailbox "in" tagged scope(device) slots(1) [%S, %K] : bf16
  %out = mono.mailbox "out" tagged scope(device) slots(1) [%S, %N] : bf16
  mono.stage "bring" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [%S, %K] : tensor<?x?xbf16>
    mono.post %v to %in[0, 0] : tensor<?x?xbf16>
  }
  mono.call @linear_scaled(%in, %w, %ws, %out, %S, %K, %N, %zero)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index) -> ()
  mono.stage "take" (%t) tasks [1] base [0] {
    %v = mono.receive %out[0, 0] [%S, %N] : tensor<?x?xbf16>
    mono.store %v, %y[0, 0] : tensor<?x?xbf16>
  }
}

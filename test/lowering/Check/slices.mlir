// Slices outside their tensor for some task or rank, and slices whose place nobody knows.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

mono.schedule @last_task_outside target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %y = mono.operand "y" write [5, 16] : f32
  mono.stage "s" (%t) tasks [5] base [0] {
    %c16 = arith.constant 16 : index
    %first = arith.muli %t, %c16 : index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected a slice inside 'tensor<64xf32>', but task 4 of stage 's' covers 64 to 80 on axis 0}}
    %v = tensor.extract_slice %x[%first] [16] [1] : tensor<64xf32> to tensor<16xf32>
    mono.store %v, %y[%t, 0] : tensor<16xf32>
  }
}

// -----

// The last of four elements at a distance of three.
mono.schedule @stride_past_the_end target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [12] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %x = mono.load %a[0] [12] : tensor<12xf32>
    // expected-error @below {{expected a slice inside 'tensor<12xf32>', but task 3 of stage 's' covers 3 to 13 on axis 0}}
    %v = tensor.extract_slice %x[%t] [4] [3] : tensor<12xf32> to tensor<4xf32>
  }
}

// -----

mono.schedule @before_the_start target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [12] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %one = arith.constant 1 : index
    %before = arith.subi %t, %one : index
    %x = mono.load %a[0] [12] : tensor<12xf32>
    // expected-error @below {{expected a slice inside 'tensor<12xf32>', but task 0 of stage 's' covers -1 to 3 on axis 0}}
    %v = tensor.extract_slice %x[%before] [4] [1] : tensor<12xf32> to tensor<4xf32>
  }
}

// -----

mono.schedule @insertion_of_a_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [4, 8] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [3, 8] : tensor<3x8xf32>
    %row = mono.load %a[0, 0] [1, 8] : tensor<1x8xf32>
    // expected-error @below {{expected a slice inside 'tensor<3x8xf32>', but task 0 of stage 's' covers 3 to 4 on axis 0 on rank 3}}
    %v = tensor.insert_slice %row into %x[%rank, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<3x8xf32>
  }
}

// -----

mono.schedule @stride_of_the_task target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [12] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %x = mono.load %a[0] [12] : tensor<12xf32>
    // expected-error @below {{expected strides that parameters decide}}
    %v = tensor.extract_slice %x[%t] [4] [%t] : tensor<12xf32> to tensor<4xf32>
  }
}

// -----

// Right ones: by task, by a part of the task, by the rank.
mono.schedule @inside target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  %a = mono.operand "a" read [4, 8] : f32
  %y = mono.operand "y" write [4, 8] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %two = arith.constant 2 : index
    %four = arith.constant 4 : index
    %half = arith.remui %t, %two : index
    %first = arith.muli %half, %four : index
    %x = mono.load %a[0, 0] [4, 8] : tensor<4x8xf32>
    %v = tensor.extract_slice %x[%rank, %first] [1, 4] [1, 1] : tensor<4x8xf32> to tensor<1x4xf32>
    %row = tensor.extract_slice %x[%t, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %w = tensor.insert_slice %v into %row[0, %first] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<1x8xf32>
    mono.store %w, %y[%t, 0] : tensor<1x8xf32>
  }
}

// -----

mono.schedule @offset_from_memory target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [12] : f32
  %i = mono.operand "i" read [4] : i32
  mono.stage "s" (%t) tasks [2] base [0] {
    %x = mono.load %a[0] [12] : tensor<12xf32>
    %list = mono.load %i[0] [4] : tensor<4xi32>
    %which = tensor.extract %list[%t] : tensor<4xi32>
    %first = arith.index_cast %which : i32 to index
    // expected-error @below {{expected offsets that depend on the task, the rank and parameters only}}
    %v = tensor.extract_slice %x[%first] [4] [1] : tensor<12xf32> to tensor<4xf32>
  }
}

// -----

// Backwards from column 63: the verifier of MLIR has no opinion.
mono.schedule @backwards target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [1, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %c60 = arith.constant 60 : index
    %first = arith.addi %t, %c60 : index
    %x = mono.load %a[0, 0] [1, 64] : tensor<1x64xf32>
    // expected-error @below {{expected strides of at least 1, but got -1}}
    %v = tensor.extract_slice %x[0, %first] [1, 4] [1, -1] : tensor<1x64xf32> to tensor<1x4xf32>
  }
}

// -----

// All elements to one place: which of them stays is chance.
mono.schedule @stride_zero target("gfx950") grid(1 x 128) {
  %a = mono.operand "a" read [256] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [256] : tensor<256xf32>
    %zeros = arith.constant dense<0.0> : tensor<256xf32>
    // expected-error @below {{expected strides of at least 1, but got 0}}
    %v = tensor.insert_slice %x into %zeros[0] [256] [0] : tensor<256xf32> into tensor<256xf32>
  }
}

// -----

// %t in 64 bits, 0 in 32.
mono.schedule @offset_past_32_bits target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %many = arith.constant 1073741824 : index
    // expected-note @below {{here}}
    %far = arith.muli %t, %many : index
    %row = arith.divui %far, %many : index
    // expected-error @below {{expected offsets whose every step is within 2147483647, as a kernel computes them in 32 bits, but task 2 of stage 's' leaves it}}
    %v = tensor.extract_slice %x[%row, 0] [1, 1] [1, 1] : tensor<4x64xf32> to tensor<1x1xf32>
  }
}

// -----

mono.schedule @constant_past_32_bits target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    // expected-note @below {{here}}
    %many = arith.constant 4294967297 : index
    %row = arith.divui %t, %many : index
    // expected-error @below {{expected offsets whose every step is within 2147483647, as a kernel computes them in 32 bits, but task 0 of stage 's' leaves it}}
    %v = tensor.extract_slice %x[%row, 0] [1, 1] [1, 1] : tensor<4x64xf32> to tensor<1x1xf32>
  }
}

// -----

// -1 as an unsigned number is another one in 64 bits than in 32.
mono.schedule @negative_as_unsigned target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %minus = arith.constant -1 : index
    %four = arith.constant 4 : index
    %before = arith.addi %t, %minus : index
    // expected-note @below {{here}}
    %row = arith.remui %before, %four : index
    // expected-error @below {{as a kernel computes them in 32 bits, but task 0 of stage 's' leaves it}}
    %v = tensor.extract_slice %x[%row, 0] [1, 1] [1, 1] : tensor<4x64xf32> to tensor<1x1xf32>
  }
}

// -----

// 160 >> 33 is 0 in 64 bits, and a kernel's 32 have no such shift.
mono.schedule @shift_too_far target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c33 = arith.constant 33 : index
    %by = arith.addi %t, %c33 : index
    %c160 = arith.constant 160 : index
    // expected-note @below {{here: 'arith.shrsi' gives another number in 32 bits}}
    %first = arith.shrsi %c160, %by : index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets whose every step is within 2147483647, as a kernel computes them in 32 bits, but task 0 of stage 's' leaves it}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// -----

mono.schedule @unsigned_shift_too_far target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c33 = arith.constant 33 : index
    %by = arith.addi %t, %c33 : index
    %c160 = arith.constant 160 : index
    // expected-note @below {{here: 'arith.shrui' gives another number in 32 bits}}
    %first = arith.shrui %c160, %by : index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets whose every step is within 2147483647}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// -----

// 2^64 - 5 in one, 2^32 - 5 in the other.
mono.schedule @negative_taken_as_unsigned target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c5 = arith.constant 5 : index
    %less = arith.subi %t, %c5 : index
    // expected-note @below {{here: 'arith.index_castui' gives another number in 32 bits}}
    %wide = arith.index_castui %less : index to i64
    %c32 = arith.constant 32 : i64
    %high = arith.shrui %wide, %c32 : i64
    %c127 = arith.constant 127 : i64
    %low = arith.andi %high, %c127 : i64
    %first = arith.index_castui %low : i64 to index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets whose every step is within 2147483647}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// -----

// What a host makes of tanh, a kernel rounds in another way.
mono.schedule @offset_of_a_float target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %i = arith.index_cast %t : index to i32
    // expected-note @below {{'arith.sitofp' has none that is known for task 0 of stage 's'}}
    %f = arith.sitofp %i : i32 to f32
    %tanh = math.tanh %f : f32
    %bits = arith.bitcast %tanh : f32 to i32
    %first = arith.index_cast %bits : i32 to index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets that depend on the task, the rank and parameters only, by integer operations with a value for each task}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// -----

mono.schedule @divided_by_the_task target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %c4 = arith.constant 4 : index
    // expected-note @below {{'arith.divui' has none that is known for task 0 of stage 's'}}
    %first = arith.divui %c4, %t : index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{by integer operations with a value for each task}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// -----

// Three strides are 2^64 + 2: 2 to who counts in 64 bits.
mono.schedule @stride_wraps target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected a slice inside 'tensor<64xf32>', but task 0 of stage 's' covers 0 to 9223372036854775807 on axis 0}}
    %v = tensor.extract_slice %x[%t] [4] [6148914691236517206] : tensor<64xf32> to tensor<4xf32>
  }
}

// -----

mono.schedule @stride_wraps_for_all target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected a slice inside 'tensor<64xf32>', but task 0 of stage 's' covers 1 to 9223372036854775807 on axis 0}}
    %v = tensor.extract_slice %x[1] [4] [6148914691236517206] : tensor<64xf32> to tensor<4xf32>
  }
}

// -----

// -2^63 is 0 in 32 bits.
mono.schedule @least_number target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c64 = arith.constant 64 : index
    // expected-note @below {{here: 'arith.constant' gives another number in 32 bits}}
    %min = arith.constant -9223372036854775808 : index
    %less = arith.cmpi slt, %min, %t : index
    %first = arith.select %less, %t, %c64 : index
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets whose every step is within 2147483647}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// -----

mono.schedule @index_dialect target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c5 = index.constant 5
    %less = index.sub %t, %c5
    %c3 = index.constant 3
    // expected-note @below {{here: 'index.remu' gives another number in 32 bits}}
    %first = index.remu %less, %c3
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected offsets whose every step is within 2147483647}}
    %v = tensor.extract_slice %x[%first] [8] [1] : tensor<64xf32> to tensor<8xf32>
  }
}

// Parameters in the sizes of ops that move elements become constants, and the types follow.
// RUN: mono-opt %s --mono-bind-parameters="params=S=3,N=40" | FileCheck %s
// A size of one does not take an axis away.
// RUN: mono-opt %s --mono-bind-parameters="params=S=1,N=2" | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: mono.schedule @movement
// ONE-LABEL: mono.schedule @movement
mono.schedule @movement target("gfx950") grid(1 x 64) {
  %S = mono.param "S" in [1 to 8]
  %N = mono.param "N" in [2 to 64]
  %c2 = arith.constant 2 : index
  %half = arith.divui %N, %c2 : index
  %SN = arith.muli %S, %N : index
  %x = mono.operand "x" read [%S, %N] : f32
  %new = mono.operand "new" read [%S, %N] : bf16
  %short = mono.operand "short" read [16, 8] : bf16
  %cache = mono.operand "cache" update [100, %N] : bf16
  %list = mono.operand "list" read [%S] : i32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [%S] : i32
  %rows = mono.region "rows" [%S, 8] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [%S, %N] : tensor<?x?xf32>
    // CHECK: tensor.extract_slice %{{.*}}[0, 1] [3, 20] [1, 2] : tensor<3x40xf32> to tensor<3x20xf32>
    // ONE: tensor.extract_slice %{{.*}}[0, 1] [1, 1] [1, 2] : tensor<1x2xf32> to tensor<1x1xf32>
    %odd = tensor.extract_slice %v[0, 1] [%S, %half] [1, 2] : tensor<?x?xf32> to tensor<?x?xf32>
    // An axis of one that the type leaves out.
    // CHECK: tensor.extract_slice %{{.*}}[0, 20] [1, 20] [1, 1] : tensor<3x40xf32> to tensor<20xf32>
    // ONE: tensor.extract_slice %{{.*}}[0, 1] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<1xf32>
    %row = tensor.extract_slice %v[0, %half] [1, %half] [1, 1] : tensor<?x?xf32> to tensor<?xf32>
    // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [3, 20] [1, 2] : tensor<3x20xf32> into tensor<3x40xf32>
    // ONE: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [1, 1] [1, 2] : tensor<1x1xf32> into tensor<1x2xf32>
    %w = tensor.insert_slice %odd into %v[0, 0] [%S, %half] [1, 2] : tensor<?x?xf32> into tensor<?x?xf32>
    // CHECK: tensor.collapse_shape %{{.*}} {{\[\[0, 1\]\]}} : tensor<3x40xf32> into tensor<120xf32>
    // ONE: tensor.collapse_shape %{{.*}} {{\[\[0, 1\]\]}} : tensor<1x2xf32> into tensor<2xf32>
    %flat = tensor.collapse_shape %w [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
    // CHECK: tensor.expand_shape %{{.*}} {{\[\[0, 1, 2\]\]}} output_shape [3, 20, 2] : tensor<120xf32> into tensor<3x20x2xf32>
    // ONE: tensor.expand_shape %{{.*}} {{\[\[0, 1, 2\]\]}} output_shape [1, 1, 2] : tensor<2xf32> into tensor<1x1x2xf32>
    %pairs = tensor.expand_shape %flat [[0, 1, 2]] output_shape [%S, %half, 2] : tensor<?xf32> into tensor<?x?x2xf32>
    // CHECK: tensor.empty() : tensor<40x3xf32>
    // ONE: tensor.empty() : tensor<2x1xf32>
    %empty = tensor.empty(%N, %S) : tensor<?x?xf32>
    // CHECK: linalg.transpose ins(%{{.*}} : tensor<3x40xf32>) outs(%{{.*}} : tensor<40x3xf32>) permutation = [1, 0]
    // ONE: linalg.transpose ins(%{{.*}} : tensor<1x2xf32>) outs(%{{.*}} : tensor<2x1xf32>) permutation = [1, 0]
    %byColumn = linalg.transpose ins(%v : tensor<?x?xf32>) outs(%empty : tensor<?x?xf32>) permutation = [1, 0]
    // What depends on parameters is folded inside, too.
    // CHECK: tensor.generate
    // CHECK: arith.muli %{{.*}}, %c40
    // CHECK: } : tensor<3x40xi32>
    // ONE: } : tensor<1x2xi32>
    %number = tensor.generate %S, %N {
    ^bb0(%s: index, %n: index):
      %first = arith.muli %s, %N : index
      %at = arith.addi %first, %n : index
      %at32 = arith.index_cast %at : index to i32
      tensor.yield %at32 : i32
    } : tensor<?x?xi32>
    %ids = mono.load %list[0] [%S] : tensor<?xi32>
    // CHECK: mono.gather %{{.*}} at %{{.*}} : tensor<3xi32> -> tensor<3x40xf32>
    // ONE: mono.gather %{{.*}} at %{{.*}} : tensor<1xi32> -> tensor<1x2xf32>
    %gathered = mono.gather %x at %ids : tensor<?xi32> -> tensor<?x?xf32>
    // CHECK: mono.gather %{{.*}} at %{{.*}} : tensor<3xi32> -> tensor<3xf32>
    // ONE: mono.gather %{{.*}} at %{{.*}} : tensor<1xi32> -> tensor<1xf32>
    %elements = mono.gather %x at %ids : tensor<?xi32> -> tensor<?xf32>
    // CHECK: mono.gather %{{.*}} at %{{.*}} into %{{.*}} : tensor<3xi32>
    // ONE: mono.gather %{{.*}} at %{{.*}} into %{{.*}} : tensor<1xi32>
    mono.gather %short at %ids into %rows : tensor<?xi32>
    // CHECK: mono.distinct %{{.*}} : tensor<3xi32>
    // ONE: mono.distinct %{{.*}} : tensor<1xi32>
    %at = mono.distinct %ids : tensor<?xi32>
    mono.post %at to %places[0] : tensor<?xi32>
  }
  mono.stage "scatter" (%t) tasks [1] base [0] {
    %n = mono.load %new[0, 0] [%S, %N] : tensor<?x?xbf16>
    %at = mono.receive %places[0] [%S] : tensor<?xi32>
    // CHECK: mono.scatter %{{.*}}, %{{.*}}[0] at %{{.*}} : tensor<3x40xbf16>, tensor<3xi32>
    // ONE: mono.scatter %{{.*}}, %{{.*}}[0] at %{{.*}} : tensor<1x2xbf16>, tensor<1xi32>
    mono.scatter %n, %cache[0] at %at : tensor<?x?xbf16>, tensor<?xi32>
  }
}

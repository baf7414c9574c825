#loc = loc("kernel.py":8:0)
module {
  tt.func public @matmul_bias(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc(#loc), %wt: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc(#loc), %b: !tt.ptr<f16> loc(#loc), %y: !tt.ptr<f16> loc(#loc)) attributes {noinline = false} {
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32> loc(#loc1)
    %c12_i32 = arith.constant 12 : i32 loc(#loc1)
    %0 = tt.get_program_id x : i32 loc(#loc2)
    %acc = scf.for %k = %c0_i32 to %c12_i32 step %c1_i32 iter_args(%arg = %cst) -> (tensor<128x64xf32>) : i32 {
      %a = tt.load %a_ptr : tensor<128x64x!tt.ptr<f16>> loc(#loc9)
      %w = tt.load %w_ptr : tensor<64x64x!tt.ptr<f16>> loc(#loc10)
      %d = tt.dot %a, %w, %arg : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32> loc(#loc11)
      scf.yield %d : tensor<128x64xf32> loc(#loc11)
    } loc(#loc8)
    %p = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xf16> loc(#loc12)
    %r = arith.addf %p, %bias : tensor<128x64xf16> loc(#loc13)
    tt.store %y_ptr, %r : tensor<128x64x!tt.ptr<f16>> loc(#loc14)
    tt.return loc(#loc15)
  } loc(#loc)
} loc(#loc)

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#loc = loc("kernel.py":8:0)
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func public @matmul_bias(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc(#loc), %wt: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc(#loc), %b: !tt.ptr<f16> loc(#loc), %y: !tt.ptr<f16> loc(#loc)) attributes {noinline = false} {
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma> loc(#loc1)
    %c12_i32 = arith.constant 12 : i32 loc(#loc1)
    %0 = tt.get_program_id x : i32 loc(#loc3)
    %acc = scf.for %k = %c0_i32 to %c12_i32 step %c1_i32 iter_args(%arg = %cst) -> (tensor<128x64xf32, #mma>) : i32 {
      %d = ttng.warp_group_dot %a, %w, %arg : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32, #mma> loc(#loc11)
      scf.yield %d : tensor<128x64xf32, #mma> loc(#loc11)
    } loc(#loc7)
    %p = arith.truncf %acc : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma> loc(#loc12)
    %r = arith.addf %p, %bias : tensor<128x64xf16, #mma> loc(#loc16)
    tt.return loc(#loc17)
  } loc(#loc)
} loc(#loc)

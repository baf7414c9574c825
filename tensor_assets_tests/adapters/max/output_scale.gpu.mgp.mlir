#loc = loc(unknown)
#loc944 = #mogg.profile_scope<"y", #loc>
#loc945 = #mogg.profile_scope<"p", #loc>
#loc1349 = loc(fused[#loc944, #loc945])
#matmul_static_broadcast_to_mul = #mogg.fusion<#mogg.fusion_epilogue<[#mogg.fusion_leaf<"mo.matmul", loc = #loc945, sig = (!mo.tensor<[1024, 768], f16, gpu:0>, !mo.tensor<[768, 1024], f16, gpu:0, {layout = #mo.layout<KN>}>) -> !mo.tensor<[1024, 1024], f16, gpu:0>>, #mogg.fusion_view<[#mogg.fusion_leaf<"mo.static.broadcast_to", loc = #loc944, sig = (!mo.tensor<[1024], f16, gpu:0>) -> !mo.tensor<[1024, 1024], f16, gpu:0>>, #mogg.fusion_leaf<"mo.mul", loc = #loc944, sig = (!mo.tensor<[1024, 1024], f16, gpu:0>, !mo.tensor<[1024, 1024], f16, gpu:0>) -> !mo.tensor<[1024, 1024], f16, gpu:0>>]>], operandIndices = [0]>>
module attributes {mo.device_info_mapping = {cpu = #M.device_info<"cpu", "cpu", "unknown", "cpu">, gpu = #M.device_info<"gpu", "cuda", "sm_90a", "NVIDIA H200">}} {
  mgp.model @output_scale : mof {argument_device_indices = [1 : ui32, 1 : ui32, 1 : ui32], argument_names = ["input0", "input1", "input2"], result_device_indices = [1 : ui32], result_names = ["output0"]} devices [#M.device_ref<"cpu", 0>, #M.device_ref<"gpu", 0>] init (%arg0: !mgp.opaque<"weights_registry"> loc(unknown), %arg1: !mgp.device_context<<"cpu", 0>> loc(unknown), %arg2: !mgp.device_context<<"gpu", 0>> loc(unknown)) {
  } execute (%arg0: !mef.chain loc(unknown), %arg1: !mgp.context loc(unknown), %arg2: !mgp.opaque<"weights_registry"> loc(unknown), %arg3: !mgp.device_context<<"cpu", 0>> loc(unknown), %arg4: !mgp.device_context<<"gpu", 0>> loc(unknown), %arg5: !mgp.tensor<1024x768xf16, <"gpu", 0>> loc(unknown), %arg6: !mgp.tensor<768x1024xf16, <"gpu", 0>> loc(unknown), %arg7: !mgp.tensor<1024xf16, <"gpu", 0>> loc(unknown)) -> (!mef.chain, !mgp.tensor<1024x1024xf16, <"gpu", 0>>) {
    %0 = mgp.tensor.extract.buffer %arg5 : <1024x768xf16, <"gpu", 0>> loc(#loc1349)
    %2 = mgp.tensor.extract.buffer %arg6 : <768x1024xf16, <"gpu", 0>> loc(#loc1349)
    %4 = mgp.tensor.extract.buffer %arg7 : <1024xf16, <"gpu", 0>> loc(#loc1349)
    %idx2097152 = index.constant 2097152 loc(#loc1349)
    %7 = mgp.buffer.alloc %arg0, %idx2097152, %arg4, align 256 : !mgp.buffer<<"gpu", 0>>, !mgp.device_context<<"gpu", 0>> loc(#loc1349)
    %8 = mogg.routine.async dispatch(deferred) (%arg0, %0, %2, %4, %7, %arg4) : (%arg8: !mef.chain loc(#loc1349), %arg9: !mgp.buffer<<"gpu", 0>> loc(#loc1349), %arg10: !mgp.buffer<<"gpu", 0>> loc(#loc1349), %arg11: !mgp.buffer<<"gpu", 0>> loc(#loc1349), %arg12: !mgp.buffer<<"gpu", 0>> loc(#loc1349), %arg13: !mgp.device_context<<"gpu", 0>> loc(#loc1349))  -> !mef.chain {
      mogg.call @__matmul_static_broadcast_to_mul %11, %13, %15, %17, %19 : !mogg.pointer, !mogg.pointer, !mogg.pointer, !mogg.pointer, !mogg.context loc(#loc1349)
    }  fusionInfo = #matmul_static_broadcast_to_mul canBeFusedInto = true canFuseIntoOther = true inOutSignature = <"iiiio."> isStructured = true {device = #M.device_ref<"gpu", 0>} loc(#loc1349)
    %9 = mgp.tensor.create %8, %7, %6 : !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc1349)
    mef.output %arg0, %9 : !mef.chain, !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc)
  } loc(#loc)
  mogg.func @__matmul_static_broadcast_to_mul private (%arg0: !mogg.pointer loc(fused[#loc944, #loc945]), %arg1: !mogg.pointer loc(fused[#loc944, #loc945]), %arg2: !mogg.pointer loc(fused[#loc944, #loc945]), %arg3: !mogg.pointer loc(fused[#loc944, #loc945]), %arg4: !mogg.context loc(fused[#loc944, #loc945])) attributes {abi = #mogg.abi<MOGG>, constantResources = [], device = "gpu", fusionInfo = #matmul_static_broadcast_to_mul} {
    %0 = mogg.shape.create() <shape = #mosh<ape[1024, 768]> : !mosh.ape> loc(#loc1349)
    %1 = mogg.tensor.create(%arg0, %0) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024, 768]> : !mosh.ape> : !mogg.tensor loc(#loc1349)
    %2 = mogg.shape.create() <shape = #mosh<ape[768, 1024]> : !mosh.ape> loc(#loc1349)
    %3 = mogg.tensor.create(%arg1, %2) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[768, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc1349)
    %4 = mogg.shape.create() <shape = #mosh<ape[1024]> : !mosh.ape> loc(#loc1349)
    %5 = mogg.tensor.create(%arg2, %4) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024]> : !mosh.ape> : !mogg.tensor loc(#loc1349)
    %6 = mogg.shape.create() <shape = #mosh<ape[1024, 1024]> : !mosh.ape> loc(#loc1349)
    %7 = mogg.tensor.create(%arg3, %6) <device = "gpu", elementType = f16, io = Output, mut = true, shapeAttr = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc1349)
    %8 = mogg.tensor.create.broadcast(%5) <elementType = f16, mut = false, outShape = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %9 = mogg.tensor.get_ptr(%7) : !mogg.tensor loc(#loc945)
    %10 = mogg.tensor.create.epilogue %6 (%val : f16, %idx : !map.index<2>) capturing {%cap0 = %7 : !mogg.tensor, %cap1 = %8 : !mogg.tensor} ptr %9 computeOutputArg = true device = "gpu", elementType = f16, io = Output, mut = true {
      %11 = mogg.tensor.load %cap1[%idx] : !mogg.tensor, !map.index<2> -> f16 loc(#loc944)
      %12 = mogg.call.elementwise @builtin_kernels.elementwise.Mul(%val, %11) moOpName = "mo.mul" : f16, f16 -> f16 loc(#loc944)
      mogg.yield %12 : f16 loc(#loc945)
    } loc(#loc945)
    mogg.with_trace {
      mogg.call.opaque @builtin_kernels.linalg.MatmulGPU[packed_b = false, transpose_b = false] inputs(%1, %3 : !mogg.tensor, !mogg.tensor) outputs(%10 : !mogg.tensor) context(%arg4 : !mogg.context) hasEpilogueFusion = true loc(#loc945)
      mogg.yield loc(#loc1349)
    } loc(#loc1349)
  } loc(#loc1349)
} loc(#loc)

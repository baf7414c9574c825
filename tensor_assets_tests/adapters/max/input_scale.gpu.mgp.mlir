#loc = loc(unknown)
#loc944 = #mogg.profile_scope<"xs", #loc>
#loc945 = #mogg.profile_scope<"p", #loc>
#matmul = #mogg.fusion<#mogg.fusion_leaf<"mo.matmul", loc = #loc945, sig = (!mo.tensor<[1024, 768], f16, gpu:0>, !mo.tensor<[768, 1024], f16, gpu:0, {layout = #mo.layout<KN>}>) -> !mo.tensor<[1024, 1024], f16, gpu:0>>>
#static_broadcast_to_mul = #mogg.fusion<#mogg.fusion_view<[#mogg.fusion_leaf<"mo.static.broadcast_to", loc = #loc944, sig = (!mo.tensor<[768], f16, gpu:0>) -> !mo.tensor<[1024, 768], f16, gpu:0>>, #mogg.fusion_leaf<"mo.mul", loc = #loc944, sig = (!mo.tensor<[1024, 768], f16, gpu:0>, !mo.tensor<[1024, 768], f16, gpu:0>) -> !mo.tensor<[1024, 768], f16, gpu:0>>]>>
module attributes {mo.device_info_mapping = {cpu = #M.device_info<"cpu", "cpu", "unknown", "cpu">, gpu = #M.device_info<"gpu", "cuda", "sm_90a", "NVIDIA H200">}} {
  mgp.model @input_scale : mof {argument_device_indices = [1 : ui32, 1 : ui32, 1 : ui32], argument_names = ["input0", "input1", "input2"], result_device_indices = [1 : ui32], result_names = ["output0"]} devices [#M.device_ref<"cpu", 0>, #M.device_ref<"gpu", 0>] init (%arg0: !mgp.opaque<"weights_registry"> loc(unknown), %arg1: !mgp.device_context<<"cpu", 0>> loc(unknown), %arg2: !mgp.device_context<<"gpu", 0>> loc(unknown)) {
  } execute (%arg0: !mef.chain loc(unknown), %arg1: !mgp.context loc(unknown), %arg2: !mgp.opaque<"weights_registry"> loc(unknown), %arg3: !mgp.device_context<<"cpu", 0>> loc(unknown), %arg4: !mgp.device_context<<"gpu", 0>> loc(unknown), %arg5: !mgp.tensor<1024x768xf16, <"gpu", 0>> loc(unknown), %arg6: !mgp.tensor<768xf16, <"gpu", 0>> loc(unknown), %arg7: !mgp.tensor<768x1024xf16, <"gpu", 0>> loc(unknown)) -> (!mef.chain, !mgp.tensor<1024x1024xf16, <"gpu", 0>>) {
    %0 = mgp.tensor.extract.buffer %arg5 : <1024x768xf16, <"gpu", 0>> loc(#loc944)
    %2 = mgp.tensor.extract.buffer %arg6 : <768xf16, <"gpu", 0>> loc(#loc944)
    %idx1572864 = index.constant 1572864 loc(#loc944)
    %5 = mgp.buffer.alloc %arg0, %idx1572864, %arg4, align 256 : !mgp.buffer<<"gpu", 0>>, !mgp.device_context<<"gpu", 0>> loc(#loc944)
    %6 = mogg.routine.async dispatch(deferred) (%arg0, %0, %2, %5, %arg4) : (%arg8: !mef.chain loc(#loc944), %arg9: !mgp.buffer<<"gpu", 0>> loc(#loc944), %arg10: !mgp.buffer<<"gpu", 0>> loc(#loc944), %arg11: !mgp.buffer<<"gpu", 0>> loc(#loc944), %arg12: !mgp.device_context<<"gpu", 0>> loc(#loc944))  -> !mef.chain {
      mogg.call @__static_broadcast_to_mul %16, %18, %20, %22 : !mogg.pointer, !mogg.pointer, !mogg.pointer, !mogg.context loc(#loc944)
    }  fusionInfo = #static_broadcast_to_mul canBeFusedInto = true canFuseIntoOther = true inOutSignature = <"iiio."> isStructured = true {device = #M.device_ref<"gpu", 0>} loc(#loc944)
    %7 = mgp.tensor.create %6, %5, %4 : !mgp.tensor<1024x768xf16, <"gpu", 0>> loc(#loc944)
    %9 = mgp.tensor.extract.buffer %arg7 : <768x1024xf16, <"gpu", 0>> loc(#loc945)
    %idx2097152 = index.constant 2097152 loc(#loc945)
    %12 = mgp.buffer.alloc %8, %idx2097152, %arg4, align 256 : !mgp.buffer<<"gpu", 0>>, !mgp.device_context<<"gpu", 0>> loc(#loc945)
    %13 = mogg.routine.async dispatch(deferred) (%8, %5, %9, %12, %arg4) : (%arg8: !mef.chain loc(#loc945), %arg9: !mgp.buffer<<"gpu", 0>> loc(#loc945), %arg10: !mgp.buffer<<"gpu", 0>> loc(#loc945), %arg11: !mgp.buffer<<"gpu", 0>> loc(#loc945), %arg12: !mgp.device_context<<"gpu", 0>> loc(#loc945))  -> !mef.chain {
      mogg.call @__matmul %16, %18, %20, %22 : !mogg.pointer, !mogg.pointer, !mogg.pointer, !mogg.context loc(#loc945)
    }  fusionInfo = #matmul canBeFusedInto = true canFuseIntoOther = true inOutSignature = <"iiio."> isStructured = true {device = #M.device_ref<"gpu", 0>} loc(#loc945)
    %14 = mgp.tensor.create %13, %12, %11 : !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc945)
    mef.output %arg0, %14 : !mef.chain, !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc)
  } loc(#loc)
  mogg.func @__matmul private (%arg0: !mogg.pointer loc(#loc945), %arg1: !mogg.pointer loc(#loc945), %arg2: !mogg.pointer loc(#loc945), %arg3: !mogg.context loc(#loc945)) attributes {abi = #mogg.abi<MOGG>, constantResources = [], device = "gpu", fusionInfo = #matmul} {
    %0 = mogg.shape.create() <shape = #mosh<ape[1024, 768]> : !mosh.ape> loc(#loc945)
    %1 = mogg.tensor.create(%arg0, %0) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024, 768]> : !mosh.ape> : !mogg.tensor loc(#loc945)
    %2 = mogg.shape.create() <shape = #mosh<ape[768, 1024]> : !mosh.ape> loc(#loc945)
    %3 = mogg.tensor.create(%arg1, %2) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[768, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc945)
    %4 = mogg.shape.create() <shape = #mosh<ape[1024, 1024]> : !mosh.ape> loc(#loc945)
    %5 = mogg.tensor.create(%arg2, %4) <device = "gpu", elementType = f16, io = Output, mut = true, shapeAttr = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc945)
    %6 = mogg.tensor.get_ptr(%5) : !mogg.tensor loc(#loc945)
    %7 = mogg.tensor.create.epilogue %4 (%val : f16, %idx : !map.index<2>) capturing {%cap = %5 : !mogg.tensor} ptr %6 computeOutputArg = true device = "gpu", elementType = f16, io = Output, mut = true {
      mogg.yield %val : f16 loc(#loc945)
    } loc(#loc945)
    mogg.with_trace {
      mogg.call.opaque @builtin_kernels.linalg.MatmulGPU[packed_b = false, transpose_b = false] inputs(%1, %3 : !mogg.tensor, !mogg.tensor) outputs(%7 : !mogg.tensor) context(%arg3 : !mogg.context) loc(#loc945)
      mogg.yield loc(#loc945)
    } loc(#loc945)
  } loc(#loc945)
  mogg.func @__static_broadcast_to_mul private (%arg0: !mogg.pointer loc(#loc944), %arg1: !mogg.pointer loc(#loc944), %arg2: !mogg.pointer loc(#loc944), %arg3: !mogg.context loc(#loc944)) attributes {abi = #mogg.abi<MOGG>, constantResources = [], device = "gpu", fusionInfo = #static_broadcast_to_mul} {
    %0 = mogg.shape.create() <shape = #mosh<ape[1024, 768]> : !mosh.ape> loc(#loc944)
    %1 = mogg.tensor.create(%arg0, %0) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024, 768]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %2 = mogg.shape.create() <shape = #mosh<ape[768]> : !mosh.ape> loc(#loc944)
    %3 = mogg.tensor.create(%arg1, %2) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[768]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %4 = mogg.tensor.create(%arg2, %0) <device = "gpu", elementType = f16, io = Output, mut = true, shapeAttr = #mosh<ape[1024, 768]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %5 = mogg.tensor.create.broadcast(%3) <elementType = f16, mut = false, outShape = #mosh<ape[1024, 768]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    mogg.with_trace {
      mogg.call.foreach @builtin_primitives.primitives._foreach shape(%0) context(%arg3) (%idx : !map.index<2>) capturing {%cap0 = %1 : !mogg.tensor, %cap1 = %4 : !mogg.tensor, %cap2 = %5 : !mogg.tensor} device = "gpu" {
        %6 = mogg.tensor.load %cap0[%idx] : !mogg.tensor, !map.index<2> -> f16 loc(#loc944)
        %7 = mogg.tensor.load %cap2[%idx] : !mogg.tensor, !map.index<2> -> f16 loc(#loc944)
        %8 = mogg.call.elementwise @builtin_kernels.elementwise.Mul(%6, %7) moOpName = "mo.mul" : f16, f16 -> f16 loc(#loc944)
        mogg.tensor.store %cap1[%idx] = %8 : !mogg.tensor, !map.index<2>, f16 loc(#loc944)
      } loc(#loc944)
      mogg.yield loc(#loc944)
    } loc(#loc944)
  } loc(#loc944)
} loc(#loc)

#loc = loc(unknown)
#loc944 = #mogg.profile_scope<"p", #loc>
#loc945 = #mogg.profile_scope<"y", #loc>
#matmul = #mogg.fusion<#mogg.fusion_leaf<"mo.matmul", loc = #loc944, sig = (!mo.tensor<[1024, 768], f16, gpu:0>, !mo.tensor<[768, 1024], f16, gpu:0, {layout = #mo.layout<KN>}>) -> !mo.tensor<[1024, 1024], f16, gpu:0>>>
#matmul1 = #mogg.fusion<#mogg.fusion_leaf<"mo.matmul", loc = #loc945, sig = (!mo.tensor<[1024, 1024], f16, gpu:0>, !mo.tensor<[1024, 1024], f16, gpu:0, {layout = #mo.layout<KN>}>) -> !mo.tensor<[1024, 1024], f16, gpu:0>>>
module attributes {mo.device_info_mapping = {cpu = #M.device_info<"cpu", "cpu", "unknown", "cpu">, gpu = #M.device_info<"gpu", "cuda", "sm_90a", "NVIDIA H200">}} {
  mgp.model @projection_chain : mof {argument_device_indices = [1 : ui32, 1 : ui32, 1 : ui32], argument_names = ["input0", "input1", "input2"], result_device_indices = [1 : ui32], result_names = ["output0"]} devices [#M.device_ref<"cpu", 0>, #M.device_ref<"gpu", 0>] init (%arg0: !mgp.opaque<"weights_registry"> loc(unknown), %arg1: !mgp.device_context<<"cpu", 0>> loc(unknown), %arg2: !mgp.device_context<<"gpu", 0>> loc(unknown)) {
  } execute (%arg0: !mef.chain loc(unknown), %arg1: !mgp.context loc(unknown), %arg2: !mgp.opaque<"weights_registry"> loc(unknown), %arg3: !mgp.device_context<<"cpu", 0>> loc(unknown), %arg4: !mgp.device_context<<"gpu", 0>> loc(unknown), %arg5: !mgp.tensor<1024x768xf16, <"gpu", 0>> loc(unknown), %arg6: !mgp.tensor<768x1024xf16, <"gpu", 0>> loc(unknown), %arg7: !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(unknown)) -> (!mef.chain, !mgp.tensor<1024x1024xf16, <"gpu", 0>>) {
    %0 = mgp.tensor.extract.buffer %arg5 : <1024x768xf16, <"gpu", 0>> loc(#loc944)
    %2 = mgp.tensor.extract.buffer %arg6 : <768x1024xf16, <"gpu", 0>> loc(#loc944)
    %idx2097152 = index.constant 2097152 loc(#loc944)
    %5 = mgp.buffer.alloc %arg0, %idx2097152, %arg4, align 256 : !mgp.buffer<<"gpu", 0>>, !mgp.device_context<<"gpu", 0>> loc(#loc944)
    %6 = mogg.routine.async dispatch(deferred) (%arg0, %0, %2, %5, %arg4) : (%arg8: !mef.chain loc(#loc944), %arg9: !mgp.buffer<<"gpu", 0>> loc(#loc944), %arg10: !mgp.buffer<<"gpu", 0>> loc(#loc944), %arg11: !mgp.buffer<<"gpu", 0>> loc(#loc944), %arg12: !mgp.device_context<<"gpu", 0>> loc(#loc944))  -> !mef.chain {
      mogg.call @__matmul %16, %18, %20, %22 : !mogg.pointer, !mogg.pointer, !mogg.pointer, !mogg.context loc(#loc944)
    }  fusionInfo = #matmul canBeFusedInto = true canFuseIntoOther = true inOutSignature = <"iiio."> isStructured = true {device = #M.device_ref<"gpu", 0>} loc(#loc944)
    %7 = mgp.tensor.create %6, %5, %4 : !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc944)
    %9 = mgp.tensor.extract.buffer %arg7 : <1024x1024xf16, <"gpu", 0>> loc(#loc945)
    %idx2097152_5 = index.constant 2097152 loc(#loc945)
    %12 = mgp.buffer.alloc %8, %idx2097152_5, %arg4, align 256 : !mgp.buffer<<"gpu", 0>>, !mgp.device_context<<"gpu", 0>> loc(#loc945)
    %13 = mogg.routine.async dispatch(deferred) (%8, %5, %9, %12, %arg4) : (%arg8: !mef.chain loc(#loc945), %arg9: !mgp.buffer<<"gpu", 0>> loc(#loc945), %arg10: !mgp.buffer<<"gpu", 0>> loc(#loc945), %arg11: !mgp.buffer<<"gpu", 0>> loc(#loc945), %arg12: !mgp.device_context<<"gpu", 0>> loc(#loc945))  -> !mef.chain {
      mogg.call @__matmul_0 %16, %18, %20, %22 : !mogg.pointer, !mogg.pointer, !mogg.pointer, !mogg.context loc(#loc945)
    }  fusionInfo = #matmul1 canBeFusedInto = true canFuseIntoOther = true inOutSignature = <"iiio."> isStructured = true {device = #M.device_ref<"gpu", 0>} loc(#loc945)
    %14 = mgp.tensor.create %13, %12, %11 : !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc945)
    mef.output %arg0, %14 : !mef.chain, !mgp.tensor<1024x1024xf16, <"gpu", 0>> loc(#loc)
  } loc(#loc)
  mogg.func @__matmul_0 private (%arg0: !mogg.pointer loc(#loc945), %arg1: !mogg.pointer loc(#loc945), %arg2: !mogg.pointer loc(#loc945), %arg3: !mogg.context loc(#loc945)) attributes {abi = #mogg.abi<MOGG>, constantResources = [], device = "gpu", fusionInfo = #matmul1} {
    %0 = mogg.shape.create() <shape = #mosh<ape[1024, 1024]> : !mosh.ape> loc(#loc945)
    %1 = mogg.tensor.create(%arg0, %0) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc945)
    %2 = mogg.tensor.create(%arg1, %0) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc945)
    %3 = mogg.tensor.create(%arg2, %0) <device = "gpu", elementType = f16, io = Output, mut = true, shapeAttr = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc945)
    %4 = mogg.tensor.get_ptr(%3) : !mogg.tensor loc(#loc945)
    %5 = mogg.tensor.create.epilogue %0 (%val : f16, %idx : !map.index<2>) capturing {%cap = %3 : !mogg.tensor} ptr %4 computeOutputArg = true device = "gpu", elementType = f16, io = Output, mut = true {
      mogg.yield %val : f16 loc(#loc945)
    } loc(#loc945)
    mogg.with_trace {
      mogg.call.opaque @builtin_kernels.linalg.MatmulGPU[packed_b = false, transpose_b = false] inputs(%1, %2 : !mogg.tensor, !mogg.tensor) outputs(%5 : !mogg.tensor) context(%arg3 : !mogg.context) loc(#loc945)
      mogg.yield loc(#loc945)
    } loc(#loc945)
  } loc(#loc945)
  mogg.func @__matmul private (%arg0: !mogg.pointer loc(#loc944), %arg1: !mogg.pointer loc(#loc944), %arg2: !mogg.pointer loc(#loc944), %arg3: !mogg.context loc(#loc944)) attributes {abi = #mogg.abi<MOGG>, constantResources = [], device = "gpu", fusionInfo = #matmul} {
    %0 = mogg.shape.create() <shape = #mosh<ape[1024, 768]> : !mosh.ape> loc(#loc944)
    %1 = mogg.tensor.create(%arg0, %0) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[1024, 768]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %2 = mogg.shape.create() <shape = #mosh<ape[768, 1024]> : !mosh.ape> loc(#loc944)
    %3 = mogg.tensor.create(%arg1, %2) <device = "gpu", elementType = f16, io = Input, mut = false, shapeAttr = #mosh<ape[768, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %4 = mogg.shape.create() <shape = #mosh<ape[1024, 1024]> : !mosh.ape> loc(#loc944)
    %5 = mogg.tensor.create(%arg2, %4) <device = "gpu", elementType = f16, io = Output, mut = true, shapeAttr = #mosh<ape[1024, 1024]> : !mosh.ape> : !mogg.tensor loc(#loc944)
    %6 = mogg.tensor.get_ptr(%5) : !mogg.tensor loc(#loc944)
    %7 = mogg.tensor.create.epilogue %4 (%val : f16, %idx : !map.index<2>) capturing {%cap = %5 : !mogg.tensor} ptr %6 computeOutputArg = true device = "gpu", elementType = f16, io = Output, mut = true {
      mogg.yield %val : f16 loc(#loc944)
    } loc(#loc944)
    mogg.with_trace {
      mogg.call.opaque @builtin_kernels.linalg.MatmulGPU[packed_b = false, transpose_b = false] inputs(%1, %3 : !mogg.tensor, !mogg.tensor) outputs(%7 : !mogg.tensor) context(%arg3 : !mogg.context) loc(#loc944)
      mogg.yield loc(#loc944)
    } loc(#loc944)
  } loc(#loc944)
} loc(#loc)

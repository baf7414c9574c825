#layout = #mo.layout<NK>
mgp.model @linear(%arg0: !mgp.buffer<<"cpu", 0>>, %arg1: !mgp.buffer<<"cpu", 0>>, %arg2: !mgp.buffer<<"cpu", 0>>, %arg3: !mgp.device_context<<"cpu", 0>>) -> !mgp.buffer<<"cpu", 0>> {
  // one buffer is allocated for the result, none for the projection
  %idx2097152 = index.constant 2097152
  %0 = mgp.buffer.alloc %arg3, %idx2097152, align 64 : !mgp.buffer<<"cpu", 0>>, !mgp.device_context<<"cpu", 0>>
  %1 = mgp.tensor.create %arg0 [1024, 768] : f16 {layout = #layout}
  mgp.generic.execute @__matmul_static_broadcast_to_add %arg0, %arg1, %arg2, %0 : !mgp.buffer<<"cpu", 0>>
  mgp.output %0 : !mgp.buffer<<"cpu", 0>>
}

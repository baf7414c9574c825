module {
  mo.graph @linear(%arg0: !mo.tensor<[1024, 768], f16>, %arg1: !mo.tensor<[1024, 768], f16>, %arg2: !mo.tensor<[1024], f16>) -> !mo.tensor<[1024, 1024], f16> attributes {_kernel_library_paths = [], counter = 3 : i64, inputParams = #kgen<param.decls[]>} {
    %0 = rmo.mo.transpose(%arg1) {x = 0 : si64, y = 1 : si64} : (!mo.tensor<[1024, 768], f16>) -> !mo.tensor<[768, 1024], f16>
    %1 = rmo.matmul(%arg0, %0) : (!mo.tensor<[1024, 768], f16>, !mo.tensor<[768, 1024], f16>) -> !mo.tensor<[1024, 1024], f16>
    %2 = rmo.add(%1, %arg2) : (!mo.tensor<[1024, 1024], f16>, !mo.tensor<[1024], f16>) -> !mo.tensor<[1024, 1024], f16>
    mo.output %2 : !mo.tensor<[1024, 1024], f16>
  }
}

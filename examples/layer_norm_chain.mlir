module @jit_layer_norm_chain attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024xf32>, %arg1: tensor<1024xf32>, %arg2: tensor<1024xf32>, %arg3: tensor<1024xf32>, %arg4: tensor<1024xf32>, %arg5: tensor<1024xf32>, %arg6: tensor<1024xf32>, %arg7: tensor<1024xf32>, %arg8: tensor<1024xf32>, %arg9: tensor<768x1024xf32>) -> (tensor<768x1024xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg9 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<768xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<768xf32>) -> tensor<768x1xf32>
    %cst_0 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<768x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %5 = stablehlo.subtract %arg9, %4 : tensor<768x1024xf32>
    %6 = chlo.square %5 : tensor<768x1024xf32> -> tensor<768x1024xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<768xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<768xf32>) -> tensor<768x1xf32>
    %cst_2 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<768x1xf32>
    %11 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %12 = stablehlo.subtract %arg9, %11 : tensor<768x1024xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %14 = stablehlo.add %10, %13 : tensor<768x1xf32>
    %15 = stablehlo.rsqrt %14 : tensor<768x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %17 = stablehlo.multiply %12, %16 : tensor<768x1024xf32>
    %18 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %20 = stablehlo.multiply %17, %19 : tensor<768x1024xf32>
    %21 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %23 = stablehlo.add %20, %22 : tensor<768x1024xf32>
    %24 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %26 = stablehlo.multiply %23, %25 : tensor<768x1024xf32>
    %27 = stablehlo.multiply %26, %26 : tensor<768x1024xf32>
    %28 = stablehlo.multiply %27, %26 : tensor<768x1024xf32>
    %cst_4 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %30 = stablehlo.multiply %29, %28 : tensor<768x1024xf32>
    %31 = stablehlo.add %26, %30 : tensor<768x1024xf32>
    %cst_5 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<768x1024xf32>
    %34 = stablehlo.tanh %33 : tensor<768x1024xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %36 = stablehlo.add %35, %34 : tensor<768x1024xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %38 = stablehlo.multiply %37, %36 : tensor<768x1024xf32>
    %39 = stablehlo.multiply %26, %38 : tensor<768x1024xf32>
    %40 = stablehlo.add %arg9, %39 : tensor<768x1024xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<768xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0] : (tensor<768xf32>) -> tensor<768x1xf32>
    %cst_9 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %44 = stablehlo.divide %42, %43 : tensor<768x1xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %46 = stablehlo.subtract %40, %45 : tensor<768x1024xf32>
    %47 = chlo.square %46 : tensor<768x1024xf32> -> tensor<768x1024xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<768xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<768xf32>) -> tensor<768x1xf32>
    %cst_11 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %51 = stablehlo.divide %49, %50 : tensor<768x1xf32>
    %52 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %53 = stablehlo.subtract %40, %52 : tensor<768x1024xf32>
    %cst_12 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %55 = stablehlo.add %51, %54 : tensor<768x1xf32>
    %56 = stablehlo.rsqrt %55 : tensor<768x1xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %58 = stablehlo.multiply %53, %57 : tensor<768x1024xf32>
    %59 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %61 = stablehlo.multiply %58, %60 : tensor<768x1024xf32>
    %62 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %64 = stablehlo.add %61, %63 : tensor<768x1024xf32>
    %65 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %67 = stablehlo.multiply %64, %66 : tensor<768x1024xf32>
    %68 = stablehlo.multiply %67, %67 : tensor<768x1024xf32>
    %69 = stablehlo.multiply %68, %67 : tensor<768x1024xf32>
    %cst_13 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %71 = stablehlo.multiply %70, %69 : tensor<768x1024xf32>
    %72 = stablehlo.add %67, %71 : tensor<768x1024xf32>
    %cst_14 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %74 = stablehlo.multiply %73, %72 : tensor<768x1024xf32>
    %75 = stablehlo.tanh %74 : tensor<768x1024xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %77 = stablehlo.add %76, %75 : tensor<768x1024xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %79 = stablehlo.multiply %78, %77 : tensor<768x1024xf32>
    %80 = stablehlo.multiply %67, %79 : tensor<768x1024xf32>
    %81 = stablehlo.add %40, %80 : tensor<768x1024xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %82 = stablehlo.reduce(%81 init: %cst_17) applies stablehlo.add across dimensions = [1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<768xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0] : (tensor<768xf32>) -> tensor<768x1xf32>
    %cst_18 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %85 = stablehlo.divide %83, %84 : tensor<768x1xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %87 = stablehlo.subtract %81, %86 : tensor<768x1024xf32>
    %88 = chlo.square %87 : tensor<768x1024xf32> -> tensor<768x1024xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %89 = stablehlo.reduce(%88 init: %cst_19) applies stablehlo.add across dimensions = [1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<768xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0] : (tensor<768xf32>) -> tensor<768x1xf32>
    %cst_20 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %92 = stablehlo.divide %90, %91 : tensor<768x1xf32>
    %93 = stablehlo.broadcast_in_dim %85, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %94 = stablehlo.subtract %81, %93 : tensor<768x1024xf32>
    %cst_21 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %95 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<768x1xf32>
    %96 = stablehlo.add %92, %95 : tensor<768x1xf32>
    %97 = stablehlo.rsqrt %96 : tensor<768x1xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0, 1] : (tensor<768x1xf32>) -> tensor<768x1024xf32>
    %99 = stablehlo.multiply %94, %98 : tensor<768x1024xf32>
    %100 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %102 = stablehlo.multiply %99, %101 : tensor<768x1024xf32>
    %103 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %105 = stablehlo.add %102, %104 : tensor<768x1024xf32>
    %106 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %107 = stablehlo.broadcast_in_dim %106, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<768x1024xf32>
    %108 = stablehlo.multiply %105, %107 : tensor<768x1024xf32>
    %109 = stablehlo.multiply %108, %108 : tensor<768x1024xf32>
    %110 = stablehlo.multiply %109, %108 : tensor<768x1024xf32>
    %cst_22 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %112 = stablehlo.multiply %111, %110 : tensor<768x1024xf32>
    %113 = stablehlo.add %108, %112 : tensor<768x1024xf32>
    %cst_23 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %115 = stablehlo.multiply %114, %113 : tensor<768x1024xf32>
    %116 = stablehlo.tanh %115 : tensor<768x1024xf32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %117 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %118 = stablehlo.add %117, %116 : tensor<768x1024xf32>
    %cst_25 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<768x1024xf32>
    %120 = stablehlo.multiply %119, %118 : tensor<768x1024xf32>
    %121 = stablehlo.multiply %108, %120 : tensor<768x1024xf32>
    %122 = stablehlo.add %81, %121 : tensor<768x1024xf32>
    return %122 : tensor<768x1024xf32>
  }
}

module @jit_transformer_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256xf32>, %arg1: tensor<1024x256xf32>, %arg2: tensor<256xf32>, %arg3: tensor<256xf32>, %arg4: tensor<256xf32>, %arg5: tensor<256xf32>, %arg6: tensor<256xf32>, %arg7: tensor<256x256xf32>, %arg8: tensor<768xf32>, %arg9: tensor<256x768xf32>, %arg10: tensor<1024xf32>, %arg11: tensor<256x1024xf32>, %arg12: tensor<1x192x256xf32>) -> (tensor<1x192x256xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<192x192xi1>
    %1 = call @tril(%0) : (tensor<192x192xi1>) -> tensor<192x192xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %2 = call @_where(%1, %cst, %cst_0) : (tensor<192x192xi1>, tensor<f32>, tensor<f32>) -> tensor<192x192xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%arg12 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<1x192x256xf32>, tensor<f32>) -> tensor<1x192xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x192xf32>) -> tensor<1x192x1xf32>
    %cst_2 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x192x1xf32>
    %6 = stablehlo.divide %4, %5 : tensor<1x192x1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x192x1xf32>) -> tensor<1x192x256xf32>
    %8 = stablehlo.subtract %arg12, %7 : tensor<1x192x256xf32>
    %9 = chlo.square %8 : tensor<1x192x256xf32> -> tensor<1x192x256xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<1x192x256xf32>, tensor<f32>) -> tensor<1x192xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x192xf32>) -> tensor<1x192x1xf32>
    %cst_4 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x192x1xf32>
    %13 = stablehlo.divide %11, %12 : tensor<1x192x1xf32>
    %14 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x192x1xf32>) -> tensor<1x192x256xf32>
    %15 = stablehlo.subtract %arg12, %14 : tensor<1x192x256xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x192x1xf32>
    %17 = stablehlo.add %13, %16 : tensor<1x192x1xf32>
    %18 = stablehlo.rsqrt %17 : tensor<1x192x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<1x192x1xf32>) -> tensor<1x192x256xf32>
    %20 = stablehlo.multiply %15, %19 : tensor<1x192x256xf32>
    %21 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<1x192x256xf32>
    %23 = stablehlo.multiply %20, %22 : tensor<1x192x256xf32>
    %24 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<1x192x256xf32>
    %26 = stablehlo.add %23, %25 : tensor<1x192x256xf32>
    %27 = stablehlo.dot_general %26, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x192x256xf32>, tensor<256x768xf32>) -> tensor<1x192x768xf32>
    %28 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<1x192x768xf32>
    %30 = stablehlo.add %27, %29 : tensor<1x192x768xf32>
    %31 = stablehlo.slice %30 [0:1, 0:192, 0:256] : (tensor<1x192x768xf32>) -> tensor<1x192x256xf32>
    %32 = stablehlo.slice %30 [0:1, 0:192, 256:512] : (tensor<1x192x768xf32>) -> tensor<1x192x256xf32>
    %33 = stablehlo.slice %30 [0:1, 0:192, 512:768] : (tensor<1x192x768xf32>) -> tensor<1x192x256xf32>
    %34 = stablehlo.reshape %31 : (tensor<1x192x256xf32>) -> tensor<1x192x8x32xf32>
    %35 = stablehlo.transpose %34, dims = [0, 2, 1, 3] : (tensor<1x192x8x32xf32>) -> tensor<1x8x192x32xf32>
    %36 = stablehlo.reshape %32 : (tensor<1x192x256xf32>) -> tensor<1x192x8x32xf32>
    %37 = stablehlo.transpose %36, dims = [0, 2, 1, 3] : (tensor<1x192x8x32xf32>) -> tensor<1x8x192x32xf32>
    %38 = stablehlo.reshape %33 : (tensor<1x192x256xf32>) -> tensor<1x192x8x32xf32>
    %39 = stablehlo.transpose %38, dims = [0, 2, 1, 3] : (tensor<1x192x8x32xf32>) -> tensor<1x8x192x32xf32>
    %40 = stablehlo.dot_general %35, %37, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x8x192x32xf32>, tensor<1x8x192x32xf32>) -> tensor<1x8x192x192xf32>
    %cst_6 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x8x192x192xf32>
    %42 = stablehlo.divide %40, %41 : tensor<1x8x192x192xf32>
    %43 = stablehlo.convert %2 : tensor<192x192xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [2, 3] : (tensor<192x192xf32>) -> tensor<1x1x192x192xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<1x1x192x192xf32>) -> tensor<1x8x192x192xf32>
    %46 = stablehlo.add %42, %45 : tensor<1x8x192x192xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %47 = stablehlo.reduce(%46 init: %cst_7) applies stablehlo.maximum across dimensions = [3] : (tensor<1x8x192x192xf32>, tensor<f32>) -> tensor<1x8x192xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x8x192xf32>
    %49 = stablehlo.maximum %48, %47 : tensor<1x8x192xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<1x8x192xf32>) -> tensor<1x8x192x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<1x8x192x1xf32>) -> tensor<1x8x192x192xf32>
    %52 = stablehlo.subtract %46, %51 : tensor<1x8x192x192xf32>
    %53 = stablehlo.exponential %52 : tensor<1x8x192x192xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%53 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<1x8x192x192xf32>, tensor<f32>) -> tensor<1x8x192xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2] : (tensor<1x8x192xf32>) -> tensor<1x8x192x1xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<1x8x192x1xf32>) -> tensor<1x8x192x192xf32>
    %57 = stablehlo.divide %53, %56 : tensor<1x8x192x192xf32>
    %58 = stablehlo.dot_general %57, %39, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x192x192xf32>, tensor<1x8x192x32xf32>) -> tensor<1x8x192x32xf32>
    %59 = stablehlo.transpose %58, dims = [0, 2, 1, 3] : (tensor<1x8x192x32xf32>) -> tensor<1x192x8x32xf32>
    %60 = stablehlo.reshape %59 : (tensor<1x192x8x32xf32>) -> tensor<1x192x256xf32>
    %61 = stablehlo.dot_general %60, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x192x256xf32>, tensor<256x256xf32>) -> tensor<1x192x256xf32>
    %62 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<1x192x256xf32>
    %64 = stablehlo.add %61, %63 : tensor<1x192x256xf32>
    %65 = stablehlo.add %arg12, %64 : tensor<1x192x256xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %66 = stablehlo.reduce(%65 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<1x192x256xf32>, tensor<f32>) -> tensor<1x192xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1] : (tensor<1x192xf32>) -> tensor<1x192x1xf32>
    %cst_11 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1x192x1xf32>
    %69 = stablehlo.divide %67, %68 : tensor<1x192x1xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<1x192x1xf32>) -> tensor<1x192x256xf32>
    %71 = stablehlo.subtract %65, %70 : tensor<1x192x256xf32>
    %72 = chlo.square %71 : tensor<1x192x256xf32> -> tensor<1x192x256xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %73 = stablehlo.reduce(%72 init: %cst_12) applies stablehlo.add across dimensions = [2] : (tensor<1x192x256xf32>, tensor<f32>) -> tensor<1x192xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1] : (tensor<1x192xf32>) -> tensor<1x192x1xf32>
    %cst_13 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<1x192x1xf32>
    %76 = stablehlo.divide %74, %75 : tensor<1x192x1xf32>
    %77 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<1x192x1xf32>) -> tensor<1x192x256xf32>
    %78 = stablehlo.subtract %65, %77 : tensor<1x192x256xf32>
    %cst_14 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<1x192x1xf32>
    %80 = stablehlo.add %76, %79 : tensor<1x192x1xf32>
    %81 = stablehlo.rsqrt %80 : tensor<1x192x1xf32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0, 1, 2] : (tensor<1x192x1xf32>) -> tensor<1x192x256xf32>
    %83 = stablehlo.multiply %78, %82 : tensor<1x192x256xf32>
    %84 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %85 = stablehlo.broadcast_in_dim %84, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<1x192x256xf32>
    %86 = stablehlo.multiply %83, %85 : tensor<1x192x256xf32>
    %87 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %88 = stablehlo.broadcast_in_dim %87, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<1x192x256xf32>
    %89 = stablehlo.add %86, %88 : tensor<1x192x256xf32>
    %90 = stablehlo.dot_general %89, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x192x256xf32>, tensor<256x1024xf32>) -> tensor<1x192x1024xf32>
    %91 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %92 = stablehlo.broadcast_in_dim %91, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<1x192x1024xf32>
    %93 = stablehlo.add %90, %92 : tensor<1x192x1024xf32>
    %94 = stablehlo.multiply %93, %93 : tensor<1x192x1024xf32>
    %95 = stablehlo.multiply %94, %93 : tensor<1x192x1024xf32>
    %cst_15 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<1x192x1024xf32>
    %97 = stablehlo.multiply %96, %95 : tensor<1x192x1024xf32>
    %98 = stablehlo.add %93, %97 : tensor<1x192x1024xf32>
    %cst_16 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<1x192x1024xf32>
    %100 = stablehlo.multiply %99, %98 : tensor<1x192x1024xf32>
    %101 = stablehlo.tanh %100 : tensor<1x192x1024xf32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %102 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<1x192x1024xf32>
    %103 = stablehlo.add %102, %101 : tensor<1x192x1024xf32>
    %cst_18 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<1x192x1024xf32>
    %105 = stablehlo.multiply %104, %103 : tensor<1x192x1024xf32>
    %106 = stablehlo.multiply %93, %105 : tensor<1x192x1024xf32>
    %107 = stablehlo.dot_general %106, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x192x1024xf32>, tensor<1024x256xf32>) -> tensor<1x192x256xf32>
    %108 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<1x192x256xf32>
    %110 = stablehlo.add %107, %109 : tensor<1x192x256xf32>
    %111 = stablehlo.add %65, %110 : tensor<1x192x256xf32>
    return %111 : tensor<1x192x256xf32>
  }
  func.func private @tril(%arg0: tensor<192x192xi1>) -> tensor<192x192xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<192x192xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<192x192xi32>
    %2 = stablehlo.add %0, %1 : tensor<192x192xi32>
    %3 = stablehlo.iota dim = 1 : tensor<192x192xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<192x192xi32>, tensor<192x192xi32>) -> tensor<192x192xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<192x192xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<192x192xi1>, tensor<192x192xi1>
    return %6 : tensor<192x192xi1>
  }
  func.func private @_where(%arg0: tensor<192x192xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<192x192xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<192x192xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<192x192xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<192x192xi1>, tensor<192x192xf32>
    return %2 : tensor<192x192xf32>
  }
}

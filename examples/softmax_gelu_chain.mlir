module @jit_softmax_gelu_chain attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<320x320xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8x320x320xf32>, %arg3: tensor<8x320x320xf32>) -> (tensor<8x320x320xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<8x1x1xf32>) -> tensor<8x320x320xf32>
    %2 = stablehlo.multiply %arg2, %1 : tensor<8x320x320xf32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<320x320xf32>) -> tensor<1x320x320xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<1x320x320xf32>) -> tensor<8x320x320xf32>
    %5 = stablehlo.add %2, %4 : tensor<8x320x320xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<8x320x320xf32>, tensor<f32>) -> tensor<8x320xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x320xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<8x320xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<8x320xf32>) -> tensor<8x320x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<8x320x1xf32>) -> tensor<8x320x320xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x320x320xf32>
    %12 = stablehlo.exponential %11 : tensor<8x320x320xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<8x320x320xf32>, tensor<f32>) -> tensor<8x320xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<8x320xf32>) -> tensor<8x320x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<8x320x1xf32>) -> tensor<8x320x320xf32>
    %16 = stablehlo.divide %12, %15 : tensor<8x320x320xf32>
    %17 = stablehlo.transpose %arg3, dims = [0, 2, 1] : (tensor<8x320x320xf32>) -> tensor<8x320x320xf32>
    %18 = stablehlo.multiply %16, %17 : tensor<8x320x320xf32>
    %19 = stablehlo.multiply %18, %18 : tensor<8x320x320xf32>
    %20 = stablehlo.multiply %19, %18 : tensor<8x320x320xf32>
    %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x320x320xf32>
    %22 = stablehlo.multiply %21, %20 : tensor<8x320x320xf32>
    %23 = stablehlo.add %18, %22 : tensor<8x320x320xf32>
    %cst_3 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x320x320xf32>
    %25 = stablehlo.multiply %24, %23 : tensor<8x320x320xf32>
    %26 = stablehlo.tanh %25 : tensor<8x320x320xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x320x320xf32>
    %28 = stablehlo.add %27, %26 : tensor<8x320x320xf32>
    %cst_5 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x320x320xf32>
    %30 = stablehlo.multiply %29, %28 : tensor<8x320x320xf32>
    %31 = stablehlo.multiply %18, %30 : tensor<8x320x320xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_6) applies stablehlo.maximum across dimensions = [1] : (tensor<8x320x320xf32>, tensor<f32>) -> tensor<8x320xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 2] : (tensor<8x320xf32>) -> tensor<8x1x320xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<8x1x320xf32>) -> tensor<8x320x320xf32>
    %35 = stablehlo.subtract %31, %34 : tensor<8x320x320xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %36 = stablehlo.reduce(%35 init: %cst_7) applies stablehlo.maximum across dimensions = [2] : (tensor<8x320x320xf32>, tensor<f32>) -> tensor<8x320xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x320xf32>
    %38 = stablehlo.maximum %37, %36 : tensor<8x320xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1] : (tensor<8x320xf32>) -> tensor<8x320x1xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2] : (tensor<8x320x1xf32>) -> tensor<8x320x320xf32>
    %41 = stablehlo.subtract %35, %40 : tensor<8x320x320xf32>
    %42 = stablehlo.exponential %41 : tensor<8x320x320xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<8x320x320xf32>, tensor<f32>) -> tensor<8x320xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<8x320xf32>) -> tensor<8x320x1xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<8x320x1xf32>) -> tensor<8x320x320xf32>
    %46 = stablehlo.divide %42, %45 : tensor<8x320x320xf32>
    return %46 : tensor<8x320x320xf32>
  }
}

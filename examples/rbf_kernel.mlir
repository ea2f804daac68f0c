module @jit_rbf_kernel attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1536x64xf32>, %arg1: tensor<1536x16xf32>, %arg2: tensor<512x64xf32>) -> (tensor<512x1536xf32> {jax.result_info = "result[0]"}, tensor<512x16xf32> {jax.result_info = "result[1]"}) {
    %0 = chlo.square %arg2 : tensor<512x64xf32> -> tensor<512x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
    %3 = chlo.square %arg0 : tensor<1536x64xf32> -> tensor<1536x64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<1536x64xf32>, tensor<f32>) -> tensor<1536xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<1536xf32>) -> tensor<1x1536xf32>
    %6 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x1536xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x1536xf32>) -> tensor<512x1536xf32>
    %8 = stablehlo.add %6, %7 : tensor<512x1536xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<512x64xf32>
    %10 = stablehlo.multiply %9, %arg2 : tensor<512x64xf32>
    %11 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<1536x64xf32>) -> tensor<64x1536xf32>
    %12 = stablehlo.dot_general %10, %11, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x64xf32>, tensor<64x1536xf32>) -> tensor<512x1536xf32>
    %13 = stablehlo.subtract %8, %12 : tensor<512x1536xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<512x1536xf32>
    %15 = stablehlo.maximum %13, %14 : tensor<512x1536xf32>
    %16 = stablehlo.negate %15 : tensor<512x1536xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%15 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x1536xf32>, tensor<f32>) -> tensor<f32>
    %cst_4 = stablehlo.constant dense<7.864320e+05> : tensor<f32>
    %18 = stablehlo.divide %17, %cst_4 : tensor<f32>
    %cst_5 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %19 = stablehlo.add %18, %cst_5 : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<512x1536xf32>
    %21 = stablehlo.divide %16, %20 : tensor<512x1536xf32>
    %22 = stablehlo.exponential %21 : tensor<512x1536xf32>
    %23 = stablehlo.dot_general %22, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x1536xf32>, tensor<1536x16xf32>) -> tensor<512x16xf32>
    return %22, %23 : tensor<512x1536xf32>, tensor<512x16xf32>
  }
}

module @jit_keras_separable_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x1x32x128xf32>, %arg1: tensor<128xf32>, %arg2: tensor<3x3x128x1xf32>, %arg3: tensor<128xf32>, %arg4: tensor<128x32xf32>, %arg5: tensor<32xf32>, %arg6: tensor<32x128xf32>, %arg7: tensor<128xf32>, %arg8: tensor<1x1x128x32xf32>, %arg9: tensor<32xf32>, %arg10: tensor<1x28x28x32xf32>) -> (tensor<1x28x28x32xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg10, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x32xf32>, tensor<1x1x32x128xf32>) -> tensor<1x28x28x128xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<128xf32>) -> tensor<1x1x1x128xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %3 = stablehlo.add %0, %2 : tensor<1x28x28x128xf32>
    %4 = call @relu6(%3) : (tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
    %5 = stablehlo.reshape %arg2 : (tensor<3x3x128x1xf32>) -> tensor<3x3x1x128xf32>
    %6 = stablehlo.convolution(%4, %5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 128 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x128xf32>, tensor<3x3x1x128xf32>) -> tensor<1x28x28x128xf32>
    %7 = stablehlo.reshape %arg3 : (tensor<128xf32>) -> tensor<1x1x1x128xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %9 = stablehlo.add %6, %8 : tensor<1x28x28x128xf32>
    %10 = call @relu6(%9) : (tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x28x28x128xf32>, tensor<f32>) -> tensor<1x128xf32>
    %cst_0 = stablehlo.constant dense<7.840000e+02> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x128xf32>
    %13 = stablehlo.divide %11, %12 : tensor<1x128xf32>
    %14 = stablehlo.dot_general %13, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
    %15 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %16 = stablehlo.add %14, %15 : tensor<1x32xf32>
    %17 = call @silu(%16) : (tensor<1x32xf32>) -> tensor<1x32xf32>
    %18 = stablehlo.dot_general %17, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x32xf32>, tensor<32x128xf32>) -> tensor<1x128xf32>
    %19 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %20 = stablehlo.add %18, %19 : tensor<1x128xf32>
    %21 = stablehlo.negate %20 : tensor<1x128xf32>
    %22 = stablehlo.exponential %21 : tensor<1x128xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x128xf32>
    %24 = stablehlo.add %23, %22 : tensor<1x128xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x128xf32>
    %26 = stablehlo.divide %25, %24 : tensor<1x128xf32>
    %27 = stablehlo.reshape %26 : (tensor<1x128xf32>) -> tensor<1x1x1x128xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %29 = stablehlo.multiply %10, %28 : tensor<1x28x28x128xf32>
    %30 = stablehlo.convolution(%29, %arg8) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x128xf32>, tensor<1x1x128x32xf32>) -> tensor<1x28x28x32xf32>
    %31 = stablehlo.reshape %arg9 : (tensor<32xf32>) -> tensor<1x1x1x32xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<1x1x1x32xf32>) -> tensor<1x28x28x32xf32>
    %33 = stablehlo.add %30, %32 : tensor<1x28x28x32xf32>
    %34 = stablehlo.add %arg10, %33 : tensor<1x28x28x32xf32>
    return %34 : tensor<1x28x28x32xf32>
  }
  func.func private @relu6(%arg0: tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x28x28x128xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x28x28x128xf32>
    %cst_0 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x28x28x128xf32>
    %3 = stablehlo.minimum %1, %2 : tensor<1x28x28x128xf32>
    return %3 : tensor<1x28x28x128xf32>
  }
  func.func private @silu(%arg0: tensor<1x32xf32>) -> tensor<1x32xf32> {
    %0 = stablehlo.negate %arg0 : tensor<1x32xf32>
    %1 = stablehlo.exponential %0 : tensor<1x32xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x32xf32>
    %3 = stablehlo.add %2, %1 : tensor<1x32xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x32xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x32xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x32xf32>
    return %6 : tensor<1x32xf32>
  }
}

module @jit_conv_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x128x128xf32>, %arg1: tensor<1x1x128x512xf32>, %arg2: tensor<128xf32>, %arg3: tensor<128xf32>, %arg4: tensor<128xf32>, %arg5: tensor<128xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512xf32>, %arg8: tensor<1x1x512x128xf32>, %arg9: tensor<1x28x28x512xf32>) -> (tensor<1x28x28x512xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg9, %arg8) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x512xf32>, tensor<1x1x512x128xf32>) -> tensor<1x28x28x128xf32>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<128xf32>) -> tensor<1x1x1x128xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %3 = stablehlo.multiply %0, %2 : tensor<1x28x28x128xf32>
    %4 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<128xf32>) -> tensor<1x1x1x128xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %6 = stablehlo.add %3, %5 : tensor<1x28x28x128xf32>
    %7 = call @relu(%6) : (tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
    %8 = stablehlo.convolution(%7, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x128xf32>, tensor<3x3x128x128xf32>) -> tensor<1x28x28x128xf32>
    %9 = stablehlo.broadcast_in_dim %arg5, dims = [3] : (tensor<128xf32>) -> tensor<1x1x1x128xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %11 = stablehlo.multiply %8, %10 : tensor<1x28x28x128xf32>
    %12 = stablehlo.broadcast_in_dim %arg4, dims = [3] : (tensor<128xf32>) -> tensor<1x1x1x128xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x128xf32>) -> tensor<1x28x28x128xf32>
    %14 = stablehlo.add %11, %13 : tensor<1x28x28x128xf32>
    %15 = call @relu(%14) : (tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
    %16 = stablehlo.convolution(%15, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x128xf32>, tensor<1x1x128x512xf32>) -> tensor<1x28x28x512xf32>
    %17 = stablehlo.broadcast_in_dim %arg7, dims = [3] : (tensor<512xf32>) -> tensor<1x1x1x512xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x1x512xf32>) -> tensor<1x28x28x512xf32>
    %19 = stablehlo.multiply %16, %18 : tensor<1x28x28x512xf32>
    %20 = stablehlo.add %arg9, %19 : tensor<1x28x28x512xf32>
    %21 = stablehlo.broadcast_in_dim %arg6, dims = [3] : (tensor<512xf32>) -> tensor<1x1x1x512xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x1x1x512xf32>) -> tensor<1x28x28x512xf32>
    %23 = stablehlo.add %20, %22 : tensor<1x28x28x512xf32>
    %24 = call @relu_0(%23) : (tensor<1x28x28x512xf32>) -> tensor<1x28x28x512xf32>
    return %24 : tensor<1x28x28x512xf32>
  }
  func.func private @relu(%arg0: tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x28x28x128xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x28x28x128xf32>
    return %1 : tensor<1x28x28x128xf32>
  }
  func.func private @relu_0(%arg0: tensor<1x28x28x512xf32>) -> tensor<1x28x28x512xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x28x28x512xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x28x28x512xf32>
    return %1 : tensor<1x28x28x512xf32>
  }
}

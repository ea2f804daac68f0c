module @jit_group_norm_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x64x64xf32>, %arg1: tensor<3x3x64x64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<128x64xf32>, %arg8: tensor<1x48x48x64xf32>, %arg9: tensor<1x128xf32>) -> (tensor<1x48x48x64xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg8 : (tensor<1x48x48x64xf32>) -> tensor<1x2304x8x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1, 3] : (tensor<1x2304x8x8xf32>, tensor<f32>) -> tensor<1x8xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8x1xf32>
    %cst_0 = stablehlo.constant dense<1.843200e+04> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1x8x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<1x1x8x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x8x1xf32>) -> tensor<1x2304x8x8xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<1x2304x8x8xf32>
    %7 = chlo.square %6 : tensor<1x2304x8x8xf32> -> tensor<1x2304x8x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1, 3] : (tensor<1x2304x8x8xf32>, tensor<f32>) -> tensor<1x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8x1xf32>
    %cst_2 = stablehlo.constant dense<1.843200e+04> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x1x8x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<1x1x8x1xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x8x1xf32>) -> tensor<1x2304x8x8xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<1x2304x8x8xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x1x8x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<1x1x8x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<1x1x8x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x1x8x1xf32>) -> tensor<1x2304x8x8xf32>
    %18 = stablehlo.multiply %13, %17 : tensor<1x2304x8x8xf32>
    %19 = stablehlo.reshape %18 : (tensor<1x2304x8x8xf32>) -> tensor<1x48x48x64xf32>
    %20 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x48x48x64xf32>
    %22 = stablehlo.multiply %19, %21 : tensor<1x48x48x64xf32>
    %23 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x48x48x64xf32>
    %25 = stablehlo.add %22, %24 : tensor<1x48x48x64xf32>
    %26 = call @silu(%25) : (tensor<1x48x48x64xf32>) -> tensor<1x48x48x64xf32>
    %27 = stablehlo.convolution(%26, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x48x48x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x48x48x64xf32>
    %28 = call @silu_0(%arg9) : (tensor<1x128xf32>) -> tensor<1x128xf32>
    %29 = stablehlo.dot_general %28, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x128xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
    %30 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %31 = stablehlo.add %29, %30 : tensor<1x64xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 3] : (tensor<1x64xf32>) -> tensor<1x1x1x64xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x48x48x64xf32>
    %34 = stablehlo.add %27, %33 : tensor<1x48x48x64xf32>
    %35 = stablehlo.reshape %34 : (tensor<1x48x48x64xf32>) -> tensor<1x2304x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%35 init: %cst_4) applies stablehlo.add across dimensions = [1, 3] : (tensor<1x2304x8x8xf32>, tensor<f32>) -> tensor<1x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8x1xf32>
    %cst_5 = stablehlo.constant dense<1.843200e+04> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x1x8x1xf32>
    %39 = stablehlo.divide %37, %38 : tensor<1x1x8x1xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2, 3] : (tensor<1x1x8x1xf32>) -> tensor<1x2304x8x8xf32>
    %41 = stablehlo.subtract %35, %40 : tensor<1x2304x8x8xf32>
    %42 = chlo.square %41 : tensor<1x2304x8x8xf32> -> tensor<1x2304x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_6) applies stablehlo.add across dimensions = [1, 3] : (tensor<1x2304x8x8xf32>, tensor<f32>) -> tensor<1x8xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8x1xf32>
    %cst_7 = stablehlo.constant dense<1.843200e+04> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x1x8x1xf32>
    %46 = stablehlo.divide %44, %45 : tensor<1x1x8x1xf32>
    %47 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2, 3] : (tensor<1x1x8x1xf32>) -> tensor<1x2304x8x8xf32>
    %48 = stablehlo.subtract %35, %47 : tensor<1x2304x8x8xf32>
    %cst_8 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x1x8x1xf32>
    %50 = stablehlo.add %46, %49 : tensor<1x1x8x1xf32>
    %51 = stablehlo.rsqrt %50 : tensor<1x1x8x1xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<1x1x8x1xf32>) -> tensor<1x2304x8x8xf32>
    %53 = stablehlo.multiply %48, %52 : tensor<1x2304x8x8xf32>
    %54 = stablehlo.reshape %53 : (tensor<1x2304x8x8xf32>) -> tensor<1x48x48x64xf32>
    %55 = stablehlo.broadcast_in_dim %arg5, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x48x48x64xf32>
    %57 = stablehlo.multiply %54, %56 : tensor<1x48x48x64xf32>
    %58 = stablehlo.broadcast_in_dim %arg4, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x48x48x64xf32>
    %60 = stablehlo.add %57, %59 : tensor<1x48x48x64xf32>
    %61 = call @silu(%60) : (tensor<1x48x48x64xf32>) -> tensor<1x48x48x64xf32>
    %62 = stablehlo.convolution(%61, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x48x48x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x48x48x64xf32>
    %63 = stablehlo.add %arg8, %62 : tensor<1x48x48x64xf32>
    return %63 : tensor<1x48x48x64xf32>
  }
  func.func private @silu(%arg0: tensor<1x48x48x64xf32>) -> tensor<1x48x48x64xf32> {
    %0 = stablehlo.negate %arg0 : tensor<1x48x48x64xf32>
    %1 = stablehlo.exponential %0 : tensor<1x48x48x64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x48x48x64xf32>
    %3 = stablehlo.add %2, %1 : tensor<1x48x48x64xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x48x48x64xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x48x48x64xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x48x48x64xf32>
    return %6 : tensor<1x48x48x64xf32>
  }
  func.func private @silu_0(%arg0: tensor<1x128xf32>) -> tensor<1x128xf32> {
    %0 = stablehlo.negate %arg0 : tensor<1x128xf32>
    %1 = stablehlo.exponential %0 : tensor<1x128xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x128xf32>
    %3 = stablehlo.add %2, %1 : tensor<1x128xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x128xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x128xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x128xf32>
    return %6 : tensor<1x128xf32>
  }
}

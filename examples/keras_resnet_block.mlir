module @jit_keras_resnet_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x64x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<3x3x64x64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64xf32>, %arg6: tensor<3x3x64x64xf32>, %arg7: tensor<64xf32>, %arg8: tensor<64xf32>, %arg9: tensor<3x3x64x64xf32>, %arg10: tensor<64xf32>, %arg11: tensor<64xf32>, %arg12: tensor<64xf32>, %arg13: tensor<64xf32>, %arg14: tensor<64xf32>, %arg15: tensor<64xf32>, %arg16: tensor<64xf32>, %arg17: tensor<64xf32>, %arg18: tensor<64xf32>, %arg19: tensor<64xf32>, %arg20: tensor<1x32x32x64xf32>) -> (tensor<1x64xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg20, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x32x32x64xf32>
    %1 = stablehlo.reshape %arg12 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %2 = stablehlo.reshape %arg13 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %cst = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x64xf32>
    %4 = stablehlo.add %2, %3 : tensor<1x1x1x64xf32>
    %5 = stablehlo.rsqrt %4 : tensor<1x1x1x64xf32>
    %6 = stablehlo.reshape %arg1 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %7 = stablehlo.multiply %5, %6 : tensor<1x1x1x64xf32>
    %8 = stablehlo.negate %1 : tensor<1x1x1x64xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<1x1x1x64xf32>
    %10 = stablehlo.reshape %arg2 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %11 = stablehlo.add %9, %10 : tensor<1x1x1x64xf32>
    %12 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %13 = stablehlo.multiply %0, %12 : tensor<1x32x32x64xf32>
    %14 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %15 = stablehlo.add %13, %14 : tensor<1x32x32x64xf32>
    %16 = call @relu(%15) : (tensor<1x32x32x64xf32>) -> tensor<1x32x32x64xf32>
    %17 = stablehlo.convolution(%16, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x32x32x64xf32>
    %18 = stablehlo.reshape %arg14 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %19 = stablehlo.reshape %arg15 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1x1x64xf32>
    %21 = stablehlo.add %19, %20 : tensor<1x1x1x64xf32>
    %22 = stablehlo.rsqrt %21 : tensor<1x1x1x64xf32>
    %23 = stablehlo.reshape %arg4 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %24 = stablehlo.multiply %22, %23 : tensor<1x1x1x64xf32>
    %25 = stablehlo.negate %18 : tensor<1x1x1x64xf32>
    %26 = stablehlo.multiply %25, %24 : tensor<1x1x1x64xf32>
    %27 = stablehlo.reshape %arg5 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %28 = stablehlo.add %26, %27 : tensor<1x1x1x64xf32>
    %29 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %30 = stablehlo.multiply %17, %29 : tensor<1x32x32x64xf32>
    %31 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %32 = stablehlo.add %30, %31 : tensor<1x32x32x64xf32>
    %33 = stablehlo.add %arg20, %32 : tensor<1x32x32x64xf32>
    %34 = call @relu(%33) : (tensor<1x32x32x64xf32>) -> tensor<1x32x32x64xf32>
    %35 = stablehlo.convolution(%34, %arg6) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x32x32x64xf32>
    %36 = stablehlo.reshape %arg16 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %37 = stablehlo.reshape %arg17 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %cst_1 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x1x1x64xf32>
    %39 = stablehlo.add %37, %38 : tensor<1x1x1x64xf32>
    %40 = stablehlo.rsqrt %39 : tensor<1x1x1x64xf32>
    %41 = stablehlo.reshape %arg7 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %42 = stablehlo.multiply %40, %41 : tensor<1x1x1x64xf32>
    %43 = stablehlo.negate %36 : tensor<1x1x1x64xf32>
    %44 = stablehlo.multiply %43, %42 : tensor<1x1x1x64xf32>
    %45 = stablehlo.reshape %arg8 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %46 = stablehlo.add %44, %45 : tensor<1x1x1x64xf32>
    %47 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %48 = stablehlo.multiply %35, %47 : tensor<1x32x32x64xf32>
    %49 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %50 = stablehlo.add %48, %49 : tensor<1x32x32x64xf32>
    %51 = call @relu(%50) : (tensor<1x32x32x64xf32>) -> tensor<1x32x32x64xf32>
    %52 = stablehlo.convolution(%51, %arg9) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x32x32x64xf32>
    %53 = stablehlo.reshape %arg18 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %54 = stablehlo.reshape %arg19 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x1x1x64xf32>
    %56 = stablehlo.add %54, %55 : tensor<1x1x1x64xf32>
    %57 = stablehlo.rsqrt %56 : tensor<1x1x1x64xf32>
    %58 = stablehlo.reshape %arg10 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %59 = stablehlo.multiply %57, %58 : tensor<1x1x1x64xf32>
    %60 = stablehlo.negate %53 : tensor<1x1x1x64xf32>
    %61 = stablehlo.multiply %60, %59 : tensor<1x1x1x64xf32>
    %62 = stablehlo.reshape %arg11 : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %63 = stablehlo.add %61, %62 : tensor<1x1x1x64xf32>
    %64 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %65 = stablehlo.multiply %52, %64 : tensor<1x32x32x64xf32>
    %66 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x32x32x64xf32>
    %67 = stablehlo.add %65, %66 : tensor<1x32x32x64xf32>
    %68 = stablehlo.add %34, %67 : tensor<1x32x32x64xf32>
    %69 = call @relu(%68) : (tensor<1x32x32x64xf32>) -> tensor<1x32x32x64xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.reduce(%69 init: %cst_3) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x32x32x64xf32>, tensor<f32>) -> tensor<1x64xf32>
    %cst_4 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %72 = stablehlo.divide %70, %71 : tensor<1x64xf32>
    return %72 : tensor<1x64xf32>
  }
  func.func private @relu(%arg0: tensor<1x32x32x64xf32>) -> tensor<1x32x32x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x32x32x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x32x32x64xf32>
    return %1 : tensor<1x32x32x64xf32>
  }
}

module @jit_lstm_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3072xf32>, %arg1: tensor<768x3072xf32>, %arg2: tensor<768x3072xf32>, %arg3: tensor<3072xf32>, %arg4: tensor<768x3072xf32>, %arg5: tensor<768x3072xf32>, %arg6: tensor<2x768xf32>, %arg7: tensor<2x768xf32>, %arg8: tensor<2x768xf32>, %arg9: tensor<2x768xf32>, %arg10: tensor<2x768xf32>) -> (tensor<2x768xf32> {jax.result_info = "result[0]"}, tensor<2x768xf32> {jax.result_info = "result[1][0][0]"}, tensor<2x768xf32> {jax.result_info = "result[1][0][1]"}, tensor<2x768xf32> {jax.result_info = "result[1][1][0]"}, tensor<2x768xf32> {jax.result_info = "result[1][1][1]"}) {
    %0 = stablehlo.dot_general %arg6, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x768xf32>, tensor<768x3072xf32>) -> tensor<2x3072xf32>
    %1 = stablehlo.dot_general %arg7, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x768xf32>, tensor<768x3072xf32>) -> tensor<2x3072xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x3072xf32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3072xf32>) -> tensor<1x3072xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x3072xf32>) -> tensor<2x3072xf32>
    %5 = stablehlo.add %2, %4 : tensor<2x3072xf32>
    %6 = stablehlo.slice %5 [0:2, 0:768] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %7 = stablehlo.slice %5 [0:2, 768:1536] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %8 = stablehlo.slice %5 [0:2, 1536:2304] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %9 = stablehlo.slice %5 [0:2, 2304:3072] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %11 = stablehlo.add %7, %10 : tensor<2x768xf32>
    %12 = stablehlo.negate %11 : tensor<2x768xf32>
    %13 = stablehlo.exponential %12 : tensor<2x768xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %15 = stablehlo.add %14, %13 : tensor<2x768xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %17 = stablehlo.divide %16, %15 : tensor<2x768xf32>
    %18 = stablehlo.multiply %17, %arg8 : tensor<2x768xf32>
    %19 = stablehlo.negate %6 : tensor<2x768xf32>
    %20 = stablehlo.exponential %19 : tensor<2x768xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %22 = stablehlo.add %21, %20 : tensor<2x768xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %24 = stablehlo.divide %23, %22 : tensor<2x768xf32>
    %25 = stablehlo.tanh %8 : tensor<2x768xf32>
    %26 = stablehlo.multiply %24, %25 : tensor<2x768xf32>
    %27 = stablehlo.add %18, %26 : tensor<2x768xf32>
    %28 = stablehlo.negate %9 : tensor<2x768xf32>
    %29 = stablehlo.exponential %28 : tensor<2x768xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %31 = stablehlo.add %30, %29 : tensor<2x768xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %33 = stablehlo.divide %32, %31 : tensor<2x768xf32>
    %34 = stablehlo.tanh %27 : tensor<2x768xf32>
    %35 = stablehlo.multiply %33, %34 : tensor<2x768xf32>
    %36 = stablehlo.dot_general %35, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x768xf32>, tensor<768x3072xf32>) -> tensor<2x3072xf32>
    %37 = stablehlo.dot_general %arg9, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x768xf32>, tensor<768x3072xf32>) -> tensor<2x3072xf32>
    %38 = stablehlo.add %36, %37 : tensor<2x3072xf32>
    %39 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<3072xf32>) -> tensor<1x3072xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1] : (tensor<1x3072xf32>) -> tensor<2x3072xf32>
    %41 = stablehlo.add %38, %40 : tensor<2x3072xf32>
    %42 = stablehlo.slice %41 [0:2, 0:768] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %43 = stablehlo.slice %41 [0:2, 768:1536] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %44 = stablehlo.slice %41 [0:2, 1536:2304] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %45 = stablehlo.slice %41 [0:2, 2304:3072] : (tensor<2x3072xf32>) -> tensor<2x768xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %47 = stablehlo.add %43, %46 : tensor<2x768xf32>
    %48 = stablehlo.negate %47 : tensor<2x768xf32>
    %49 = stablehlo.exponential %48 : tensor<2x768xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %51 = stablehlo.add %50, %49 : tensor<2x768xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %53 = stablehlo.divide %52, %51 : tensor<2x768xf32>
    %54 = stablehlo.multiply %53, %arg10 : tensor<2x768xf32>
    %55 = stablehlo.negate %42 : tensor<2x768xf32>
    %56 = stablehlo.exponential %55 : tensor<2x768xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %58 = stablehlo.add %57, %56 : tensor<2x768xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %60 = stablehlo.divide %59, %58 : tensor<2x768xf32>
    %61 = stablehlo.tanh %44 : tensor<2x768xf32>
    %62 = stablehlo.multiply %60, %61 : tensor<2x768xf32>
    %63 = stablehlo.add %54, %62 : tensor<2x768xf32>
    %64 = stablehlo.negate %45 : tensor<2x768xf32>
    %65 = stablehlo.exponential %64 : tensor<2x768xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %67 = stablehlo.add %66, %65 : tensor<2x768xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x768xf32>
    %69 = stablehlo.divide %68, %67 : tensor<2x768xf32>
    %70 = stablehlo.tanh %63 : tensor<2x768xf32>
    %71 = stablehlo.multiply %69, %70 : tensor<2x768xf32>
    return %71, %35, %27, %71, %63 : tensor<2x768xf32>, tensor<2x768xf32>, tensor<2x768xf32>, tensor<2x768xf32>, tensor<2x768xf32>
  }
}

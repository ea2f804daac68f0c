module @jit_mixer_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512xf32>, %arg1: tensor<1024x512xf32>, %arg2: tensor<1024xf32>, %arg3: tensor<512x1024xf32>, %arg4: tensor<512xf32>, %arg5: tensor<512xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512xf32>, %arg8: tensor<196xf32>, %arg9: tensor<128x196xf32>, %arg10: tensor<128xf32>, %arg11: tensor<196x128xf32>, %arg12: tensor<1x196x512xf32>) -> (tensor<1x196x512xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg12 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<1x196x512xf32>, tensor<f32>) -> tensor<1x196xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x196xf32>) -> tensor<1x196x1xf32>
    %cst_0 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x196x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x196x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<1x196x1xf32>) -> tensor<1x196x512xf32>
    %5 = stablehlo.subtract %arg12, %4 : tensor<1x196x512xf32>
    %6 = chlo.square %5 : tensor<1x196x512xf32> -> tensor<1x196x512xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<1x196x512xf32>, tensor<f32>) -> tensor<1x196xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x196xf32>) -> tensor<1x196x1xf32>
    %cst_2 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x196x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<1x196x1xf32>
    %11 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<1x196x1xf32>) -> tensor<1x196x512xf32>
    %12 = stablehlo.subtract %arg12, %11 : tensor<1x196x512xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x196x1xf32>
    %14 = stablehlo.add %10, %13 : tensor<1x196x1xf32>
    %15 = stablehlo.rsqrt %14 : tensor<1x196x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x196x1xf32>) -> tensor<1x196x512xf32>
    %17 = stablehlo.multiply %12, %16 : tensor<1x196x512xf32>
    %18 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x196x512xf32>
    %20 = stablehlo.multiply %17, %19 : tensor<1x196x512xf32>
    %21 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x196x512xf32>
    %23 = stablehlo.add %20, %22 : tensor<1x196x512xf32>
    %24 = stablehlo.transpose %23, dims = [0, 2, 1] : (tensor<1x196x512xf32>) -> tensor<1x512x196xf32>
    %25 = stablehlo.dot_general %24, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x512x196xf32>, tensor<196x128xf32>) -> tensor<1x512x128xf32>
    %26 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<1x512x128xf32>
    %28 = stablehlo.add %25, %27 : tensor<1x512x128xf32>
    %29 = stablehlo.multiply %28, %28 : tensor<1x512x128xf32>
    %30 = stablehlo.multiply %29, %28 : tensor<1x512x128xf32>
    %cst_4 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x512x128xf32>
    %32 = stablehlo.multiply %31, %30 : tensor<1x512x128xf32>
    %33 = stablehlo.add %28, %32 : tensor<1x512x128xf32>
    %cst_5 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x512x128xf32>
    %35 = stablehlo.multiply %34, %33 : tensor<1x512x128xf32>
    %36 = stablehlo.tanh %35 : tensor<1x512x128xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x512x128xf32>
    %38 = stablehlo.add %37, %36 : tensor<1x512x128xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x512x128xf32>
    %40 = stablehlo.multiply %39, %38 : tensor<1x512x128xf32>
    %41 = stablehlo.multiply %28, %40 : tensor<1x512x128xf32>
    %42 = stablehlo.dot_general %41, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x512x128xf32>, tensor<128x196xf32>) -> tensor<1x512x196xf32>
    %43 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<196xf32>) -> tensor<1x1x196xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<1x1x196xf32>) -> tensor<1x512x196xf32>
    %45 = stablehlo.add %42, %44 : tensor<1x512x196xf32>
    %46 = stablehlo.transpose %45, dims = [0, 2, 1] : (tensor<1x512x196xf32>) -> tensor<1x196x512xf32>
    %47 = stablehlo.add %arg12, %46 : tensor<1x196x512xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_8) applies stablehlo.add across dimensions = [2] : (tensor<1x196x512xf32>, tensor<f32>) -> tensor<1x196xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1] : (tensor<1x196xf32>) -> tensor<1x196x1xf32>
    %cst_9 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<1x196x1xf32>
    %51 = stablehlo.divide %49, %50 : tensor<1x196x1xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<1x196x1xf32>) -> tensor<1x196x512xf32>
    %53 = stablehlo.subtract %47, %52 : tensor<1x196x512xf32>
    %54 = chlo.square %53 : tensor<1x196x512xf32> -> tensor<1x196x512xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %55 = stablehlo.reduce(%54 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<1x196x512xf32>, tensor<f32>) -> tensor<1x196xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<1x196xf32>) -> tensor<1x196x1xf32>
    %cst_11 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1x196x1xf32>
    %58 = stablehlo.divide %56, %57 : tensor<1x196x1xf32>
    %59 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<1x196x1xf32>) -> tensor<1x196x512xf32>
    %60 = stablehlo.subtract %47, %59 : tensor<1x196x512xf32>
    %cst_12 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<1x196x1xf32>
    %62 = stablehlo.add %58, %61 : tensor<1x196x1xf32>
    %63 = stablehlo.rsqrt %62 : tensor<1x196x1xf32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2] : (tensor<1x196x1xf32>) -> tensor<1x196x512xf32>
    %65 = stablehlo.multiply %60, %64 : tensor<1x196x512xf32>
    %66 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x196x512xf32>
    %68 = stablehlo.multiply %65, %67 : tensor<1x196x512xf32>
    %69 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x196x512xf32>
    %71 = stablehlo.add %68, %70 : tensor<1x196x512xf32>
    %72 = stablehlo.dot_general %71, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x196x512xf32>, tensor<512x1024xf32>) -> tensor<1x196x1024xf32>
    %73 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<1x196x1024xf32>
    %75 = stablehlo.add %72, %74 : tensor<1x196x1024xf32>
    %76 = stablehlo.multiply %75, %75 : tensor<1x196x1024xf32>
    %77 = stablehlo.multiply %76, %75 : tensor<1x196x1024xf32>
    %cst_13 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<1x196x1024xf32>
    %79 = stablehlo.multiply %78, %77 : tensor<1x196x1024xf32>
    %80 = stablehlo.add %75, %79 : tensor<1x196x1024xf32>
    %cst_14 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<1x196x1024xf32>
    %82 = stablehlo.multiply %81, %80 : tensor<1x196x1024xf32>
    %83 = stablehlo.tanh %82 : tensor<1x196x1024xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<1x196x1024xf32>
    %85 = stablehlo.add %84, %83 : tensor<1x196x1024xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<1x196x1024xf32>
    %87 = stablehlo.multiply %86, %85 : tensor<1x196x1024xf32>
    %88 = stablehlo.multiply %75, %87 : tensor<1x196x1024xf32>
    %89 = stablehlo.dot_general %88, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x196x1024xf32>, tensor<1024x512xf32>) -> tensor<1x196x512xf32>
    %90 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %91 = stablehlo.broadcast_in_dim %90, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x196x512xf32>
    %92 = stablehlo.add %89, %91 : tensor<1x196x512xf32>
    %93 = stablehlo.add %47, %92 : tensor<1x196x512xf32>
    return %93 : tensor<1x196x512xf32>
  }
}

module @jit_gpt_decode attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512xf32>, %arg1: tensor<2048x512xf32>, %arg2: tensor<512xf32>, %arg3: tensor<512xf32>, %arg4: tensor<512xf32>, %arg5: tensor<512xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512x512xf32>, %arg8: tensor<1536xf32>, %arg9: tensor<512x1536xf32>, %arg10: tensor<2048xf32>, %arg11: tensor<512x2048xf32>, %arg12: tensor<512xf32>, %arg13: tensor<2048x512xf32>, %arg14: tensor<512xf32>, %arg15: tensor<512xf32>, %arg16: tensor<512xf32>, %arg17: tensor<512xf32>, %arg18: tensor<512xf32>, %arg19: tensor<512x512xf32>, %arg20: tensor<1536xf32>, %arg21: tensor<512x1536xf32>, %arg22: tensor<2048xf32>, %arg23: tensor<512x2048xf32>, %arg24: tensor<512xf32>, %arg25: tensor<512xf32>, %arg26: tensor<256x512xf32>, %arg27: tensor<2048x512xf32>, %arg28: tensor<1xi32>, %arg29: tensor<i32>, %arg30: tensor<1x8x256x64xf32>, %arg31: tensor<1x8x256x64xf32>, %arg32: tensor<1x8x256x64xf32>, %arg33: tensor<1x8x256x64xf32>) -> (tensor<1x2048xf32> {jax.result_info = "result[0]"}, tensor<1x8x256x64xf32> {jax.result_info = "result[1][0]['keys']"}, tensor<1x8x256x64xf32> {jax.result_info = "result[1][0]['values']"}, tensor<1x8x256x64xf32> {jax.result_info = "result[1][1]['keys']"}, tensor<1x8x256x64xf32> {jax.result_info = "result[1][1]['values']"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.compare LT, %arg28, %0, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %c_0 = stablehlo.constant dense<2048> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.add %arg28, %2 : tensor<1xi32>
    %4 = stablehlo.select %1, %3, %arg28 : tensor<1xi1>, tensor<1xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<1xi32>) -> tensor<1x1xi32>
    %6 = "stablehlo.gather"(%arg27, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<2048x512xf32>, tensor<1x1xi32>) -> tensor<1x512xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 2] : (tensor<1x512xf32>) -> tensor<1x1x512xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare LT, %arg29, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<256> : tensor<i32>
    %9 = stablehlo.add %arg29, %c_2 : tensor<i32>
    %10 = stablehlo.select %8, %9, %arg29 : tensor<i1>, tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.compare LT, %c_3, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %c_6 = stablehlo.constant dense<512> : tensor<i32>
    %12 = stablehlo.add %c_5, %c_6 : tensor<i32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %13 = stablehlo.select %11, %12, %c_7 : tensor<i1>, tensor<i32>
    %14 = stablehlo.dynamic_slice %arg26, %10, %13, sizes = [1, 512] : (tensor<256x512xf32>, tensor<i32>, tensor<i32>) -> tensor<1x512xf32>
    %15 = stablehlo.reshape %14 : (tensor<1x512xf32>) -> tensor<512xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %17 = stablehlo.add %7, %16 : tensor<1x1x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_8 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %21 = stablehlo.divide %19, %20 : tensor<1x1x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %23 = stablehlo.subtract %17, %22 : tensor<1x1x512xf32>
    %24 = chlo.square %23 : tensor<1x1x512xf32> -> tensor<1x1x512xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_10 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %28 = stablehlo.divide %26, %27 : tensor<1x1x1xf32>
    %29 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %30 = stablehlo.subtract %17, %29 : tensor<1x1x512xf32>
    %cst_11 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %32 = stablehlo.add %28, %31 : tensor<1x1x1xf32>
    %33 = stablehlo.rsqrt %32 : tensor<1x1x1xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %35 = stablehlo.multiply %30, %34 : tensor<1x1x512xf32>
    %36 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %37 = stablehlo.multiply %35, %36 : tensor<1x1x512xf32>
    %38 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %39 = stablehlo.add %37, %38 : tensor<1x1x512xf32>
    %40 = stablehlo.dot_general %39, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512xf32>, tensor<512x1536xf32>) -> tensor<1x1x1536xf32>
    %41 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<1536xf32>) -> tensor<1x1x1536xf32>
    %42 = stablehlo.add %40, %41 : tensor<1x1x1536xf32>
    %43 = stablehlo.slice %42 [0:1, 0:1, 0:512] : (tensor<1x1x1536xf32>) -> tensor<1x1x512xf32>
    %44 = stablehlo.slice %42 [0:1, 0:1, 512:1024] : (tensor<1x1x1536xf32>) -> tensor<1x1x512xf32>
    %45 = stablehlo.slice %42 [0:1, 0:1, 1024:1536] : (tensor<1x1x1536xf32>) -> tensor<1x1x512xf32>
    %46 = stablehlo.reshape %43 : (tensor<1x1x512xf32>) -> tensor<1x1x8x64xf32>
    %47 = stablehlo.transpose %46, dims = [0, 2, 1, 3] : (tensor<1x1x8x64xf32>) -> tensor<1x8x1x64xf32>
    %48 = stablehlo.reshape %44 : (tensor<1x1x512xf32>) -> tensor<1x1x8x64xf32>
    %49 = stablehlo.transpose %48, dims = [0, 2, 1, 3] : (tensor<1x1x8x64xf32>) -> tensor<1x8x1x64xf32>
    %50 = stablehlo.reshape %45 : (tensor<1x1x512xf32>) -> tensor<1x1x8x64xf32>
    %51 = stablehlo.transpose %50, dims = [0, 2, 1, 3] : (tensor<1x1x8x64xf32>) -> tensor<1x8x1x64xf32>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %52 = stablehlo.compare LT, %arg29, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_13 = stablehlo.constant dense<256> : tensor<i32>
    %53 = stablehlo.add %arg29, %c_13 : tensor<i32>
    %54 = stablehlo.select %52, %53, %arg29 : tensor<i1>, tensor<i32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %55 = stablehlo.dynamic_update_slice %arg30, %49, %c_14, %c_15, %54, %c_16 : (tensor<1x8x256x64xf32>, tensor<1x8x1x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x256x64xf32>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %56 = stablehlo.compare LT, %arg29, %c_17, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_18 = stablehlo.constant dense<256> : tensor<i32>
    %57 = stablehlo.add %arg29, %c_18 : tensor<i32>
    %58 = stablehlo.select %56, %57, %arg29 : tensor<i1>, tensor<i32>
    %c_19 = stablehlo.constant dense<0> : tensor<i32>
    %c_20 = stablehlo.constant dense<0> : tensor<i32>
    %c_21 = stablehlo.constant dense<0> : tensor<i32>
    %59 = stablehlo.dynamic_update_slice %arg31, %51, %c_19, %c_20, %58, %c_21 : (tensor<1x8x256x64xf32>, tensor<1x8x1x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x256x64xf32>
    %60 = stablehlo.iota dim = 0 : tensor<256xi32>
    %61 = stablehlo.broadcast_in_dim %arg29, dims = [] : (tensor<i32>) -> tensor<256xi32>
    %62 = stablehlo.compare LE, %60, %61, SIGNED : (tensor<256xi32>, tensor<256xi32>) -> tensor<256xi1>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_23 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %63 = call @_where(%62, %cst_22, %cst_23) : (tensor<256xi1>, tensor<f32>, tensor<f32>) -> tensor<256xf32>
    %64 = stablehlo.dot_general %47, %55, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x8x1x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x1x256xf32>
    %cst_24 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<1x8x1x256xf32>
    %66 = stablehlo.divide %64, %65 : tensor<1x8x1x256xf32>
    %67 = stablehlo.convert %63 : tensor<256xf32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [3] : (tensor<256xf32>) -> tensor<1x1x1x256xf32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [0, 1, 2, 3] : (tensor<1x1x1x256xf32>) -> tensor<1x8x1x256xf32>
    %70 = stablehlo.add %66, %69 : tensor<1x8x1x256xf32>
    %cst_25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %71 = stablehlo.reduce(%70 init: %cst_25) applies stablehlo.maximum across dimensions = [3] : (tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1xf32>
    %cst_26 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<1x8x1xf32>
    %73 = stablehlo.maximum %72, %71 : tensor<1x8x1xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<1x8x1xf32>) -> tensor<1x8x1x1xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x256xf32>
    %76 = stablehlo.subtract %70, %75 : tensor<1x8x1x256xf32>
    %77 = stablehlo.exponential %76 : tensor<1x8x1x256xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %78 = stablehlo.reduce(%77 init: %cst_27) applies stablehlo.add across dimensions = [3] : (tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1xf32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<1x8x1xf32>) -> tensor<1x8x1x1xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x256xf32>
    %81 = stablehlo.divide %77, %80 : tensor<1x8x1x256xf32>
    %82 = stablehlo.dot_general %81, %59, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x1x256xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x1x64xf32>
    %83 = stablehlo.transpose %82, dims = [0, 2, 1, 3] : (tensor<1x8x1x64xf32>) -> tensor<1x1x8x64xf32>
    %84 = stablehlo.reshape %83 : (tensor<1x1x8x64xf32>) -> tensor<1x1x512xf32>
    %85 = stablehlo.dot_general %84, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512xf32>, tensor<512x512xf32>) -> tensor<1x1x512xf32>
    %86 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %87 = stablehlo.add %85, %86 : tensor<1x1x512xf32>
    %88 = stablehlo.add %17, %87 : tensor<1x1x512xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %89 = stablehlo.reduce(%88 init: %cst_28) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_29 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %92 = stablehlo.divide %90, %91 : tensor<1x1x1xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %94 = stablehlo.subtract %88, %93 : tensor<1x1x512xf32>
    %95 = chlo.square %94 : tensor<1x1x512xf32> -> tensor<1x1x512xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %96 = stablehlo.reduce(%95 init: %cst_30) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %97 = stablehlo.broadcast_in_dim %96, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_31 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %99 = stablehlo.divide %97, %98 : tensor<1x1x1xf32>
    %100 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %101 = stablehlo.subtract %88, %100 : tensor<1x1x512xf32>
    %cst_32 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %102 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %103 = stablehlo.add %99, %102 : tensor<1x1x1xf32>
    %104 = stablehlo.rsqrt %103 : tensor<1x1x1xf32>
    %105 = stablehlo.broadcast_in_dim %104, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %106 = stablehlo.multiply %101, %105 : tensor<1x1x512xf32>
    %107 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %108 = stablehlo.multiply %106, %107 : tensor<1x1x512xf32>
    %109 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %110 = stablehlo.add %108, %109 : tensor<1x1x512xf32>
    %111 = stablehlo.dot_general %110, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512xf32>, tensor<512x2048xf32>) -> tensor<1x1x2048xf32>
    %112 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %113 = stablehlo.add %111, %112 : tensor<1x1x2048xf32>
    %114 = stablehlo.multiply %113, %113 : tensor<1x1x2048xf32>
    %115 = stablehlo.multiply %114, %113 : tensor<1x1x2048xf32>
    %cst_33 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %117 = stablehlo.multiply %116, %115 : tensor<1x1x2048xf32>
    %118 = stablehlo.add %113, %117 : tensor<1x1x2048xf32>
    %cst_34 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %120 = stablehlo.multiply %119, %118 : tensor<1x1x2048xf32>
    %121 = stablehlo.tanh %120 : tensor<1x1x2048xf32>
    %cst_35 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %123 = stablehlo.add %122, %121 : tensor<1x1x2048xf32>
    %cst_36 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %124 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %125 = stablehlo.multiply %124, %123 : tensor<1x1x2048xf32>
    %126 = stablehlo.multiply %113, %125 : tensor<1x1x2048xf32>
    %127 = stablehlo.dot_general %126, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x2048xf32>, tensor<2048x512xf32>) -> tensor<1x1x512xf32>
    %128 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %129 = stablehlo.add %127, %128 : tensor<1x1x512xf32>
    %130 = stablehlo.add %88, %129 : tensor<1x1x512xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %131 = stablehlo.reduce(%130 init: %cst_37) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_38 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %133 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %134 = stablehlo.divide %132, %133 : tensor<1x1x1xf32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %136 = stablehlo.subtract %130, %135 : tensor<1x1x512xf32>
    %137 = chlo.square %136 : tensor<1x1x512xf32> -> tensor<1x1x512xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %138 = stablehlo.reduce(%137 init: %cst_39) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %139 = stablehlo.broadcast_in_dim %138, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_40 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %141 = stablehlo.divide %139, %140 : tensor<1x1x1xf32>
    %142 = stablehlo.broadcast_in_dim %134, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %143 = stablehlo.subtract %130, %142 : tensor<1x1x512xf32>
    %cst_41 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %144 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %145 = stablehlo.add %141, %144 : tensor<1x1x1xf32>
    %146 = stablehlo.rsqrt %145 : tensor<1x1x1xf32>
    %147 = stablehlo.broadcast_in_dim %146, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %148 = stablehlo.multiply %143, %147 : tensor<1x1x512xf32>
    %149 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %150 = stablehlo.multiply %148, %149 : tensor<1x1x512xf32>
    %151 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %152 = stablehlo.add %150, %151 : tensor<1x1x512xf32>
    %153 = stablehlo.dot_general %152, %arg21, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512xf32>, tensor<512x1536xf32>) -> tensor<1x1x1536xf32>
    %154 = stablehlo.broadcast_in_dim %arg20, dims = [2] : (tensor<1536xf32>) -> tensor<1x1x1536xf32>
    %155 = stablehlo.add %153, %154 : tensor<1x1x1536xf32>
    %156 = stablehlo.slice %155 [0:1, 0:1, 0:512] : (tensor<1x1x1536xf32>) -> tensor<1x1x512xf32>
    %157 = stablehlo.slice %155 [0:1, 0:1, 512:1024] : (tensor<1x1x1536xf32>) -> tensor<1x1x512xf32>
    %158 = stablehlo.slice %155 [0:1, 0:1, 1024:1536] : (tensor<1x1x1536xf32>) -> tensor<1x1x512xf32>
    %159 = stablehlo.reshape %156 : (tensor<1x1x512xf32>) -> tensor<1x1x8x64xf32>
    %160 = stablehlo.transpose %159, dims = [0, 2, 1, 3] : (tensor<1x1x8x64xf32>) -> tensor<1x8x1x64xf32>
    %161 = stablehlo.reshape %157 : (tensor<1x1x512xf32>) -> tensor<1x1x8x64xf32>
    %162 = stablehlo.transpose %161, dims = [0, 2, 1, 3] : (tensor<1x1x8x64xf32>) -> tensor<1x8x1x64xf32>
    %163 = stablehlo.reshape %158 : (tensor<1x1x512xf32>) -> tensor<1x1x8x64xf32>
    %164 = stablehlo.transpose %163, dims = [0, 2, 1, 3] : (tensor<1x1x8x64xf32>) -> tensor<1x8x1x64xf32>
    %c_42 = stablehlo.constant dense<0> : tensor<i32>
    %165 = stablehlo.compare LT, %arg29, %c_42, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_43 = stablehlo.constant dense<256> : tensor<i32>
    %166 = stablehlo.add %arg29, %c_43 : tensor<i32>
    %167 = stablehlo.select %165, %166, %arg29 : tensor<i1>, tensor<i32>
    %c_44 = stablehlo.constant dense<0> : tensor<i32>
    %c_45 = stablehlo.constant dense<0> : tensor<i32>
    %c_46 = stablehlo.constant dense<0> : tensor<i32>
    %168 = stablehlo.dynamic_update_slice %arg32, %162, %c_44, %c_45, %167, %c_46 : (tensor<1x8x256x64xf32>, tensor<1x8x1x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x256x64xf32>
    %c_47 = stablehlo.constant dense<0> : tensor<i32>
    %169 = stablehlo.compare LT, %arg29, %c_47, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_48 = stablehlo.constant dense<256> : tensor<i32>
    %170 = stablehlo.add %arg29, %c_48 : tensor<i32>
    %171 = stablehlo.select %169, %170, %arg29 : tensor<i1>, tensor<i32>
    %c_49 = stablehlo.constant dense<0> : tensor<i32>
    %c_50 = stablehlo.constant dense<0> : tensor<i32>
    %c_51 = stablehlo.constant dense<0> : tensor<i32>
    %172 = stablehlo.dynamic_update_slice %arg33, %164, %c_49, %c_50, %171, %c_51 : (tensor<1x8x256x64xf32>, tensor<1x8x1x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x256x64xf32>
    %173 = stablehlo.iota dim = 0 : tensor<256xi32>
    %174 = stablehlo.broadcast_in_dim %arg29, dims = [] : (tensor<i32>) -> tensor<256xi32>
    %175 = stablehlo.compare LE, %173, %174, SIGNED : (tensor<256xi32>, tensor<256xi32>) -> tensor<256xi1>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_53 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %176 = call @_where(%175, %cst_52, %cst_53) : (tensor<256xi1>, tensor<f32>, tensor<f32>) -> tensor<256xf32>
    %177 = stablehlo.dot_general %160, %168, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x8x1x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x1x256xf32>
    %cst_54 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<1x8x1x256xf32>
    %179 = stablehlo.divide %177, %178 : tensor<1x8x1x256xf32>
    %180 = stablehlo.convert %176 : tensor<256xf32>
    %181 = stablehlo.broadcast_in_dim %180, dims = [3] : (tensor<256xf32>) -> tensor<1x1x1x256xf32>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2, 3] : (tensor<1x1x1x256xf32>) -> tensor<1x8x1x256xf32>
    %183 = stablehlo.add %179, %182 : tensor<1x8x1x256xf32>
    %cst_55 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %184 = stablehlo.reduce(%183 init: %cst_55) applies stablehlo.maximum across dimensions = [3] : (tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1xf32>
    %cst_56 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<1x8x1xf32>
    %186 = stablehlo.maximum %185, %184 : tensor<1x8x1xf32>
    %187 = stablehlo.broadcast_in_dim %186, dims = [0, 1, 2] : (tensor<1x8x1xf32>) -> tensor<1x8x1x1xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x256xf32>
    %189 = stablehlo.subtract %183, %188 : tensor<1x8x1x256xf32>
    %190 = stablehlo.exponential %189 : tensor<1x8x1x256xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %191 = stablehlo.reduce(%190 init: %cst_57) applies stablehlo.add across dimensions = [3] : (tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1xf32>
    %192 = stablehlo.broadcast_in_dim %191, dims = [0, 1, 2] : (tensor<1x8x1xf32>) -> tensor<1x8x1x1xf32>
    %193 = stablehlo.broadcast_in_dim %192, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x256xf32>
    %194 = stablehlo.divide %190, %193 : tensor<1x8x1x256xf32>
    %195 = stablehlo.dot_general %194, %172, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x1x256xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x1x64xf32>
    %196 = stablehlo.transpose %195, dims = [0, 2, 1, 3] : (tensor<1x8x1x64xf32>) -> tensor<1x1x8x64xf32>
    %197 = stablehlo.reshape %196 : (tensor<1x1x8x64xf32>) -> tensor<1x1x512xf32>
    %198 = stablehlo.dot_general %197, %arg19, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512xf32>, tensor<512x512xf32>) -> tensor<1x1x512xf32>
    %199 = stablehlo.broadcast_in_dim %arg18, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %200 = stablehlo.add %198, %199 : tensor<1x1x512xf32>
    %201 = stablehlo.add %130, %200 : tensor<1x1x512xf32>
    %cst_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.reduce(%201 init: %cst_58) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %203 = stablehlo.broadcast_in_dim %202, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_59 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %204 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %205 = stablehlo.divide %203, %204 : tensor<1x1x1xf32>
    %206 = stablehlo.broadcast_in_dim %205, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %207 = stablehlo.subtract %201, %206 : tensor<1x1x512xf32>
    %208 = chlo.square %207 : tensor<1x1x512xf32> -> tensor<1x1x512xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %209 = stablehlo.reduce(%208 init: %cst_60) applies stablehlo.add across dimensions = [2] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<1x1xf32>
    %210 = stablehlo.broadcast_in_dim %209, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
    %cst_61 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %211 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %212 = stablehlo.divide %210, %211 : tensor<1x1x1xf32>
    %213 = stablehlo.broadcast_in_dim %205, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %214 = stablehlo.subtract %201, %213 : tensor<1x1x512xf32>
    %cst_62 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %215 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %216 = stablehlo.add %212, %215 : tensor<1x1x1xf32>
    %217 = stablehlo.rsqrt %216 : tensor<1x1x1xf32>
    %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x512xf32>
    %219 = stablehlo.multiply %214, %218 : tensor<1x1x512xf32>
    %220 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %221 = stablehlo.multiply %219, %220 : tensor<1x1x512xf32>
    %222 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %223 = stablehlo.add %221, %222 : tensor<1x1x512xf32>
    %224 = stablehlo.dot_general %223, %arg23, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512xf32>, tensor<512x2048xf32>) -> tensor<1x1x2048xf32>
    %225 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %226 = stablehlo.add %224, %225 : tensor<1x1x2048xf32>
    %227 = stablehlo.multiply %226, %226 : tensor<1x1x2048xf32>
    %228 = stablehlo.multiply %227, %226 : tensor<1x1x2048xf32>
    %cst_63 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %229 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %230 = stablehlo.multiply %229, %228 : tensor<1x1x2048xf32>
    %231 = stablehlo.add %226, %230 : tensor<1x1x2048xf32>
    %cst_64 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %232 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %233 = stablehlo.multiply %232, %231 : tensor<1x1x2048xf32>
    %234 = stablehlo.tanh %233 : tensor<1x1x2048xf32>
    %cst_65 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %235 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %236 = stablehlo.add %235, %234 : tensor<1x1x2048xf32>
    %cst_66 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %237 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<1x1x2048xf32>
    %238 = stablehlo.multiply %237, %236 : tensor<1x1x2048xf32>
    %239 = stablehlo.multiply %226, %238 : tensor<1x1x2048xf32>
    %240 = stablehlo.dot_general %239, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x1x2048xf32>, tensor<2048x512xf32>) -> tensor<1x1x512xf32>
    %241 = stablehlo.broadcast_in_dim %arg12, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %242 = stablehlo.add %240, %241 : tensor<1x1x512xf32>
    %243 = stablehlo.add %201, %242 : tensor<1x1x512xf32>
    %244 = stablehlo.reshape %243 : (tensor<1x1x512xf32>) -> tensor<1x512xf32>
    %cst_67 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.reduce(%244 init: %cst_67) applies stablehlo.add across dimensions = [1] : (tensor<1x512xf32>, tensor<f32>) -> tensor<1xf32>
    %246 = stablehlo.broadcast_in_dim %245, dims = [0] : (tensor<1xf32>) -> tensor<1x1xf32>
    %cst_68 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %247 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %248 = stablehlo.divide %246, %247 : tensor<1x1xf32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x512xf32>
    %250 = stablehlo.subtract %244, %249 : tensor<1x512xf32>
    %251 = chlo.square %250 : tensor<1x512xf32> -> tensor<1x512xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %252 = stablehlo.reduce(%251 init: %cst_69) applies stablehlo.add across dimensions = [1] : (tensor<1x512xf32>, tensor<f32>) -> tensor<1xf32>
    %253 = stablehlo.broadcast_in_dim %252, dims = [0] : (tensor<1xf32>) -> tensor<1x1xf32>
    %cst_70 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %254 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %255 = stablehlo.divide %253, %254 : tensor<1x1xf32>
    %256 = stablehlo.broadcast_in_dim %248, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x512xf32>
    %257 = stablehlo.subtract %244, %256 : tensor<1x512xf32>
    %cst_71 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %258 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %259 = stablehlo.add %255, %258 : tensor<1x1xf32>
    %260 = stablehlo.rsqrt %259 : tensor<1x1xf32>
    %261 = stablehlo.broadcast_in_dim %260, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x512xf32>
    %262 = stablehlo.multiply %257, %261 : tensor<1x512xf32>
    %263 = stablehlo.broadcast_in_dim %arg25, dims = [1] : (tensor<512xf32>) -> tensor<1x512xf32>
    %264 = stablehlo.multiply %262, %263 : tensor<1x512xf32>
    %265 = stablehlo.broadcast_in_dim %arg24, dims = [1] : (tensor<512xf32>) -> tensor<1x512xf32>
    %266 = stablehlo.add %264, %265 : tensor<1x512xf32>
    %267 = stablehlo.transpose %arg27, dims = [1, 0] : (tensor<2048x512xf32>) -> tensor<512x2048xf32>
    %268 = stablehlo.dot_general %266, %267, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x512xf32>, tensor<512x2048xf32>) -> tensor<1x2048xf32>
    return %268, %55, %59, %168, %172 : tensor<1x2048xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>
  }
  func.func private @_where(%arg0: tensor<256xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<256xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<256xi1>, tensor<256xf32>
    return %2 : tensor<256xf32>
  }
}

module @jit_bert_encoder attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512xf32>, %arg1: tensor<2048x512xf32>, %arg2: tensor<512xf32>, %arg3: tensor<512xf32>, %arg4: tensor<512xf32>, %arg5: tensor<512xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512x512xf32>, %arg8: tensor<1536xf32>, %arg9: tensor<512x1536xf32>, %arg10: tensor<2048xf32>, %arg11: tensor<512x2048xf32>, %arg12: tensor<512xf32>, %arg13: tensor<2048x512xf32>, %arg14: tensor<512xf32>, %arg15: tensor<512xf32>, %arg16: tensor<512xf32>, %arg17: tensor<512xf32>, %arg18: tensor<512xf32>, %arg19: tensor<512x512xf32>, %arg20: tensor<1536xf32>, %arg21: tensor<512x1536xf32>, %arg22: tensor<2048xf32>, %arg23: tensor<512x2048xf32>, %arg24: tensor<512xf32>, %arg25: tensor<512xf32>, %arg26: tensor<512xf32>, %arg27: tensor<512x512xf32>, %arg28: tensor<14x512xf32>, %arg29: tensor<2x512xf32>, %arg30: tensor<2048x512xf32>, %arg31: tensor<1x14xi32>, %arg32: tensor<1x14xi32>, %arg33: tensor<1x14xi32>) -> (tensor<1x14x512xf32> {jax.result_info = "result[0]"}, tensor<1x512xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1x14xi32>
    %1 = stablehlo.compare LT, %arg31, %0, SIGNED : (tensor<1x14xi32>, tensor<1x14xi32>) -> tensor<1x14xi1>
    %c_0 = stablehlo.constant dense<2048> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<1x14xi32>
    %3 = stablehlo.add %arg31, %2 : tensor<1x14xi32>
    %4 = stablehlo.select %1, %3, %arg31 : tensor<1x14xi1>, tensor<1x14xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<1x14xi32>) -> tensor<1x14x1xi32>
    %6 = "stablehlo.gather"(%arg30, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<2048x512xf32>, tensor<1x14x1xi32>) -> tensor<1x14x512xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<1x14xi32>
    %8 = stablehlo.compare LT, %arg32, %7, SIGNED : (tensor<1x14xi32>, tensor<1x14xi32>) -> tensor<1x14xi1>
    %c_2 = stablehlo.constant dense<2> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1x14xi32>
    %10 = stablehlo.add %arg32, %9 : tensor<1x14xi32>
    %11 = stablehlo.select %8, %10, %arg32 : tensor<1x14xi1>, tensor<1x14xi32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x14xi32>) -> tensor<1x14x1xi32>
    %13 = "stablehlo.gather"(%arg29, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<2x512xf32>, tensor<1x14x1xi32>) -> tensor<1x14x512xf32>
    %14 = stablehlo.add %6, %13 : tensor<1x14x512xf32>
    %15 = stablehlo.broadcast_in_dim %arg28, dims = [1, 2] : (tensor<14x512xf32>) -> tensor<1x14x512xf32>
    %16 = stablehlo.add %14, %15 : tensor<1x14x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_3 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %20 = stablehlo.divide %18, %19 : tensor<1x14x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %22 = stablehlo.subtract %16, %21 : tensor<1x14x512xf32>
    %23 = chlo.square %22 : tensor<1x14x512xf32> -> tensor<1x14x512xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_5 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %27 = stablehlo.divide %25, %26 : tensor<1x14x1xf32>
    %28 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %29 = stablehlo.subtract %16, %28 : tensor<1x14x512xf32>
    %cst_6 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %31 = stablehlo.add %27, %30 : tensor<1x14x1xf32>
    %32 = stablehlo.rsqrt %31 : tensor<1x14x1xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %34 = stablehlo.multiply %29, %33 : tensor<1x14x512xf32>
    %35 = stablehlo.broadcast_in_dim %arg25, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %37 = stablehlo.multiply %34, %36 : tensor<1x14x512xf32>
    %38 = stablehlo.broadcast_in_dim %arg24, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %40 = stablehlo.add %37, %39 : tensor<1x14x512xf32>
    %41 = stablehlo.broadcast_in_dim %arg33, dims = [0, 3] : (tensor<1x14xi32>) -> tensor<1x1x1x14xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %42 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<1x1x1x14xi32>
    %43 = stablehlo.compare GT, %41, %42, SIGNED : (tensor<1x1x1x14xi32>, tensor<1x1x1x14xi32>) -> tensor<1x1x1x14xi1>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %44 = call @_where(%43, %cst_8, %cst_9) : (tensor<1x1x1x14xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x14xf32>
    %45 = stablehlo.dot_general %40, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x512xf32>, tensor<512x1536xf32>) -> tensor<1x14x1536xf32>
    %46 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<1536xf32>) -> tensor<1x1x1536xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<1x1x1536xf32>) -> tensor<1x14x1536xf32>
    %48 = stablehlo.add %45, %47 : tensor<1x14x1536xf32>
    %49 = stablehlo.slice %48 [0:1, 0:14, 0:512] : (tensor<1x14x1536xf32>) -> tensor<1x14x512xf32>
    %50 = stablehlo.slice %48 [0:1, 0:14, 512:1024] : (tensor<1x14x1536xf32>) -> tensor<1x14x512xf32>
    %51 = stablehlo.slice %48 [0:1, 0:14, 1024:1536] : (tensor<1x14x1536xf32>) -> tensor<1x14x512xf32>
    %52 = stablehlo.reshape %49 : (tensor<1x14x512xf32>) -> tensor<1x14x4x128xf32>
    %53 = stablehlo.transpose %52, dims = [0, 2, 1, 3] : (tensor<1x14x4x128xf32>) -> tensor<1x4x14x128xf32>
    %54 = stablehlo.reshape %50 : (tensor<1x14x512xf32>) -> tensor<1x14x4x128xf32>
    %55 = stablehlo.transpose %54, dims = [0, 2, 1, 3] : (tensor<1x14x4x128xf32>) -> tensor<1x4x14x128xf32>
    %56 = stablehlo.reshape %51 : (tensor<1x14x512xf32>) -> tensor<1x14x4x128xf32>
    %57 = stablehlo.transpose %56, dims = [0, 2, 1, 3] : (tensor<1x14x4x128xf32>) -> tensor<1x4x14x128xf32>
    %58 = stablehlo.dot_general %53, %55, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x4x14x128xf32>, tensor<1x4x14x128xf32>) -> tensor<1x4x14x14xf32>
    %cst_10 = stablehlo.constant dense<11.3137083> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<1x4x14x14xf32>
    %60 = stablehlo.divide %58, %59 : tensor<1x4x14x14xf32>
    %61 = stablehlo.convert %44 : tensor<1x1x1x14xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2, 3] : (tensor<1x1x1x14xf32>) -> tensor<1x4x14x14xf32>
    %63 = stablehlo.add %60, %62 : tensor<1x4x14x14xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %64 = stablehlo.reduce(%63 init: %cst_11) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x14x14xf32>, tensor<f32>) -> tensor<1x4x14xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<1x4x14xf32>
    %66 = stablehlo.maximum %65, %64 : tensor<1x4x14xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x4x14xf32>) -> tensor<1x4x14x1xf32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [0, 1, 2, 3] : (tensor<1x4x14x1xf32>) -> tensor<1x4x14x14xf32>
    %69 = stablehlo.subtract %63, %68 : tensor<1x4x14x14xf32>
    %70 = stablehlo.exponential %69 : tensor<1x4x14x14xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.reduce(%70 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<1x4x14x14xf32>, tensor<f32>) -> tensor<1x4x14xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2] : (tensor<1x4x14xf32>) -> tensor<1x4x14x1xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0, 1, 2, 3] : (tensor<1x4x14x1xf32>) -> tensor<1x4x14x14xf32>
    %74 = stablehlo.divide %70, %73 : tensor<1x4x14x14xf32>
    %75 = stablehlo.dot_general %74, %57, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x4x14x14xf32>, tensor<1x4x14x128xf32>) -> tensor<1x4x14x128xf32>
    %76 = stablehlo.transpose %75, dims = [0, 2, 1, 3] : (tensor<1x4x14x128xf32>) -> tensor<1x14x4x128xf32>
    %77 = stablehlo.reshape %76 : (tensor<1x14x4x128xf32>) -> tensor<1x14x512xf32>
    %78 = stablehlo.dot_general %77, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x512xf32>, tensor<512x512xf32>) -> tensor<1x14x512xf32>
    %79 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %81 = stablehlo.add %78, %80 : tensor<1x14x512xf32>
    %82 = stablehlo.add %40, %81 : tensor<1x14x512xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %83 = stablehlo.reduce(%82 init: %cst_14) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %84 = stablehlo.broadcast_in_dim %83, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_15 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %86 = stablehlo.divide %84, %85 : tensor<1x14x1xf32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %88 = stablehlo.subtract %82, %87 : tensor<1x14x512xf32>
    %89 = chlo.square %88 : tensor<1x14x512xf32> -> tensor<1x14x512xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %90 = stablehlo.reduce(%89 init: %cst_16) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %91 = stablehlo.broadcast_in_dim %90, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_17 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %92 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %93 = stablehlo.divide %91, %92 : tensor<1x14x1xf32>
    %94 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %95 = stablehlo.subtract %82, %94 : tensor<1x14x512xf32>
    %cst_18 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %97 = stablehlo.add %93, %96 : tensor<1x14x1xf32>
    %98 = stablehlo.rsqrt %97 : tensor<1x14x1xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %100 = stablehlo.multiply %95, %99 : tensor<1x14x512xf32>
    %101 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %102 = stablehlo.broadcast_in_dim %101, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %103 = stablehlo.multiply %100, %102 : tensor<1x14x512xf32>
    %104 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %105 = stablehlo.broadcast_in_dim %104, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %106 = stablehlo.add %103, %105 : tensor<1x14x512xf32>
    %107 = stablehlo.dot_general %106, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x512xf32>, tensor<512x2048xf32>) -> tensor<1x14x2048xf32>
    %108 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [0, 1, 2] : (tensor<1x1x2048xf32>) -> tensor<1x14x2048xf32>
    %110 = stablehlo.add %107, %109 : tensor<1x14x2048xf32>
    %cst_19 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<1x14x2048xf32>
    %112 = stablehlo.multiply %111, %110 : tensor<1x14x2048xf32>
    %113 = stablehlo.negate %110 : tensor<1x14x2048xf32>
    %cst_20 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<1x14x2048xf32>
    %115 = stablehlo.multiply %113, %114 : tensor<1x14x2048xf32>
    %116 = chlo.erfc %115 : tensor<1x14x2048xf32> -> tensor<1x14x2048xf32>
    %117 = stablehlo.multiply %112, %116 : tensor<1x14x2048xf32>
    %118 = stablehlo.dot_general %117, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x2048xf32>, tensor<2048x512xf32>) -> tensor<1x14x512xf32>
    %119 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %121 = stablehlo.add %118, %120 : tensor<1x14x512xf32>
    %122 = stablehlo.add %106, %121 : tensor<1x14x512xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %123 = stablehlo.reduce(%122 init: %cst_21) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_22 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %125 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %126 = stablehlo.divide %124, %125 : tensor<1x14x1xf32>
    %127 = stablehlo.broadcast_in_dim %126, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %128 = stablehlo.subtract %122, %127 : tensor<1x14x512xf32>
    %129 = chlo.square %128 : tensor<1x14x512xf32> -> tensor<1x14x512xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %130 = stablehlo.reduce(%129 init: %cst_23) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %131 = stablehlo.broadcast_in_dim %130, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_24 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %133 = stablehlo.divide %131, %132 : tensor<1x14x1xf32>
    %134 = stablehlo.broadcast_in_dim %126, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %135 = stablehlo.subtract %122, %134 : tensor<1x14x512xf32>
    %cst_25 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %137 = stablehlo.add %133, %136 : tensor<1x14x1xf32>
    %138 = stablehlo.rsqrt %137 : tensor<1x14x1xf32>
    %139 = stablehlo.broadcast_in_dim %138, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %140 = stablehlo.multiply %135, %139 : tensor<1x14x512xf32>
    %141 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %143 = stablehlo.multiply %140, %142 : tensor<1x14x512xf32>
    %144 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %145 = stablehlo.broadcast_in_dim %144, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %146 = stablehlo.add %143, %145 : tensor<1x14x512xf32>
    %147 = stablehlo.dot_general %146, %arg21, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x512xf32>, tensor<512x1536xf32>) -> tensor<1x14x1536xf32>
    %148 = stablehlo.broadcast_in_dim %arg20, dims = [2] : (tensor<1536xf32>) -> tensor<1x1x1536xf32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [0, 1, 2] : (tensor<1x1x1536xf32>) -> tensor<1x14x1536xf32>
    %150 = stablehlo.add %147, %149 : tensor<1x14x1536xf32>
    %151 = stablehlo.slice %150 [0:1, 0:14, 0:512] : (tensor<1x14x1536xf32>) -> tensor<1x14x512xf32>
    %152 = stablehlo.slice %150 [0:1, 0:14, 512:1024] : (tensor<1x14x1536xf32>) -> tensor<1x14x512xf32>
    %153 = stablehlo.slice %150 [0:1, 0:14, 1024:1536] : (tensor<1x14x1536xf32>) -> tensor<1x14x512xf32>
    %154 = stablehlo.reshape %151 : (tensor<1x14x512xf32>) -> tensor<1x14x4x128xf32>
    %155 = stablehlo.transpose %154, dims = [0, 2, 1, 3] : (tensor<1x14x4x128xf32>) -> tensor<1x4x14x128xf32>
    %156 = stablehlo.reshape %152 : (tensor<1x14x512xf32>) -> tensor<1x14x4x128xf32>
    %157 = stablehlo.transpose %156, dims = [0, 2, 1, 3] : (tensor<1x14x4x128xf32>) -> tensor<1x4x14x128xf32>
    %158 = stablehlo.reshape %153 : (tensor<1x14x512xf32>) -> tensor<1x14x4x128xf32>
    %159 = stablehlo.transpose %158, dims = [0, 2, 1, 3] : (tensor<1x14x4x128xf32>) -> tensor<1x4x14x128xf32>
    %160 = stablehlo.dot_general %155, %157, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x4x14x128xf32>, tensor<1x4x14x128xf32>) -> tensor<1x4x14x14xf32>
    %cst_26 = stablehlo.constant dense<11.3137083> : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<1x4x14x14xf32>
    %162 = stablehlo.divide %160, %161 : tensor<1x4x14x14xf32>
    %163 = stablehlo.convert %44 : tensor<1x1x1x14xf32>
    %164 = stablehlo.broadcast_in_dim %163, dims = [0, 1, 2, 3] : (tensor<1x1x1x14xf32>) -> tensor<1x4x14x14xf32>
    %165 = stablehlo.add %162, %164 : tensor<1x4x14x14xf32>
    %cst_27 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %166 = stablehlo.reduce(%165 init: %cst_27) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x14x14xf32>, tensor<f32>) -> tensor<1x4x14xf32>
    %cst_28 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %167 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<1x4x14xf32>
    %168 = stablehlo.maximum %167, %166 : tensor<1x4x14xf32>
    %169 = stablehlo.broadcast_in_dim %168, dims = [0, 1, 2] : (tensor<1x4x14xf32>) -> tensor<1x4x14x1xf32>
    %170 = stablehlo.broadcast_in_dim %169, dims = [0, 1, 2, 3] : (tensor<1x4x14x1xf32>) -> tensor<1x4x14x14xf32>
    %171 = stablehlo.subtract %165, %170 : tensor<1x4x14x14xf32>
    %172 = stablehlo.exponential %171 : tensor<1x4x14x14xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %173 = stablehlo.reduce(%172 init: %cst_29) applies stablehlo.add across dimensions = [3] : (tensor<1x4x14x14xf32>, tensor<f32>) -> tensor<1x4x14xf32>
    %174 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2] : (tensor<1x4x14xf32>) -> tensor<1x4x14x1xf32>
    %175 = stablehlo.broadcast_in_dim %174, dims = [0, 1, 2, 3] : (tensor<1x4x14x1xf32>) -> tensor<1x4x14x14xf32>
    %176 = stablehlo.divide %172, %175 : tensor<1x4x14x14xf32>
    %177 = stablehlo.dot_general %176, %159, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x4x14x14xf32>, tensor<1x4x14x128xf32>) -> tensor<1x4x14x128xf32>
    %178 = stablehlo.transpose %177, dims = [0, 2, 1, 3] : (tensor<1x4x14x128xf32>) -> tensor<1x14x4x128xf32>
    %179 = stablehlo.reshape %178 : (tensor<1x14x4x128xf32>) -> tensor<1x14x512xf32>
    %180 = stablehlo.dot_general %179, %arg19, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x512xf32>, tensor<512x512xf32>) -> tensor<1x14x512xf32>
    %181 = stablehlo.broadcast_in_dim %arg18, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %183 = stablehlo.add %180, %182 : tensor<1x14x512xf32>
    %184 = stablehlo.add %146, %183 : tensor<1x14x512xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %185 = stablehlo.reduce(%184 init: %cst_30) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %186 = stablehlo.broadcast_in_dim %185, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_31 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %187 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %188 = stablehlo.divide %186, %187 : tensor<1x14x1xf32>
    %189 = stablehlo.broadcast_in_dim %188, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %190 = stablehlo.subtract %184, %189 : tensor<1x14x512xf32>
    %191 = chlo.square %190 : tensor<1x14x512xf32> -> tensor<1x14x512xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %192 = stablehlo.reduce(%191 init: %cst_32) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %193 = stablehlo.broadcast_in_dim %192, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_33 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %194 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %195 = stablehlo.divide %193, %194 : tensor<1x14x1xf32>
    %196 = stablehlo.broadcast_in_dim %188, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %197 = stablehlo.subtract %184, %196 : tensor<1x14x512xf32>
    %cst_34 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %198 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %199 = stablehlo.add %195, %198 : tensor<1x14x1xf32>
    %200 = stablehlo.rsqrt %199 : tensor<1x14x1xf32>
    %201 = stablehlo.broadcast_in_dim %200, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %202 = stablehlo.multiply %197, %201 : tensor<1x14x512xf32>
    %203 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %204 = stablehlo.broadcast_in_dim %203, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %205 = stablehlo.multiply %202, %204 : tensor<1x14x512xf32>
    %206 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %207 = stablehlo.broadcast_in_dim %206, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %208 = stablehlo.add %205, %207 : tensor<1x14x512xf32>
    %209 = stablehlo.dot_general %208, %arg23, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x512xf32>, tensor<512x2048xf32>) -> tensor<1x14x2048xf32>
    %210 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %211 = stablehlo.broadcast_in_dim %210, dims = [0, 1, 2] : (tensor<1x1x2048xf32>) -> tensor<1x14x2048xf32>
    %212 = stablehlo.add %209, %211 : tensor<1x14x2048xf32>
    %cst_35 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %213 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<1x14x2048xf32>
    %214 = stablehlo.multiply %213, %212 : tensor<1x14x2048xf32>
    %215 = stablehlo.negate %212 : tensor<1x14x2048xf32>
    %cst_36 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<1x14x2048xf32>
    %217 = stablehlo.multiply %215, %216 : tensor<1x14x2048xf32>
    %218 = chlo.erfc %217 : tensor<1x14x2048xf32> -> tensor<1x14x2048xf32>
    %219 = stablehlo.multiply %214, %218 : tensor<1x14x2048xf32>
    %220 = stablehlo.dot_general %219, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x14x2048xf32>, tensor<2048x512xf32>) -> tensor<1x14x512xf32>
    %221 = stablehlo.broadcast_in_dim %arg12, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %222 = stablehlo.broadcast_in_dim %221, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %223 = stablehlo.add %220, %222 : tensor<1x14x512xf32>
    %224 = stablehlo.add %208, %223 : tensor<1x14x512xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %225 = stablehlo.reduce(%224 init: %cst_37) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %226 = stablehlo.broadcast_in_dim %225, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_38 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %227 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %228 = stablehlo.divide %226, %227 : tensor<1x14x1xf32>
    %229 = stablehlo.broadcast_in_dim %228, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %230 = stablehlo.subtract %224, %229 : tensor<1x14x512xf32>
    %231 = chlo.square %230 : tensor<1x14x512xf32> -> tensor<1x14x512xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %232 = stablehlo.reduce(%231 init: %cst_39) applies stablehlo.add across dimensions = [2] : (tensor<1x14x512xf32>, tensor<f32>) -> tensor<1x14xf32>
    %233 = stablehlo.broadcast_in_dim %232, dims = [0, 1] : (tensor<1x14xf32>) -> tensor<1x14x1xf32>
    %cst_40 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %234 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %235 = stablehlo.divide %233, %234 : tensor<1x14x1xf32>
    %236 = stablehlo.broadcast_in_dim %228, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %237 = stablehlo.subtract %224, %236 : tensor<1x14x512xf32>
    %cst_41 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %238 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<1x14x1xf32>
    %239 = stablehlo.add %235, %238 : tensor<1x14x1xf32>
    %240 = stablehlo.rsqrt %239 : tensor<1x14x1xf32>
    %241 = stablehlo.broadcast_in_dim %240, dims = [0, 1, 2] : (tensor<1x14x1xf32>) -> tensor<1x14x512xf32>
    %242 = stablehlo.multiply %237, %241 : tensor<1x14x512xf32>
    %243 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %244 = stablehlo.broadcast_in_dim %243, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %245 = stablehlo.multiply %242, %244 : tensor<1x14x512xf32>
    %246 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %247 = stablehlo.broadcast_in_dim %246, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x14x512xf32>
    %248 = stablehlo.add %245, %247 : tensor<1x14x512xf32>
    %249 = stablehlo.slice %248 [0:1, 0:1, 0:512] : (tensor<1x14x512xf32>) -> tensor<1x1x512xf32>
    %250 = stablehlo.reshape %249 : (tensor<1x1x512xf32>) -> tensor<1x512xf32>
    %251 = stablehlo.dot_general %250, %arg27, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
    %252 = stablehlo.broadcast_in_dim %arg26, dims = [1] : (tensor<512xf32>) -> tensor<1x512xf32>
    %253 = stablehlo.add %251, %252 : tensor<1x512xf32>
    %254 = stablehlo.tanh %253 : tensor<1x512xf32>
    return %248, %254 : tensor<1x14x512xf32>, tensor<1x512xf32>
  }
  func.func private @_where(%arg0: tensor<1x1x1x14xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<1x1x1x14xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1x1x1x14xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<1x1x1x14xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<1x1x1x14xi1>, tensor<1x1x1x14xf32>
    return %2 : tensor<1x1x1x14xf32>
  }
}

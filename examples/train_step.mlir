module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512xf32>, %arg1: tensor<784x512xf32>, %arg2: tensor<256xf32>, %arg3: tensor<512x256xf32>, %arg4: tensor<10xf32>, %arg5: tensor<256x10xf32>, %arg6: tensor<512xf32>, %arg7: tensor<784x512xf32>, %arg8: tensor<256xf32>, %arg9: tensor<512x256xf32>, %arg10: tensor<10xf32>, %arg11: tensor<256x10xf32>, %arg12: tensor<512xf32>, %arg13: tensor<784x512xf32>, %arg14: tensor<256xf32>, %arg15: tensor<512x256xf32>, %arg16: tensor<10xf32>, %arg17: tensor<256x10xf32>, %arg18: tensor<i32>, %arg19: tensor<64x784xf32>, %arg20: tensor<64xi32>) -> (tensor<512xf32> {jax.result_info = "result[0][0]['bias']"}, tensor<784x512xf32> {jax.result_info = "result[0][0]['kernel']"}, tensor<256xf32> {jax.result_info = "result[0][1]['bias']"}, tensor<512x256xf32> {jax.result_info = "result[0][1]['kernel']"}, tensor<10xf32> {jax.result_info = "result[0][2]['bias']"}, tensor<256x10xf32> {jax.result_info = "result[0][2]['kernel']"}, tensor<512xf32> {jax.result_info = "result[1][0]['bias']"}, tensor<784x512xf32> {jax.result_info = "result[1][0]['kernel']"}, tensor<256xf32> {jax.result_info = "result[1][1]['bias']"}, tensor<512x256xf32> {jax.result_info = "result[1][1]['kernel']"}, tensor<10xf32> {jax.result_info = "result[1][2]['bias']"}, tensor<256x10xf32> {jax.result_info = "result[1][2]['kernel']"}, tensor<512xf32> {jax.result_info = "result[2][0]['bias']"}, tensor<784x512xf32> {jax.result_info = "result[2][0]['kernel']"}, tensor<256xf32> {jax.result_info = "result[2][1]['bias']"}, tensor<512x256xf32> {jax.result_info = "result[2][1]['kernel']"}, tensor<10xf32> {jax.result_info = "result[2][2]['bias']"}, tensor<256x10xf32> {jax.result_info = "result[2][2]['kernel']"}, tensor<i32> {jax.result_info = "result[3]"}, tensor<f32> {jax.result_info = "result[4]"}) {
    %0 = stablehlo.dot_general %arg19, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x784xf32>, tensor<784x512xf32>) -> tensor<64x512xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<512xf32>) -> tensor<1x512xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x512xf32>) -> tensor<64x512xf32>
    %3 = stablehlo.add %0, %2 : tensor<64x512xf32>
    %4 = call @relu(%3) : (tensor<64x512xf32>) -> tensor<64x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %6 = stablehlo.compare GT, %3, %5, FLOAT : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %8 = stablehlo.dot_general %4, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512xf32>, tensor<512x256xf32>) -> tensor<64x256xf32>
    %9 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<256xf32>) -> tensor<1x256xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x256xf32>) -> tensor<64x256xf32>
    %11 = stablehlo.add %8, %10 : tensor<64x256xf32>
    %12 = call @relu_0(%11) : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %14 = stablehlo.compare GT, %11, %13, FLOAT : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %16 = stablehlo.dot_general %12, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<256x10xf32>) -> tensor<64x10xf32>
    %17 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<64x10xf32>
    %19 = stablehlo.add %16, %18 : tensor<64x10xf32>
    %20 = call @_one_hot(%arg20) : (tensor<64xi32>) -> tensor<64x10xf32>
    %21:3 = call @log_softmax(%19) : (tensor<64x10xf32>) -> (tensor<64x10xf32>, tensor<64x10xf32>, tensor<64x1xf32>)
    %22 = stablehlo.multiply %20, %21#0 : tensor<64x10xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %cst_5 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %25 = stablehlo.divide %24, %cst_5 : tensor<f32>
    %26 = stablehlo.negate %25 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %27 = stablehlo.negate %cst_6 : tensor<f32>
    %cst_7 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %28 = stablehlo.divide %27, %cst_7 : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %31 = stablehlo.multiply %20, %30 : tensor<64x10xf32>
    %32 = call @log_softmax_1(%21#1, %21#2, %31) : (tensor<64x10xf32>, tensor<64x1xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%32 init: %cst_8) applies stablehlo.add across dimensions = [0] : (tensor<64x10xf32>, tensor<f32>) -> tensor<10xf32>
    %34 = stablehlo.reshape %33 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %36 = stablehlo.dot_general %32, %12, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x10xf32>, tensor<64x256xf32>) -> tensor<10x256xf32>
    %37 = stablehlo.transpose %36, dims = [1, 0] : (tensor<10x256xf32>) -> tensor<256x10xf32>
    %38 = stablehlo.dot_general %32, %arg5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x10xf32>, tensor<256x10xf32>) -> tensor<64x256xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %40 = stablehlo.select %14, %38, %39 : tensor<64x256xi1>, tensor<64x256xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_11) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %42 = stablehlo.reshape %41 : (tensor<256xf32>) -> tensor<1x256xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_12) applies stablehlo.add across dimensions = [0] : (tensor<1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %44 = stablehlo.dot_general %40, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
    %45 = stablehlo.transpose %44, dims = [1, 0] : (tensor<256x512xf32>) -> tensor<512x256xf32>
    %46 = stablehlo.dot_general %40, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<512x256xf32>) -> tensor<64x512xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %48 = stablehlo.select %6, %46, %47 : tensor<64x512xi1>, tensor<64x512xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_14) applies stablehlo.add across dimensions = [0] : (tensor<64x512xf32>, tensor<f32>) -> tensor<512xf32>
    %50 = stablehlo.reshape %49 : (tensor<512xf32>) -> tensor<1x512xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.reduce(%50 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %52 = stablehlo.dot_general %48, %arg19, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512xf32>, tensor<64x784xf32>) -> tensor<512x784xf32>
    %53 = stablehlo.transpose %52, dims = [1, 0] : (tensor<512x784xf32>) -> tensor<784x512xf32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %54 = stablehlo.add %arg18, %c : tensor<i32>
    %55 = stablehlo.convert %54 : (tensor<i32>) -> tensor<f32>
    %cst_16 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %57 = stablehlo.multiply %56, %arg6 : tensor<512xf32>
    %cst_17 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %59 = stablehlo.multiply %58, %51 : tensor<512xf32>
    %60 = stablehlo.add %57, %59 : tensor<512xf32>
    %cst_18 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %62 = stablehlo.multiply %61, %arg7 : tensor<784x512xf32>
    %cst_19 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %64 = stablehlo.multiply %63, %53 : tensor<784x512xf32>
    %65 = stablehlo.add %62, %64 : tensor<784x512xf32>
    %cst_20 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %67 = stablehlo.multiply %66, %arg8 : tensor<256xf32>
    %cst_21 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %69 = stablehlo.multiply %68, %43 : tensor<256xf32>
    %70 = stablehlo.add %67, %69 : tensor<256xf32>
    %cst_22 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %72 = stablehlo.multiply %71, %arg9 : tensor<512x256xf32>
    %cst_23 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %74 = stablehlo.multiply %73, %45 : tensor<512x256xf32>
    %75 = stablehlo.add %72, %74 : tensor<512x256xf32>
    %cst_24 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %77 = stablehlo.multiply %76, %arg10 : tensor<10xf32>
    %cst_25 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %79 = stablehlo.multiply %78, %35 : tensor<10xf32>
    %80 = stablehlo.add %77, %79 : tensor<10xf32>
    %cst_26 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %82 = stablehlo.multiply %81, %arg11 : tensor<256x10xf32>
    %cst_27 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %84 = stablehlo.multiply %83, %37 : tensor<256x10xf32>
    %85 = stablehlo.add %82, %84 : tensor<256x10xf32>
    %86 = stablehlo.abs %arg12 : tensor<512xf32>
    %cst_28 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %88 = stablehlo.multiply %87, %86 : tensor<512xf32>
    %cst_29 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %90 = stablehlo.multiply %89, %51 : tensor<512xf32>
    %91 = stablehlo.multiply %90, %51 : tensor<512xf32>
    %92 = stablehlo.add %88, %91 : tensor<512xf32>
    %93 = stablehlo.abs %arg13 : tensor<784x512xf32>
    %cst_30 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %95 = stablehlo.multiply %94, %93 : tensor<784x512xf32>
    %cst_31 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %97 = stablehlo.multiply %96, %53 : tensor<784x512xf32>
    %98 = stablehlo.multiply %97, %53 : tensor<784x512xf32>
    %99 = stablehlo.add %95, %98 : tensor<784x512xf32>
    %100 = stablehlo.abs %arg14 : tensor<256xf32>
    %cst_32 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %102 = stablehlo.multiply %101, %100 : tensor<256xf32>
    %cst_33 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %104 = stablehlo.multiply %103, %43 : tensor<256xf32>
    %105 = stablehlo.multiply %104, %43 : tensor<256xf32>
    %106 = stablehlo.add %102, %105 : tensor<256xf32>
    %107 = stablehlo.abs %arg15 : tensor<512x256xf32>
    %cst_34 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %109 = stablehlo.multiply %108, %107 : tensor<512x256xf32>
    %cst_35 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %111 = stablehlo.multiply %110, %45 : tensor<512x256xf32>
    %112 = stablehlo.multiply %111, %45 : tensor<512x256xf32>
    %113 = stablehlo.add %109, %112 : tensor<512x256xf32>
    %114 = stablehlo.abs %arg16 : tensor<10xf32>
    %cst_36 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %115 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %116 = stablehlo.multiply %115, %114 : tensor<10xf32>
    %cst_37 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %117 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %118 = stablehlo.multiply %117, %35 : tensor<10xf32>
    %119 = stablehlo.multiply %118, %35 : tensor<10xf32>
    %120 = stablehlo.add %116, %119 : tensor<10xf32>
    %121 = stablehlo.abs %arg17 : tensor<256x10xf32>
    %cst_38 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %123 = stablehlo.multiply %122, %121 : tensor<256x10xf32>
    %cst_39 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %124 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %125 = stablehlo.multiply %124, %37 : tensor<256x10xf32>
    %126 = stablehlo.multiply %125, %37 : tensor<256x10xf32>
    %127 = stablehlo.add %123, %126 : tensor<256x10xf32>
    %cst_40 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %128 = stablehlo.power %cst_40, %55 : tensor<f32>
    %cst_41 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %129 = stablehlo.subtract %cst_41, %128 : tensor<f32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %131 = stablehlo.divide %60, %130 : tensor<512xf32>
    %cst_42 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %133 = stablehlo.multiply %132, %131 : tensor<512xf32>
    %cst_43 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %134 = stablehlo.power %cst_43, %55 : tensor<f32>
    %cst_44 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %135 = stablehlo.subtract %cst_44, %134 : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %137 = stablehlo.divide %92, %136 : tensor<512xf32>
    %138 = stablehlo.sqrt %137 : tensor<512xf32>
    %cst_45 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %139 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %140 = stablehlo.add %138, %139 : tensor<512xf32>
    %141 = stablehlo.divide %133, %140 : tensor<512xf32>
    %142 = stablehlo.subtract %arg0, %141 : tensor<512xf32>
    %cst_46 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %143 = stablehlo.power %cst_46, %55 : tensor<f32>
    %cst_47 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %144 = stablehlo.subtract %cst_47, %143 : tensor<f32>
    %145 = stablehlo.broadcast_in_dim %144, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %146 = stablehlo.divide %65, %145 : tensor<784x512xf32>
    %cst_48 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %147 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %148 = stablehlo.multiply %147, %146 : tensor<784x512xf32>
    %cst_49 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %149 = stablehlo.power %cst_49, %55 : tensor<f32>
    %cst_50 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %150 = stablehlo.subtract %cst_50, %149 : tensor<f32>
    %151 = stablehlo.broadcast_in_dim %150, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %152 = stablehlo.divide %99, %151 : tensor<784x512xf32>
    %153 = stablehlo.sqrt %152 : tensor<784x512xf32>
    %cst_51 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %154 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<784x512xf32>
    %155 = stablehlo.add %153, %154 : tensor<784x512xf32>
    %156 = stablehlo.divide %148, %155 : tensor<784x512xf32>
    %157 = stablehlo.subtract %arg1, %156 : tensor<784x512xf32>
    %cst_52 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %158 = stablehlo.power %cst_52, %55 : tensor<f32>
    %cst_53 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %159 = stablehlo.subtract %cst_53, %158 : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %161 = stablehlo.divide %70, %160 : tensor<256xf32>
    %cst_54 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %162 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %163 = stablehlo.multiply %162, %161 : tensor<256xf32>
    %cst_55 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %164 = stablehlo.power %cst_55, %55 : tensor<f32>
    %cst_56 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %165 = stablehlo.subtract %cst_56, %164 : tensor<f32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %167 = stablehlo.divide %106, %166 : tensor<256xf32>
    %168 = stablehlo.sqrt %167 : tensor<256xf32>
    %cst_57 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %169 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %170 = stablehlo.add %168, %169 : tensor<256xf32>
    %171 = stablehlo.divide %163, %170 : tensor<256xf32>
    %172 = stablehlo.subtract %arg2, %171 : tensor<256xf32>
    %cst_58 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %173 = stablehlo.power %cst_58, %55 : tensor<f32>
    %cst_59 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %174 = stablehlo.subtract %cst_59, %173 : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %174, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %176 = stablehlo.divide %75, %175 : tensor<512x256xf32>
    %cst_60 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %177 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %178 = stablehlo.multiply %177, %176 : tensor<512x256xf32>
    %cst_61 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %179 = stablehlo.power %cst_61, %55 : tensor<f32>
    %cst_62 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %180 = stablehlo.subtract %cst_62, %179 : tensor<f32>
    %181 = stablehlo.broadcast_in_dim %180, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %182 = stablehlo.divide %113, %181 : tensor<512x256xf32>
    %183 = stablehlo.sqrt %182 : tensor<512x256xf32>
    %cst_63 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %184 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %185 = stablehlo.add %183, %184 : tensor<512x256xf32>
    %186 = stablehlo.divide %178, %185 : tensor<512x256xf32>
    %187 = stablehlo.subtract %arg3, %186 : tensor<512x256xf32>
    %cst_64 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %188 = stablehlo.power %cst_64, %55 : tensor<f32>
    %cst_65 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %189 = stablehlo.subtract %cst_65, %188 : tensor<f32>
    %190 = stablehlo.broadcast_in_dim %189, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %191 = stablehlo.divide %80, %190 : tensor<10xf32>
    %cst_66 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %192 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %193 = stablehlo.multiply %192, %191 : tensor<10xf32>
    %cst_67 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %194 = stablehlo.power %cst_67, %55 : tensor<f32>
    %cst_68 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %195 = stablehlo.subtract %cst_68, %194 : tensor<f32>
    %196 = stablehlo.broadcast_in_dim %195, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %197 = stablehlo.divide %120, %196 : tensor<10xf32>
    %198 = stablehlo.sqrt %197 : tensor<10xf32>
    %cst_69 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %199 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %200 = stablehlo.add %198, %199 : tensor<10xf32>
    %201 = stablehlo.divide %193, %200 : tensor<10xf32>
    %202 = stablehlo.subtract %arg4, %201 : tensor<10xf32>
    %cst_70 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %203 = stablehlo.power %cst_70, %55 : tensor<f32>
    %cst_71 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %204 = stablehlo.subtract %cst_71, %203 : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %204, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %206 = stablehlo.divide %85, %205 : tensor<256x10xf32>
    %cst_72 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %207 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %208 = stablehlo.multiply %207, %206 : tensor<256x10xf32>
    %cst_73 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %209 = stablehlo.power %cst_73, %55 : tensor<f32>
    %cst_74 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %210 = stablehlo.subtract %cst_74, %209 : tensor<f32>
    %211 = stablehlo.broadcast_in_dim %210, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %212 = stablehlo.divide %127, %211 : tensor<256x10xf32>
    %213 = stablehlo.sqrt %212 : tensor<256x10xf32>
    %cst_75 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %214 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<256x10xf32>
    %215 = stablehlo.add %213, %214 : tensor<256x10xf32>
    %216 = stablehlo.divide %208, %215 : tensor<256x10xf32>
    %217 = stablehlo.subtract %arg5, %216 : tensor<256x10xf32>
    %c_76 = stablehlo.constant dense<1> : tensor<i32>
    %218 = stablehlo.add %arg18, %c_76 : tensor<i32>
    return %142, %157, %172, %187, %202, %217, %60, %65, %70, %75, %80, %85, %92, %99, %106, %113, %120, %127, %218, %26 : tensor<512xf32>, tensor<784x512xf32>, tensor<256xf32>, tensor<512x256xf32>, tensor<10xf32>, tensor<256x10xf32>, tensor<512xf32>, tensor<784x512xf32>, tensor<256xf32>, tensor<512x256xf32>, tensor<10xf32>, tensor<256x10xf32>, tensor<512xf32>, tensor<784x512xf32>, tensor<256xf32>, tensor<512x256xf32>, tensor<10xf32>, tensor<256x10xf32>, tensor<i32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<64x512xf32>) -> tensor<64x512xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x512xf32>
    return %1 : tensor<64x512xf32>
  }
  func.func private @relu_0(%arg0: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x256xf32>
    return %1 : tensor<64x256xf32>
  }
  func.func private @_one_hot(%arg0: tensor<64xi32>) -> tensor<64x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<64xi32>) -> tensor<64x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x10xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<64x10xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<64x10xi32>, tensor<64x10xi32>) -> tensor<64x10xi1>
    %5 = stablehlo.convert %4 : (tensor<64x10xi1>) -> tensor<64x10xf32>
    return %5 : tensor<64x10xf32>
  }
  func.func private @log_softmax(%arg0: tensor<64x10xf32>) -> (tensor<64x10xf32>, tensor<64x10xf32>, tensor<64x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<64xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<64x10xf32>
    %6 = stablehlo.exponential %5 : tensor<64x10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %9 = stablehlo.log %8 : tensor<64x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<64x10xf32>
    return %11, %6, %8 : tensor<64x10xf32>, tensor<64x10xf32>, tensor<64x1xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<64x10xf32>, %arg1: tensor<64x1xf32>, %arg2: tensor<64x10xf32>) -> tensor<64x10xf32> {
    %0 = stablehlo.negate %arg2 : tensor<64x10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.reshape %1 : (tensor<64xf32>) -> tensor<64x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<64x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<64x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<64x10xf32>
    return %7 : tensor<64x10xf32>
  }
}

module @jit_keras_gru_classifier attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<96x576xf32>, %arg1: tensor<192x576xf32>, %arg2: tensor<2x576xf32>, %arg3: tensor<96x576xf32>, %arg4: tensor<192x576xf32>, %arg5: tensor<2x576xf32>, %arg6: tensor<384xf32>, %arg7: tensor<384xf32>, %arg8: tensor<384x16xf32>, %arg9: tensor<16xf32>, %arg10: tensor<2xui32>, %arg11: tensor<2xui32>, %arg12: tensor<2x48x96xf32>) -> (tensor<2x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %2 = stablehlo.slice %arg12 [0:2, 0:1, 0:96] : (tensor<2x48x96xf32>) -> tensor<2x1x96xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x1x96xf32>) -> tensor<2x96xf32>
    %4 = stablehlo.slice %arg2 [0:1, 0:576] : (tensor<2x576xf32>) -> tensor<1x576xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x576xf32>) -> tensor<576xf32>
    %6 = stablehlo.slice %arg2 [1:2, 0:576] : (tensor<2x576xf32>) -> tensor<1x576xf32>
    %7 = stablehlo.reshape %6 : (tensor<1x576xf32>) -> tensor<576xf32>
    %8 = stablehlo.dot_general %arg12, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x48x96xf32>, tensor<96x576xf32>) -> tensor<2x48x576xf32>
    %9 = stablehlo.broadcast_in_dim %5, dims = [2] : (tensor<576xf32>) -> tensor<1x1x576xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x1x576xf32>) -> tensor<2x48x576xf32>
    %11 = stablehlo.add %8, %10 : tensor<2x48x576xf32>
    %12 = stablehlo.transpose %11, dims = [1, 0, 2] : (tensor<2x48x576xf32>) -> tensor<48x2x576xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<48x2x192xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %14:6 = stablehlo.while(%iterArg = %12, %iterArg_13 = %arg1, %iterArg_14 = %7, %iterArg_15 = %c, %iterArg_16 = %1, %iterArg_17 = %13) : tensor<48x2x576xf32>, tensor<192x576xf32>, tensor<576xf32>, tensor<i32>, tensor<2x192xf32>, tensor<48x2x192xf32>
    cond {
      %c_18 = stablehlo.constant dense<48> : tensor<i32>
      %70 = stablehlo.compare LT, %iterArg_15, %c_18, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %70 : tensor<i1>
    } do {
      %70 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_15) : (tensor<48x2x576xf32>, tensor<i32>) -> tensor<2x576xf32>
      %71:2 = func.call @closed_call(%iterArg_13, %iterArg_14, %iterArg_16, %70) : (tensor<192x576xf32>, tensor<576xf32>, tensor<2x192xf32>, tensor<2x576xf32>) -> (tensor<2x192xf32>, tensor<2x192xf32>)
      %72 = func.call @dynamic_update_index_in_dim(%iterArg_17, %71#1, %iterArg_15) : (tensor<48x2x192xf32>, tensor<2x192xf32>, tensor<i32>) -> tensor<48x2x192xf32>
      %c_18 = stablehlo.constant dense<1> : tensor<i32>
      %73 = stablehlo.add %iterArg_15, %c_18 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_13, %iterArg_14, %73, %71#0, %72 : tensor<48x2x576xf32>, tensor<192x576xf32>, tensor<576xf32>, tensor<i32>, tensor<2x192xf32>, tensor<48x2x192xf32>
    }
    %15 = stablehlo.transpose %14#5, dims = [1, 0, 2] : (tensor<48x2x192xf32>) -> tensor<2x48x192xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %17 = stablehlo.slice %arg12 [0:2, 0:1, 0:96] : (tensor<2x48x96xf32>) -> tensor<2x1x96xf32>
    %18 = stablehlo.reshape %17 : (tensor<2x1x96xf32>) -> tensor<2x96xf32>
    %19 = stablehlo.slice %arg5 [0:1, 0:576] : (tensor<2x576xf32>) -> tensor<1x576xf32>
    %20 = stablehlo.reshape %19 : (tensor<1x576xf32>) -> tensor<576xf32>
    %21 = stablehlo.slice %arg5 [1:2, 0:576] : (tensor<2x576xf32>) -> tensor<1x576xf32>
    %22 = stablehlo.reshape %21 : (tensor<1x576xf32>) -> tensor<576xf32>
    %23 = call @_flip(%arg12) : (tensor<2x48x96xf32>) -> tensor<2x48x96xf32>
    %24 = stablehlo.dot_general %23, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x48x96xf32>, tensor<96x576xf32>) -> tensor<2x48x576xf32>
    %25 = stablehlo.broadcast_in_dim %20, dims = [2] : (tensor<576xf32>) -> tensor<1x1x576xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<1x1x576xf32>) -> tensor<2x48x576xf32>
    %27 = stablehlo.add %24, %26 : tensor<2x48x576xf32>
    %28 = stablehlo.transpose %27, dims = [1, 0, 2] : (tensor<2x48x576xf32>) -> tensor<48x2x576xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<48x2x192xf32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %30:6 = stablehlo.while(%iterArg = %28, %iterArg_13 = %arg4, %iterArg_14 = %22, %iterArg_15 = %c_4, %iterArg_16 = %16, %iterArg_17 = %29) : tensor<48x2x576xf32>, tensor<192x576xf32>, tensor<576xf32>, tensor<i32>, tensor<2x192xf32>, tensor<48x2x192xf32>
    cond {
      %c_18 = stablehlo.constant dense<48> : tensor<i32>
      %70 = stablehlo.compare LT, %iterArg_15, %c_18, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %70 : tensor<i1>
    } do {
      %70 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_15) : (tensor<48x2x576xf32>, tensor<i32>) -> tensor<2x576xf32>
      %71:2 = func.call @closed_call_0(%iterArg_13, %iterArg_14, %iterArg_16, %70) : (tensor<192x576xf32>, tensor<576xf32>, tensor<2x192xf32>, tensor<2x576xf32>) -> (tensor<2x192xf32>, tensor<2x192xf32>)
      %72 = func.call @dynamic_update_index_in_dim(%iterArg_17, %71#1, %iterArg_15) : (tensor<48x2x192xf32>, tensor<2x192xf32>, tensor<i32>) -> tensor<48x2x192xf32>
      %c_18 = stablehlo.constant dense<1> : tensor<i32>
      %73 = stablehlo.add %iterArg_15, %c_18 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_13, %iterArg_14, %73, %71#0, %72 : tensor<48x2x576xf32>, tensor<192x576xf32>, tensor<576xf32>, tensor<i32>, tensor<2x192xf32>, tensor<48x2x192xf32>
    }
    %31 = stablehlo.transpose %30#5, dims = [1, 0, 2] : (tensor<48x2x192xf32>) -> tensor<2x48x192xf32>
    %32 = call @_flip_1(%31) : (tensor<2x48x192xf32>) -> tensor<2x48x192xf32>
    %33 = stablehlo.concatenate %15, %32, dim = 2 : (tensor<2x48x192xf32>, tensor<2x48x192xf32>) -> tensor<2x48x384xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%33 init: %cst_5) applies stablehlo.add across dimensions = [2] : (tensor<2x48x384xf32>, tensor<f32>) -> tensor<2x48xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %cst_6 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %37 = stablehlo.divide %35, %36 : tensor<2x48x1xf32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %38 = call @_var(%33, %c_7) : (tensor<2x48x384xf32>, tensor<i32>) -> tensor<2x48x1xf32>
    %39 = stablehlo.reshape %arg6 : (tensor<384xf32>) -> tensor<1x1x384xf32>
    %40 = stablehlo.reshape %arg7 : (tensor<384xf32>) -> tensor<1x1x384xf32>
    %cst_8 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %42 = stablehlo.add %38, %41 : tensor<2x48x1xf32>
    %43 = stablehlo.rsqrt %42 : tensor<2x48x1xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x384xf32>
    %45 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2] : (tensor<1x1x384xf32>) -> tensor<2x48x384xf32>
    %46 = stablehlo.multiply %44, %45 : tensor<2x48x384xf32>
    %47 = stablehlo.negate %37 : tensor<2x48x1xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x384xf32>
    %49 = stablehlo.multiply %48, %46 : tensor<2x48x384xf32>
    %50 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<1x1x384xf32>) -> tensor<2x48x384xf32>
    %51 = stablehlo.add %49, %50 : tensor<2x48x384xf32>
    %52 = stablehlo.multiply %33, %46 : tensor<2x48x384xf32>
    %53 = stablehlo.add %52, %51 : tensor<2x48x384xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %54 = stablehlo.reduce(%53 init: %cst_9) applies stablehlo.maximum across dimensions = [1] : (tensor<2x48x384xf32>, tensor<f32>) -> tensor<2x384xf32>
    %55 = stablehlo.dot_general %54, %arg8, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x384xf32>, tensor<384x16xf32>) -> tensor<2x16xf32>
    %56 = stablehlo.broadcast_in_dim %arg9, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<2x16xf32>
    %58 = stablehlo.add %55, %57 : tensor<2x16xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %59 = stablehlo.reduce(%58 init: %cst_10) applies stablehlo.maximum across dimensions = [1] : (tensor<2x16xf32>, tensor<f32>) -> tensor<2xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %61 = stablehlo.maximum %60, %59 : tensor<2xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x16xf32>
    %64 = stablehlo.subtract %58, %63 : tensor<2x16xf32>
    %65 = stablehlo.exponential %64 : tensor<2x16xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %66 = stablehlo.reduce(%65 init: %cst_12) applies stablehlo.add across dimensions = [1] : (tensor<2x16xf32>, tensor<f32>) -> tensor<2xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x16xf32>
    %69 = stablehlo.divide %65, %68 : tensor<2x16xf32>
    return %69 : tensor<2x16xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<48x2x576xf32>, %arg1: tensor<i32>) -> tensor<2x576xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 576] : (tensor<48x2x576xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x576xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x576xf32>) -> tensor<2x576xf32>
    return %1 : tensor<2x576xf32>
  }
  func.func private @closed_call(%arg0: tensor<192x576xf32>, %arg1: tensor<576xf32>, %arg2: tensor<2x192xf32>, %arg3: tensor<2x576xf32>) -> (tensor<2x192xf32>, tensor<2x192xf32>) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x192xf32>, tensor<192x576xf32>) -> tensor<2x576xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<576xf32>) -> tensor<1x576xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x576xf32>) -> tensor<2x576xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x576xf32>
    %4 = stablehlo.slice %arg3 [0:2, 0:192] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %5 = stablehlo.slice %arg3 [0:2, 192:384] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %6 = stablehlo.slice %arg3 [0:2, 384:576] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %7 = stablehlo.slice %3 [0:2, 0:192] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %8 = stablehlo.slice %3 [0:2, 192:384] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %9 = stablehlo.slice %3 [0:2, 384:576] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %10 = stablehlo.add %4, %7 : tensor<2x192xf32>
    %11 = stablehlo.negate %10 : tensor<2x192xf32>
    %12 = stablehlo.exponential %11 : tensor<2x192xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %14 = stablehlo.add %13, %12 : tensor<2x192xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %16 = stablehlo.divide %15, %14 : tensor<2x192xf32>
    %17 = stablehlo.add %5, %8 : tensor<2x192xf32>
    %18 = stablehlo.negate %17 : tensor<2x192xf32>
    %19 = stablehlo.exponential %18 : tensor<2x192xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %21 = stablehlo.add %20, %19 : tensor<2x192xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %23 = stablehlo.divide %22, %21 : tensor<2x192xf32>
    %24 = stablehlo.multiply %23, %9 : tensor<2x192xf32>
    %25 = stablehlo.add %6, %24 : tensor<2x192xf32>
    %26 = stablehlo.tanh %25 : tensor<2x192xf32>
    %27 = stablehlo.multiply %16, %arg2 : tensor<2x192xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %29 = stablehlo.subtract %28, %16 : tensor<2x192xf32>
    %30 = stablehlo.multiply %29, %26 : tensor<2x192xf32>
    %31 = stablehlo.add %27, %30 : tensor<2x192xf32>
    return %31, %31 : tensor<2x192xf32>, tensor<2x192xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<48x2x192xf32>, %arg1: tensor<2x192xf32>, %arg2: tensor<i32>) -> tensor<48x2x192xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x192xf32>) -> tensor<1x2x192xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<48x2x192xf32>, tensor<1x2x192xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<48x2x192xf32>
    return %1 : tensor<48x2x192xf32>
  }
  func.func private @_flip(%arg0: tensor<2x48x96xf32>) -> tensor<2x48x96xf32> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x48x96xf32>
    return %0 : tensor<2x48x96xf32>
  }
  func.func private @closed_call_0(%arg0: tensor<192x576xf32>, %arg1: tensor<576xf32>, %arg2: tensor<2x192xf32>, %arg3: tensor<2x576xf32>) -> (tensor<2x192xf32>, tensor<2x192xf32>) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x192xf32>, tensor<192x576xf32>) -> tensor<2x576xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<576xf32>) -> tensor<1x576xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x576xf32>) -> tensor<2x576xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x576xf32>
    %4 = stablehlo.slice %arg3 [0:2, 0:192] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %5 = stablehlo.slice %arg3 [0:2, 192:384] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %6 = stablehlo.slice %arg3 [0:2, 384:576] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %7 = stablehlo.slice %3 [0:2, 0:192] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %8 = stablehlo.slice %3 [0:2, 192:384] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %9 = stablehlo.slice %3 [0:2, 384:576] : (tensor<2x576xf32>) -> tensor<2x192xf32>
    %10 = stablehlo.add %4, %7 : tensor<2x192xf32>
    %11 = stablehlo.negate %10 : tensor<2x192xf32>
    %12 = stablehlo.exponential %11 : tensor<2x192xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %14 = stablehlo.add %13, %12 : tensor<2x192xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %16 = stablehlo.divide %15, %14 : tensor<2x192xf32>
    %17 = stablehlo.add %5, %8 : tensor<2x192xf32>
    %18 = stablehlo.negate %17 : tensor<2x192xf32>
    %19 = stablehlo.exponential %18 : tensor<2x192xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %21 = stablehlo.add %20, %19 : tensor<2x192xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %23 = stablehlo.divide %22, %21 : tensor<2x192xf32>
    %24 = stablehlo.multiply %23, %9 : tensor<2x192xf32>
    %25 = stablehlo.add %6, %24 : tensor<2x192xf32>
    %26 = stablehlo.tanh %25 : tensor<2x192xf32>
    %27 = stablehlo.multiply %16, %arg2 : tensor<2x192xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x192xf32>
    %29 = stablehlo.subtract %28, %16 : tensor<2x192xf32>
    %30 = stablehlo.multiply %29, %26 : tensor<2x192xf32>
    %31 = stablehlo.add %27, %30 : tensor<2x192xf32>
    return %31, %31 : tensor<2x192xf32>, tensor<2x192xf32>
  }
  func.func private @_flip_1(%arg0: tensor<2x48x192xf32>) -> tensor<2x48x192xf32> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x48x192xf32>
    return %0 : tensor<2x48x192xf32>
  }
  func.func private @_var(%arg0: tensor<2x48x384xf32>, %arg1: tensor<i32>) -> tensor<2x48x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x48x384xf32>, tensor<f32>) -> tensor<2x48xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %cst_0 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x48x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x384xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x48x384xf32>
    %6 = chlo.square %5 : tensor<2x48x384xf32> -> tensor<2x48x384xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<2x48x384xf32>, tensor<f32>) -> tensor<2x48xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x48x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<2x48x1xf32>, tensor<f32>) -> tensor<2x48x1xf32>
    return %14 : tensor<2x48x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x48x1xf32>, %arg2: tensor<f32>) -> tensor<2x48x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x48x1xf32>
    return %2 : tensor<2x48x1xf32>
  }
}

module @jit_llama_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024x384xf32>, %arg1: tensor<384x1024xf32>, %arg2: tensor<384x384xf32>, %arg3: tensor<384xf32>, %arg4: tensor<384xf32>, %arg5: tensor<384x384xf32>, %arg6: tensor<384x384xf32>, %arg7: tensor<384x1024xf32>, %arg8: tensor<384x384xf32>, %arg9: tensor<1x64x384xf32>, %arg10: tensor<64xi32>) -> (tensor<1x64x384xf32> {jax.result_info = "result"}) {
    %0 = chlo.square %arg9 : tensor<1x64x384xf32> -> tensor<1x64x384xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<1x64x384xf32>, tensor<f32>) -> tensor<1x64xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<1x64x1xf32>
    %cst_0 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x64x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<1x64x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x64x1xf32>
    %6 = stablehlo.add %4, %5 : tensor<1x64x1xf32>
    %7 = stablehlo.rsqrt %6 : tensor<1x64x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x64x1xf32>) -> tensor<1x64x384xf32>
    %9 = stablehlo.multiply %arg9, %8 : tensor<1x64x384xf32>
    %10 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<384xf32>) -> tensor<1x1x384xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x1x384xf32>) -> tensor<1x64x384xf32>
    %12 = stablehlo.multiply %9, %11 : tensor<1x64x384xf32>
    %13 = stablehlo.dot_general %12, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x384xf32>, tensor<384x384xf32>) -> tensor<1x64x384xf32>
    %14 = stablehlo.reshape %13 : (tensor<1x64x384xf32>) -> tensor<1x64x6x64xf32>
    %15 = stablehlo.transpose %14, dims = [0, 2, 1, 3] : (tensor<1x64x6x64xf32>) -> tensor<1x6x64x64xf32>
    %16 = stablehlo.dot_general %12, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x384xf32>, tensor<384x384xf32>) -> tensor<1x64x384xf32>
    %17 = stablehlo.reshape %16 : (tensor<1x64x384xf32>) -> tensor<1x64x6x64xf32>
    %18 = stablehlo.transpose %17, dims = [0, 2, 1, 3] : (tensor<1x64x6x64xf32>) -> tensor<1x6x64x64xf32>
    %19 = stablehlo.dot_general %12, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x384xf32>, tensor<384x384xf32>) -> tensor<1x64x384xf32>
    %20 = stablehlo.reshape %19 : (tensor<1x64x384xf32>) -> tensor<1x64x6x64xf32>
    %21 = stablehlo.transpose %20, dims = [0, 2, 1, 3] : (tensor<1x64x6x64xf32>) -> tensor<1x6x64x64xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %22 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<64x64xi1>
    %23 = call @tril(%22) : (tensor<64x64xi1>) -> tensor<64x64xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %24 = call @_where(%23, %cst_2, %cst_3) : (tensor<64x64xi1>, tensor<f32>, tensor<f32>) -> tensor<64x64xf32>
    %25 = stablehlo.convert %arg10 : (tensor<64xi32>) -> tensor<64xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %27 = stablehlo.iota dim = 0 : tensor<32xi32>
    %28 = stablehlo.negate %27 : tensor<32xi32>
    %29 = stablehlo.convert %28 : (tensor<32xi32>) -> tensor<32xf32>
    %cst_4 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %31 = stablehlo.divide %29, %30 : tensor<32xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %33 = stablehlo.power %32, %31 : tensor<32xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %35 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x32xf32>
    %36 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<64x32xf32>
    %37 = stablehlo.multiply %35, %36 : tensor<64x32xf32>
    %38 = stablehlo.slice %15 [0:1, 0:6, 0:64, 0:32] : (tensor<1x6x64x64xf32>) -> tensor<1x6x64x32xf32>
    %39 = stablehlo.slice %15 [0:1, 0:6, 0:64, 32:64] : (tensor<1x6x64x64xf32>) -> tensor<1x6x64x32xf32>
    %40 = stablehlo.cosine %37 : tensor<64x32xf32>
    %41 = stablehlo.sine %37 : tensor<64x32xf32>
    %42 = stablehlo.broadcast_in_dim %40, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %44 = stablehlo.multiply %38, %43 : tensor<1x6x64x32xf32>
    %45 = stablehlo.broadcast_in_dim %41, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %47 = stablehlo.multiply %39, %46 : tensor<1x6x64x32xf32>
    %48 = stablehlo.subtract %44, %47 : tensor<1x6x64x32xf32>
    %49 = stablehlo.broadcast_in_dim %40, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %51 = stablehlo.multiply %39, %50 : tensor<1x6x64x32xf32>
    %52 = stablehlo.broadcast_in_dim %41, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %54 = stablehlo.multiply %38, %53 : tensor<1x6x64x32xf32>
    %55 = stablehlo.add %51, %54 : tensor<1x6x64x32xf32>
    %56 = stablehlo.concatenate %48, %55, dim = 3 : (tensor<1x6x64x32xf32>, tensor<1x6x64x32xf32>) -> tensor<1x6x64x64xf32>
    %57 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %58 = stablehlo.iota dim = 0 : tensor<32xi32>
    %59 = stablehlo.negate %58 : tensor<32xi32>
    %60 = stablehlo.convert %59 : (tensor<32xi32>) -> tensor<32xf32>
    %cst_6 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %62 = stablehlo.divide %60, %61 : tensor<32xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %64 = stablehlo.power %63, %62 : tensor<32xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %66 = stablehlo.broadcast_in_dim %57, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x32xf32>
    %67 = stablehlo.broadcast_in_dim %65, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<64x32xf32>
    %68 = stablehlo.multiply %66, %67 : tensor<64x32xf32>
    %69 = stablehlo.slice %18 [0:1, 0:6, 0:64, 0:32] : (tensor<1x6x64x64xf32>) -> tensor<1x6x64x32xf32>
    %70 = stablehlo.slice %18 [0:1, 0:6, 0:64, 32:64] : (tensor<1x6x64x64xf32>) -> tensor<1x6x64x32xf32>
    %71 = stablehlo.cosine %68 : tensor<64x32xf32>
    %72 = stablehlo.sine %68 : tensor<64x32xf32>
    %73 = stablehlo.broadcast_in_dim %71, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %75 = stablehlo.multiply %69, %74 : tensor<1x6x64x32xf32>
    %76 = stablehlo.broadcast_in_dim %72, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %78 = stablehlo.multiply %70, %77 : tensor<1x6x64x32xf32>
    %79 = stablehlo.subtract %75, %78 : tensor<1x6x64x32xf32>
    %80 = stablehlo.broadcast_in_dim %71, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %82 = stablehlo.multiply %70, %81 : tensor<1x6x64x32xf32>
    %83 = stablehlo.broadcast_in_dim %72, dims = [2, 3] : (tensor<64x32xf32>) -> tensor<1x1x64x32xf32>
    %84 = stablehlo.broadcast_in_dim %83, dims = [0, 1, 2, 3] : (tensor<1x1x64x32xf32>) -> tensor<1x6x64x32xf32>
    %85 = stablehlo.multiply %69, %84 : tensor<1x6x64x32xf32>
    %86 = stablehlo.add %82, %85 : tensor<1x6x64x32xf32>
    %87 = stablehlo.concatenate %79, %86, dim = 3 : (tensor<1x6x64x32xf32>, tensor<1x6x64x32xf32>) -> tensor<1x6x64x64xf32>
    %88 = stablehlo.dot_general %56, %87, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x6x64x64xf32>, tensor<1x6x64x64xf32>) -> tensor<1x6x64x64xf32>
    %cst_8 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x6x64x64xf32>
    %90 = stablehlo.divide %88, %89 : tensor<1x6x64x64xf32>
    %91 = stablehlo.convert %24 : tensor<64x64xf32>
    %92 = stablehlo.broadcast_in_dim %91, dims = [2, 3] : (tensor<64x64xf32>) -> tensor<1x1x64x64xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2, 3] : (tensor<1x1x64x64xf32>) -> tensor<1x6x64x64xf32>
    %94 = stablehlo.add %90, %93 : tensor<1x6x64x64xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %95 = stablehlo.reduce(%94 init: %cst_9) applies stablehlo.maximum across dimensions = [3] : (tensor<1x6x64x64xf32>, tensor<f32>) -> tensor<1x6x64xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<1x6x64xf32>
    %97 = stablehlo.maximum %96, %95 : tensor<1x6x64xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0, 1, 2] : (tensor<1x6x64xf32>) -> tensor<1x6x64x1xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1, 2, 3] : (tensor<1x6x64x1xf32>) -> tensor<1x6x64x64xf32>
    %100 = stablehlo.subtract %94, %99 : tensor<1x6x64x64xf32>
    %101 = stablehlo.exponential %100 : tensor<1x6x64x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %102 = stablehlo.reduce(%101 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<1x6x64x64xf32>, tensor<f32>) -> tensor<1x6x64xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0, 1, 2] : (tensor<1x6x64xf32>) -> tensor<1x6x64x1xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2, 3] : (tensor<1x6x64x1xf32>) -> tensor<1x6x64x64xf32>
    %105 = stablehlo.divide %101, %104 : tensor<1x6x64x64xf32>
    %106 = stablehlo.dot_general %105, %21, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x6x64x64xf32>, tensor<1x6x64x64xf32>) -> tensor<1x6x64x64xf32>
    %107 = stablehlo.transpose %106, dims = [0, 2, 1, 3] : (tensor<1x6x64x64xf32>) -> tensor<1x64x6x64xf32>
    %108 = stablehlo.reshape %107 : (tensor<1x64x6x64xf32>) -> tensor<1x64x384xf32>
    %109 = stablehlo.dot_general %108, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x384xf32>, tensor<384x384xf32>) -> tensor<1x64x384xf32>
    %110 = stablehlo.add %arg9, %109 : tensor<1x64x384xf32>
    %111 = chlo.square %110 : tensor<1x64x384xf32> -> tensor<1x64x384xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %112 = stablehlo.reduce(%111 init: %cst_12) applies stablehlo.add across dimensions = [2] : (tensor<1x64x384xf32>, tensor<f32>) -> tensor<1x64xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<1x64x1xf32>
    %cst_13 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<1x64x1xf32>
    %115 = stablehlo.divide %113, %114 : tensor<1x64x1xf32>
    %cst_14 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<1x64x1xf32>
    %117 = stablehlo.add %115, %116 : tensor<1x64x1xf32>
    %118 = stablehlo.rsqrt %117 : tensor<1x64x1xf32>
    %119 = stablehlo.broadcast_in_dim %118, dims = [0, 1, 2] : (tensor<1x64x1xf32>) -> tensor<1x64x384xf32>
    %120 = stablehlo.multiply %110, %119 : tensor<1x64x384xf32>
    %121 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<384xf32>) -> tensor<1x1x384xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1, 2] : (tensor<1x1x384xf32>) -> tensor<1x64x384xf32>
    %123 = stablehlo.multiply %120, %122 : tensor<1x64x384xf32>
    %124 = stablehlo.dot_general %123, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x384xf32>, tensor<384x1024xf32>) -> tensor<1x64x1024xf32>
    %125 = call @silu(%124) : (tensor<1x64x1024xf32>) -> tensor<1x64x1024xf32>
    %126 = stablehlo.dot_general %123, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x384xf32>, tensor<384x1024xf32>) -> tensor<1x64x1024xf32>
    %127 = stablehlo.multiply %125, %126 : tensor<1x64x1024xf32>
    %128 = stablehlo.dot_general %127, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64x1024xf32>, tensor<1024x384xf32>) -> tensor<1x64x384xf32>
    %129 = stablehlo.add %110, %128 : tensor<1x64x384xf32>
    return %129 : tensor<1x64x384xf32>
  }
  func.func private @tril(%arg0: tensor<64x64xi1>) -> tensor<64x64xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %2 = stablehlo.add %0, %1 : tensor<64x64xi32>
    %3 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<64x64xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<64x64xi1>, tensor<64x64xi1>
    return %6 : tensor<64x64xi1>
  }
  func.func private @_where(%arg0: tensor<64x64xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<64x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<64x64xi1>, tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
  func.func private @silu(%arg0: tensor<1x64x1024xf32>) -> tensor<1x64x1024xf32> {
    %0 = stablehlo.negate %arg0 : tensor<1x64x1024xf32>
    %1 = stablehlo.exponential %0 : tensor<1x64x1024xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x64x1024xf32>
    %3 = stablehlo.add %2, %1 : tensor<1x64x1024xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x64x1024xf32>
    %5 = stablehlo.divide %4, %3 : tensor<1x64x1024xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x64x1024xf32>
    return %6 : tensor<1x64x1024xf32>
  }
}

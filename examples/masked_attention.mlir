module @jit_masked_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256xf32>, %arg1: tensor<256x256xf32>, %arg2: tensor<768xf32>, %arg3: tensor<256x768xf32>, %arg4: tensor<2x192x256xf32>, %arg5: tensor<2x192xi32>) -> (tensor<2x192x256xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<192x192xi1>
    %1 = call @tril(%0) : (tensor<192x192xi1>) -> tensor<192x192xi1>
    %2 = stablehlo.broadcast_in_dim %arg5, dims = [0, 3] : (tensor<2x192xi32>) -> tensor<2x1x1x192xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x1x1x192xi32>
    %4 = stablehlo.compare GT, %2, %3, SIGNED : (tensor<2x1x1x192xi32>, tensor<2x1x1x192xi32>) -> tensor<2x1x1x192xi1>
    %5 = stablehlo.broadcast_in_dim %1, dims = [2, 3] : (tensor<192x192xi1>) -> tensor<1x1x192x192xi1>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x1x192x192xi1>) -> tensor<2x1x192x192xi1>
    %7 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x1x1x192xi1>) -> tensor<2x1x192x192xi1>
    %8 = stablehlo.and %6, %7 : tensor<2x1x192x192xi1>
    %9 = stablehlo.iota dim = 0 : tensor<8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %11 = stablehlo.add %10, %9 : tensor<8xf32>
    %12 = stablehlo.negate %11 : tensor<8xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %14 = stablehlo.power %13, %12 : tensor<8xf32>
    %15 = stablehlo.iota dim = 0 : tensor<192xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<192xi32>) -> tensor<1x192xi32>
    %17 = stablehlo.iota dim = 0 : tensor<192xi32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0] : (tensor<192xi32>) -> tensor<192x1xi32>
    %19 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x192xi32>) -> tensor<192x192xi32>
    %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<192x1xi32>) -> tensor<192x192xi32>
    %21 = stablehlo.subtract %19, %20 : tensor<192x192xi32>
    %22 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %23 = stablehlo.convert %21 : (tensor<192x192xi32>) -> tensor<192x192xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1, 2] : (tensor<192x192xf32>) -> tensor<1x192x192xf32>
    %25 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<8x1x1xf32>) -> tensor<8x192x192xf32>
    %26 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x192x192xf32>) -> tensor<8x192x192xf32>
    %27 = stablehlo.multiply %25, %26 : tensor<8x192x192xf32>
    %cst_2 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %28 = call @_where(%8, %27, %cst_2) : (tensor<2x1x192x192xi1>, tensor<8x192x192xf32>, tensor<f32>) -> tensor<2x8x192x192xf32>
    %29 = stablehlo.dot_general %arg4, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x192x256xf32>, tensor<256x768xf32>) -> tensor<2x192x768xf32>
    %30 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<2x192x768xf32>
    %32 = stablehlo.add %29, %31 : tensor<2x192x768xf32>
    %33 = stablehlo.slice %32 [0:2, 0:192, 0:256] : (tensor<2x192x768xf32>) -> tensor<2x192x256xf32>
    %34 = stablehlo.slice %32 [0:2, 0:192, 256:512] : (tensor<2x192x768xf32>) -> tensor<2x192x256xf32>
    %35 = stablehlo.slice %32 [0:2, 0:192, 512:768] : (tensor<2x192x768xf32>) -> tensor<2x192x256xf32>
    %36 = stablehlo.reshape %33 : (tensor<2x192x256xf32>) -> tensor<2x192x8x32xf32>
    %37 = stablehlo.transpose %36, dims = [0, 2, 1, 3] : (tensor<2x192x8x32xf32>) -> tensor<2x8x192x32xf32>
    %38 = stablehlo.reshape %34 : (tensor<2x192x256xf32>) -> tensor<2x192x8x32xf32>
    %39 = stablehlo.transpose %38, dims = [0, 2, 1, 3] : (tensor<2x192x8x32xf32>) -> tensor<2x8x192x32xf32>
    %40 = stablehlo.reshape %35 : (tensor<2x192x256xf32>) -> tensor<2x192x8x32xf32>
    %41 = stablehlo.transpose %40, dims = [0, 2, 1, 3] : (tensor<2x192x8x32xf32>) -> tensor<2x8x192x32xf32>
    %42 = stablehlo.dot_general %37, %39, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x192x32xf32>, tensor<2x8x192x32xf32>) -> tensor<2x8x192x192xf32>
    %cst_3 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x8x192x192xf32>
    %44 = stablehlo.divide %42, %43 : tensor<2x8x192x192xf32>
    %45 = stablehlo.add %44, %28 : tensor<2x8x192x192xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %46 = stablehlo.reduce(%45 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<2x8x192x192xf32>, tensor<f32>) -> tensor<2x8x192xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x8x192xf32>
    %48 = stablehlo.maximum %47, %46 : tensor<2x8x192xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2] : (tensor<2x8x192xf32>) -> tensor<2x8x192x1xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2, 3] : (tensor<2x8x192x1xf32>) -> tensor<2x8x192x192xf32>
    %51 = stablehlo.subtract %45, %50 : tensor<2x8x192x192xf32>
    %52 = stablehlo.exponential %51 : tensor<2x8x192x192xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = stablehlo.reduce(%52 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<2x8x192x192xf32>, tensor<f32>) -> tensor<2x8x192xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2] : (tensor<2x8x192xf32>) -> tensor<2x8x192x1xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3] : (tensor<2x8x192x1xf32>) -> tensor<2x8x192x192xf32>
    %56 = stablehlo.divide %52, %55 : tensor<2x8x192x192xf32>
    %57 = stablehlo.dot_general %56, %41, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x8x192x192xf32>, tensor<2x8x192x32xf32>) -> tensor<2x8x192x32xf32>
    %58 = stablehlo.transpose %57, dims = [0, 2, 1, 3] : (tensor<2x8x192x32xf32>) -> tensor<2x192x8x32xf32>
    %59 = stablehlo.reshape %58 : (tensor<2x192x8x32xf32>) -> tensor<2x192x256xf32>
    %60 = stablehlo.dot_general %59, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x192x256xf32>, tensor<256x256xf32>) -> tensor<2x192x256xf32>
    %61 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<2x192x256xf32>
    %63 = stablehlo.add %60, %62 : tensor<2x192x256xf32>
    return %63 : tensor<2x192x256xf32>
  }
  func.func private @tril(%arg0: tensor<192x192xi1>) -> tensor<192x192xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<192x192xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<192x192xi32>
    %2 = stablehlo.add %0, %1 : tensor<192x192xi32>
    %3 = stablehlo.iota dim = 1 : tensor<192x192xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<192x192xi32>, tensor<192x192xi32>) -> tensor<192x192xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<192x192xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<192x192xi1>, tensor<192x192xi1>
    return %6 : tensor<192x192xi1>
  }
  func.func private @_where(%arg0: tensor<2x1x192x192xi1>, %arg1: tensor<8x192x192xf32>, %arg2: tensor<f32>) -> tensor<2x8x192x192xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x192x192xi1>) -> tensor<2x8x192x192xi1>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<8x192x192xf32>) -> tensor<2x8x192x192xf32>
    %3 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x8x192x192xf32>
    %4 = stablehlo.select %1, %2, %3 : tensor<2x8x192x192xi1>, tensor<2x8x192x192xf32>
    return %4 : tensor<2x8x192x192xf32>
  }
}

module @jit_lstm_scan attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024xf32>, %arg1: tensor<256x1024xf32>, %arg2: tensor<128x1024xf32>, %arg3: tensor<48x4x128xf32>, %arg4: tensor<4x256xf32>, %arg5: tensor<4x256xf32>) -> (tensor<4x256xf32> {jax.result_info = "result[0][0]"}, tensor<4x256xf32> {jax.result_info = "result[0][1]"}, tensor<48x4x256xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<48x4x256xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:8 = stablehlo.while(%iterArg = %arg3, %iterArg_0 = %arg2, %iterArg_1 = %arg1, %iterArg_2 = %arg0, %iterArg_3 = %c, %iterArg_4 = %arg4, %iterArg_5 = %arg5, %iterArg_6 = %0) : tensor<48x4x128xf32>, tensor<128x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>, tensor<i32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<48x4x256xf32>
    cond {
      %c_7 = stablehlo.constant dense<48> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg_3, %c_7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_3) : (tensor<48x4x128xf32>, tensor<i32>) -> tensor<4x128xf32>
      %3:3 = func.call @closed_call(%iterArg_0, %iterArg_1, %iterArg_2, %iterArg_4, %iterArg_5, %2) : (tensor<128x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x128xf32>) -> (tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>)
      %4 = func.call @dynamic_update_index_in_dim(%iterArg_6, %3#2, %iterArg_3) : (tensor<48x4x256xf32>, tensor<4x256xf32>, tensor<i32>) -> tensor<48x4x256xf32>
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %iterArg_3, %c_7 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_0, %iterArg_1, %iterArg_2, %5, %3#0, %3#1, %4 : tensor<48x4x128xf32>, tensor<128x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>, tensor<i32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<48x4x256xf32>
    }
    return %1#5, %1#6, %1#7 : tensor<4x256xf32>, tensor<4x256xf32>, tensor<48x4x256xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<48x4x128xf32>, %arg1: tensor<i32>) -> tensor<4x128xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 4, 128] : (tensor<48x4x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x128xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x128xf32>) -> tensor<4x128xf32>
    return %1 : tensor<4x128xf32>
  }
  func.func private @closed_call(%arg0: tensor<128x1024xf32>, %arg1: tensor<256x1024xf32>, %arg2: tensor<1024xf32>, %arg3: tensor<4x256xf32>, %arg4: tensor<4x256xf32>, %arg5: tensor<4x128xf32>) -> (tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>) {
    %0 = stablehlo.dot_general %arg5, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x128xf32>, tensor<128x1024xf32>) -> tensor<4x1024xf32>
    %1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x256xf32>, tensor<256x1024xf32>) -> tensor<4x1024xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x1024xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<4x1024xf32>
    %5 = stablehlo.add %2, %4 : tensor<4x1024xf32>
    %6 = stablehlo.slice %5 [0:4, 0:256] : (tensor<4x1024xf32>) -> tensor<4x256xf32>
    %7 = stablehlo.slice %5 [0:4, 256:512] : (tensor<4x1024xf32>) -> tensor<4x256xf32>
    %8 = stablehlo.slice %5 [0:4, 512:768] : (tensor<4x1024xf32>) -> tensor<4x256xf32>
    %9 = stablehlo.slice %5 [0:4, 768:1024] : (tensor<4x1024xf32>) -> tensor<4x256xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %11 = stablehlo.add %7, %10 : tensor<4x256xf32>
    %12 = stablehlo.negate %11 : tensor<4x256xf32>
    %13 = stablehlo.exponential %12 : tensor<4x256xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %15 = stablehlo.add %14, %13 : tensor<4x256xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %17 = stablehlo.divide %16, %15 : tensor<4x256xf32>
    %18 = stablehlo.multiply %17, %arg4 : tensor<4x256xf32>
    %19 = stablehlo.negate %6 : tensor<4x256xf32>
    %20 = stablehlo.exponential %19 : tensor<4x256xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %22 = stablehlo.add %21, %20 : tensor<4x256xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %24 = stablehlo.divide %23, %22 : tensor<4x256xf32>
    %25 = stablehlo.tanh %8 : tensor<4x256xf32>
    %26 = stablehlo.multiply %24, %25 : tensor<4x256xf32>
    %27 = stablehlo.add %18, %26 : tensor<4x256xf32>
    %28 = stablehlo.negate %9 : tensor<4x256xf32>
    %29 = stablehlo.exponential %28 : tensor<4x256xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %31 = stablehlo.add %30, %29 : tensor<4x256xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %33 = stablehlo.divide %32, %31 : tensor<4x256xf32>
    %34 = stablehlo.tanh %27 : tensor<4x256xf32>
    %35 = stablehlo.multiply %33, %34 : tensor<4x256xf32>
    return %35, %27, %35 : tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<48x4x256xf32>, %arg1: tensor<4x256xf32>, %arg2: tensor<i32>) -> tensor<48x4x256xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<4x256xf32>) -> tensor<1x4x256xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<48x4x256xf32>, tensor<1x4x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<48x4x256xf32>
    return %1 : tensor<48x4x256xf32>
  }
}

module @jit_heat_stencil attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<384x384xf32>, %arg1: tensor<384x384xf32>, %arg2: tensor<384x384xf32>) -> (tensor<384x384xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.while(%iterArg = %arg0, %iterArg_1 = %arg2, %iterArg_2 = %c_0, %iterArg_3 = %c, %iterArg_4 = %arg1) : tensor<384x384xf32>, tensor<384x384xf32>, tensor<i32>, tensor<i32>, tensor<384x384xf32>
    cond {
      %c_5 = stablehlo.constant dense<8> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg_2, %c_5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1:2 = func.call @closed_call(%iterArg, %iterArg_1, %iterArg_3, %iterArg_4) : (tensor<384x384xf32>, tensor<384x384xf32>, tensor<i32>, tensor<384x384xf32>) -> (tensor<i32>, tensor<384x384xf32>)
      %c_5 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg_2, %c_5 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_1, %2, %1#0, %1#1 : tensor<384x384xf32>, tensor<384x384xf32>, tensor<i32>, tensor<i32>, tensor<384x384xf32>
    }
    return %0#4 : tensor<384x384xf32>
  }
  func.func private @closed_call(%arg0: tensor<384x384xf32>, %arg1: tensor<384x384xf32>, %arg2: tensor<i32>, %arg3: tensor<384x384xf32>) -> (tensor<i32>, tensor<384x384xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg2, %c : tensor<i32>
    %1 = call @_roll_static(%arg3) : (tensor<384x384xf32>) -> tensor<384x384xf32>
    %2 = call @_roll_static_0(%arg3) : (tensor<384x384xf32>) -> tensor<384x384xf32>
    %3 = stablehlo.add %1, %2 : tensor<384x384xf32>
    %4 = call @_roll_static_1(%arg3) : (tensor<384x384xf32>) -> tensor<384x384xf32>
    %5 = stablehlo.add %3, %4 : tensor<384x384xf32>
    %6 = call @_roll_static_2(%arg3) : (tensor<384x384xf32>) -> tensor<384x384xf32>
    %7 = stablehlo.add %5, %6 : tensor<384x384xf32>
    %8 = stablehlo.negate %arg0 : tensor<384x384xf32>
    %9 = stablehlo.exponential %8 : tensor<384x384xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<384x384xf32>
    %11 = stablehlo.add %10, %9 : tensor<384x384xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<384x384xf32>
    %13 = stablehlo.divide %12, %11 : tensor<384x384xf32>
    %cst_1 = stablehlo.constant dense<2.000000e-01> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<384x384xf32>
    %15 = stablehlo.multiply %13, %14 : tensor<384x384xf32>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<384x384xf32>
    %17 = stablehlo.multiply %16, %arg3 : tensor<384x384xf32>
    %18 = stablehlo.subtract %7, %17 : tensor<384x384xf32>
    %19 = stablehlo.multiply %15, %18 : tensor<384x384xf32>
    %20 = stablehlo.add %arg3, %19 : tensor<384x384xf32>
    %21 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<384x384xf32>) -> tensor<384x384xf32>
    %cst_3 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<384x384xf32>
    %23 = stablehlo.multiply %22, %21 : tensor<384x384xf32>
    %24 = stablehlo.add %20, %23 : tensor<384x384xf32>
    return %0, %24 : tensor<i32>, tensor<384x384xf32>
  }
  func.func private @_roll_static(%arg0: tensor<384x384xf32>) -> tensor<384x384xf32> {
    %0 = stablehlo.slice %arg0 [383:384, 0:384] : (tensor<384x384xf32>) -> tensor<1x384xf32>
    %1 = stablehlo.slice %arg0 [0:383, 0:384] : (tensor<384x384xf32>) -> tensor<383x384xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x384xf32>, tensor<383x384xf32>) -> tensor<384x384xf32>
    return %2 : tensor<384x384xf32>
  }
  func.func private @_roll_static_0(%arg0: tensor<384x384xf32>) -> tensor<384x384xf32> {
    %0 = stablehlo.slice %arg0 [1:384, 0:384] : (tensor<384x384xf32>) -> tensor<383x384xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:384] : (tensor<384x384xf32>) -> tensor<1x384xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<383x384xf32>, tensor<1x384xf32>) -> tensor<384x384xf32>
    return %2 : tensor<384x384xf32>
  }
  func.func private @_roll_static_1(%arg0: tensor<384x384xf32>) -> tensor<384x384xf32> {
    %0 = stablehlo.slice %arg0 [0:384, 383:384] : (tensor<384x384xf32>) -> tensor<384x1xf32>
    %1 = stablehlo.slice %arg0 [0:384, 0:383] : (tensor<384x384xf32>) -> tensor<384x383xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<384x1xf32>, tensor<384x383xf32>) -> tensor<384x384xf32>
    return %2 : tensor<384x384xf32>
  }
  func.func private @_roll_static_2(%arg0: tensor<384x384xf32>) -> tensor<384x384xf32> {
    %0 = stablehlo.slice %arg0 [0:384, 1:384] : (tensor<384x384xf32>) -> tensor<384x383xf32>
    %1 = stablehlo.slice %arg0 [0:384, 0:1] : (tensor<384x384xf32>) -> tensor<384x1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<384x383xf32>, tensor<384x1xf32>) -> tensor<384x384xf32>
    return %2 : tensor<384x384xf32>
  }
}

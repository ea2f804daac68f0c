module @tiny {
  func.func public @main(%x: tensor<1x16x16x8xf32>, %w: tensor<3x3x1x8xf32>, %a: tensor<64x64xf32>) -> (tensor<1x16x16x8xf32>, tensor<64x64xf32>) {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<1x16x16x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x16x16x8xf32>
    %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = stablehlo.add %1, %a : tensor<64x64xf32>
    %3 = stablehlo.tanh %2 : tensor<64x64xf32>
    return %0, %3 : tensor<1x16x16x8xf32>, tensor<64x64xf32>
  }
}

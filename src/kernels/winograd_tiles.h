// The tiles of a convolution by Winograd's method, compiled once for each width of vectors.
#pragma once

#include "kernels/winograd_plan.h"

namespace hone {

// Tiles [from, to), counted by image, row and column. `scratch`: aligned to 64 bytes.
struct WinogradTiles {
  const WinogradPlan* plan = nullptr;
  const float *input = nullptr, *weights = nullptr;
  float* output = nullptr;
  int64_t from = 0, to = 0;
  float* scratch = nullptr;
};

struct WinogradKernel {
  int64_t rows;  // tiles whose products are computed at once
  void (*compute)(const WinogradTiles& tiles);
};

extern const WinogradKernel kWinogradAvx512, kWinogradAvx2, kWinogradPortable;

}  // namespace hone

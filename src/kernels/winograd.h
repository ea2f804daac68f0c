// Convolutions of f32 by Winograd's method: F(m x m, r x r) of Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks" (2015). A block of tiles at a time, whose transformed inputs and products stay in the second-level cache.
#pragma once

#include "kernels/for_each.h"
#include "kernels/winograd_plan.h"

namespace hone {

// By the widest vectors that the machine has and that features and results fill.
void winograd_convolution(const WinogradPlan& plan, const float* input, const float* weights, float* output,
                          int threads, const ForEach& for_each);

}  // namespace hone

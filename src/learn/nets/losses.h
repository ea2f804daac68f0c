// Training objectives (Kaufman et al. 2021, section 3.3).
#pragma once

#include <torch/types.h>

#include "learn/nets/batch.h"

namespace hone::learn {

enum class Phi { Hinge, Logistic };  // (1 - z)+ and log(1 + exp(-z))

// What a pair counts: as every other (the paper), or by the logarithm of its run times' ratio, so that pairs within the
// noise of measuring teach nothing and a tile ten times slower much. Needs targets that are logarithms of run times.
enum class PairWeight { Equal, LogRatio };

// Equation 1 within each kernel's options, averaged over the kernels with at least two: the sum over pairs with
// y_i > y_j of phi(y'_i - y'_j), over n (n - 1) / 2. 0 when no kernel has a pair.
torch::Tensor pairwise_rank_loss(const torch::Tensor& predicted,  // [options], lower = faster
                                 const torch::Tensor& target,     // [options], any monotone function of run time
                                 const Rows& rows,                // per_option: which options belong to one kernel
                                 Phi phi,
                                 PairWeight weight = PairWeight::Equal);  // -> scalar

// How far predicted and true ratios of run times within a kernel are apart, averaged over the kernels with at least two
// options: both are taken relative to their mean over the kernel's options; squared below kRatioBend (Huber 1964), so that
// a few options twenty times slower do not decide everything. Predictions trained so differ by the logarithm of the ratio,
// and say by how much an option is faster, which a rank loss does not. 0 when no kernel has two options.
constexpr double kRatioBend = 0.5;
torch::Tensor ratio_loss(const torch::Tensor& predicted,    // [options], log run time up to a constant of the kernel
                         const torch::Tensor& log_runtime,  // [options]
                         const Rows& rows);                 // -> scalar

// Mean of (predicted - target)^2; targets are standardised log run times.
torch::Tensor squared_error(const torch::Tensor& predicted, const torch::Tensor& target);

}  // namespace hone::learn

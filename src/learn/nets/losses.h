// Training objectives (Kaufman et al. 2021, section 3.3).
#pragma once

#include <torch/types.h>

#include "learn/nets/batch.h"

namespace hone::learn {

enum class Phi { Hinge, Logistic };  // (1 - z)+ and log(1 + exp(-z))

// The weight of a pair: equal for all (the paper), or the logarithm of its run times' ratio (at most 1), so that pairs
// that differ by measurement noise count little. LogRatio needs targets that are logarithms of run times.
enum class PairWeight { Equal, LogRatio };

// Equation 1 within each kernel's options, averaged over the kernels with at least two: the sum over pairs with
// y_i > y_j of phi(y'_i - y'_j), over n (n - 1) / 2. 0 when no kernel has a pair.
torch::Tensor pairwise_rank_loss(const torch::Tensor& predicted,  // [options], lower = faster
                                 const torch::Tensor& target,     // [options], any monotone function of run time
                                 const Rows& rows,                // per_option: which options belong to one kernel
                                 Phi phi,
                                 PairWeight weight = PairWeight::Equal);  // -> scalar

// The error of predicted run time ratios within a kernel, averaged over the kernels with at least two options:
// predictions and log run times are taken relative to their means over the kernel's options; the error is squared below
// kRatioBend and linear above (Huber 1964), so that a few very slow options do not dominate. Unlike with a rank loss,
// differences of predictions are then log ratios of run times. 0 when no kernel has two options.
constexpr double kRatioBend = 0.5;
torch::Tensor ratio_loss(const torch::Tensor& predicted,    // [options], log run time up to a constant of the kernel
                         const torch::Tensor& log_runtime,  // [options]
                         const Rows& rows);                 // -> scalar

// Mean of (predicted - target)^2; targets are standardised log run times.
torch::Tensor squared_error(const torch::Tensor& predicted, const torch::Tensor& target);

}  // namespace hone::learn

// Training objectives (Kaufman et al. 2021, section 3.3).
#pragma once

#include <torch/types.h>

#include "models/batch.h"

namespace hone::models {

enum class Phi { Hinge, Logistic };  // (1 - z)+ and log(1 + exp(-z))

// Equation 1 within each kernel's options, averaged over the kernels with at least two: the sum over pairs with
// y_i > y_j of phi(y'_i - y'_j), over n (n - 1) / 2. 0 when no kernel has a pair.
torch::Tensor pairwise_rank_loss(const torch::Tensor& predicted,  // [options], lower = faster
                                 const torch::Tensor& target,     // [options], any monotone function of run time
                                 const Rows& rows,                // per_option: which options belong to one kernel
                                 Phi phi);                        // -> scalar

// Mean of (predicted - target)^2; targets are standardised log run times.
torch::Tensor squared_error(const torch::Tensor& predicted, const torch::Tensor& target);

}  // namespace hone::models

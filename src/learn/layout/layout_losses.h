// Training objectives of rankers of layout configurations.
#pragma once

#include <torch/types.h>

#include <span>
#include <string>

namespace hone::learn {

// "hinge": the sum over pairs with r_i > r_j of max(0, 1 - (s_i - s_j)) (equation 8), over n (n - 1) / 2. "listmle": minus
// the logarithm of the probability that drawing configurations one by one, by softmax of -s, yields their order by run time
// (Xia et al. 2008), over n. 0 for fewer than two configurations. Throws InternalError for other names or lengths.
torch::Tensor layout_loss(const std::string& name, const torch::Tensor& scores,  // [configs], lower = faster
                          std::span<const double> runtime_ns);                   // -> scalar

}  // namespace hone::learn

#include "learn/nets/losses.h"

#include <torch/nn.h>

#include <algorithm>

namespace hone::learn {

torch::Tensor pairwise_rank_loss(const torch::Tensor& predicted, const torch::Tensor& target, const Rows& rows, Phi phi,
                                 PairWeight weight) {
  int64_t most = 0, ranked = 0;
  for (int64_t k = 0; k < rows.kernels(); ++k) {
    most = std::max(most, rows.copies_of(k));
    ranked += rows.copies_of(k) > 1;
  }
  if (ranked == 0) return predicted.sum() * 0;
  // Options padded to [kernels, most] by repeating the kernel's last one; `valid` excludes the padding from all pairs.
  torch::Tensor place = torch::empty({rows.kernels(), most}, torch::kLong),
                valid = torch::zeros({rows.kernels(), most});
  torch::Tensor scale = torch::zeros({rows.kernels()});
  for (int64_t k = 0; k < rows.kernels(); ++k) {
    const int64_t n = rows.copies_of(k);
    for (int64_t i = 0; i < most; ++i) {
      place.data_ptr<int64_t>()[k * most + i] = rows.copy_begin[k] + std::min(i, n - 1);
      valid.data_ptr<float>()[k * most + i] = i < n;
    }
    if (n > 1) scale.data_ptr<float>()[k] = 2.0f / static_cast<float>(n * (n - 1)) / static_cast<float>(ranked);
  }
  const torch::Tensor y = target.index_select(0, place.view(-1)).view({-1, most});
  const torch::Tensor p = predicted.index_select(0, place.view(-1)).view({-1, most});
  const torch::Tensor difference = y.unsqueeze(2) - y.unsqueeze(1);
  torch::Tensor slower = (difference > 0).to(torch::kFloat) * valid.unsqueeze(2) * valid.unsqueeze(1) *
                         scale.view({-1, 1, 1});  // [kernels, most, most]
  if (weight == PairWeight::LogRatio) slower = slower * difference.clamp(0, 1);
  const torch::Tensor z = p.unsqueeze(2) - p.unsqueeze(1);
  return ((phi == Phi::Hinge ? torch::relu(1 - z) : torch::softplus(-z)) * slower).sum();
}

torch::Tensor ratio_loss(const torch::Tensor& predicted, const torch::Tensor& log_runtime, const Rows& rows) {
  // The kernel of each option; `share` is 1 / number of that kernel's options, 0 for kernels with one option.
  torch::Tensor kernel = torch::empty({rows.copies()}, torch::kLong), share = torch::zeros({rows.copies()});
  int64_t counted = 0;
  for (int64_t k = 0; k < rows.kernels(); ++k) {
    counted += rows.copies_of(k) > 1;
    for (int64_t i = rows.copy_begin[k]; i < rows.copy_begin[k + 1]; ++i) {
      kernel.data_ptr<int64_t>()[i] = k;
      share.data_ptr<float>()[i] = rows.copies_of(k) > 1 ? 1.0f / static_cast<float>(rows.copies_of(k)) : 0.0f;
    }
  }
  if (counted == 0) return predicted.sum() * 0;
  const torch::Tensor off = predicted - log_runtime;
  const torch::Tensor mean = torch::zeros({rows.kernels()}).index_add(0, kernel, off * share).index_select(0, kernel);
  const torch::Tensor error = torch::huber_loss(off, mean, at::Reduction::None, kRatioBend);
  return (error * share).sum() / static_cast<double>(counted);
}

torch::Tensor squared_error(const torch::Tensor& predicted, const torch::Tensor& target) {
  return torch::mse_loss(predicted, target);
}

}  // namespace hone::learn

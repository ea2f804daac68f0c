#include "learn/layout/layout_losses.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "learn/nets/losses.h"

namespace hone::learn {

namespace {

std::vector<int64_t> fastest_first(std::span<const double> runtime_ns) {
  std::vector<int64_t> order(runtime_ns.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return runtime_ns[i] < runtime_ns[j]; });
  return order;
}

// Run times as ranks, equal ones alike: float32 cannot resolve nanoseconds in seconds.
torch::Tensor ranks(std::span<const double> runtime_ns) {
  const std::vector<int64_t> order = fastest_first(runtime_ns);
  torch::Tensor rank = torch::empty({static_cast<int64_t>(order.size())});
  int64_t current = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && runtime_ns[order[i]] > runtime_ns[order[i - 1]]) ++current;
    rank.data_ptr<float>()[order[i]] = static_cast<float>(current);
  }
  return rank;
}

torch::Tensor list_mle(const torch::Tensor& scores, std::span<const double> runtime_ns) {
  const torch::Tensor order = torch::tensor(fastest_first(runtime_ns), torch::kLong);
  const torch::Tensor logits = -scores.index_select(0, order);
  const torch::Tensor rest = torch::logcumsumexp(logits.flip(0), 0).flip(0);  // of this one and all that are slower
  return (rest - logits).mean();
}

}  // namespace

torch::Tensor layout_loss(const std::string& name, const torch::Tensor& scores, std::span<const double> runtime_ns) {
  if (scores.size(0) != static_cast<int64_t>(runtime_ns.size())) throw InternalError("layout_loss: lengths differ");
  if (runtime_ns.size() < 2) return scores.sum() * 0;
  if (name == "listmle") return list_mle(scores, runtime_ns);
  if (name != "hinge") throw InternalError("layout_loss: unknown loss");
  Rows rows;  // one kernel with all configurations as its options
  rows.node_begin = {0, 1};
  rows.copy_begin = {0, scores.size(0)};
  rows.row_begin = {0, scores.size(0)};
  return pairwise_rank_loss(scores, ranks(runtime_ns), rows, Phi::Hinge);
}

}  // namespace hone::learn

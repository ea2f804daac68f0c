// Reductions without a model of their own: the sum of a number per node, and column-wise mean and maximum.
#include "models/network.h"
#include "models/segment.h"

namespace hone::models {

namespace {

struct PerNode : ReductionLayer {
  explicit PerNode(const ModelOptions& options) : score(register_module("score", linear(options.hidden, 1))) {}
  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override { return sum_of_nodes(score(x), rows); }
  int64_t width() const override { return 1; }
  torch::nn::Linear score;
};

struct ColumnWise : ReductionLayer {
  explicit ColumnWise(const ModelOptions& options) : hidden(options.hidden) {}
  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override { return mean_and_max_of_nodes(x, rows); }
  int64_t width() const override { return 2 * hidden; }
  int64_t hidden;
};

}  // namespace

std::shared_ptr<ReductionLayer> make_per_node_reduction(const ModelOptions& options) {
  return std::make_shared<PerNode>(options);
}
std::shared_ptr<ReductionLayer> make_column_wise_reduction(const ModelOptions& options) {
  return std::make_shared<ColumnWise>(options);
}

}  // namespace hone::models

// Reductions without a sequence model: the sum of the nodes' run times, and column-wise mean and maximum.
#include <algorithm>

#include "learn/nets/network.h"
#include "learn/nets/segment.h"

namespace hone::learn {

namespace {

// [copies], the number of rows of each copy.
torch::Tensor rows_of_copies(const Rows& rows) {
  torch::Tensor counts = torch::empty({rows.copies()}, torch::kInt64);
  int64_t* count = counts.data_ptr<int64_t>();
  for (int64_t k = 0; k < rows.kernels(); ++k) count = std::fill_n(count, rows.copies_of(k), rows.nodes_of(k));
  return counts;
}

// The logarithm of the sum of the nodes' run times. Networks predict logarithms, so a plain sum of scores would
// multiply the nodes' run times, with errors of 1e6 % on a kernel of a hundred nodes.
struct PerNode : ReductionLayer {
  explicit PerNode(const options::ModelOptions& options) : score(register_module("score", linear(options.hidden, 1))) {}
  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override {
    const torch::Tensor scores = score(x);                                                       // [rows, 1]
    const torch::Tensor largest = mean_and_max_of_nodes(scores.detach(), rows).narrow(1, 1, 1);  // [copies, 1]
    const torch::Tensor shift = torch::repeat_interleave(largest, rows_of_copies(rows), 0);
    return sum_of_nodes(torch::exp(scores - shift), rows).log() + largest;
  }
  int64_t width() const override { return 1; }
  torch::nn::Linear score;
};

struct ColumnWise : ReductionLayer {
  explicit ColumnWise(const options::ModelOptions& options) : hidden(options.hidden) {}
  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override { return mean_and_max_of_nodes(x, rows); }
  int64_t width() const override { return 2 * hidden; }
  int64_t hidden;
};

}  // namespace

std::shared_ptr<ReductionLayer> make_per_node_reduction(const options::ModelOptions& options) {
  return std::make_shared<PerNode>(options);
}
std::shared_ptr<ReductionLayer> make_column_wise_reduction(const options::ModelOptions& options) {
  return std::make_shared<ColumnWise>(options);
}

}  // namespace hone::learn

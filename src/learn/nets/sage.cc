// GraphSAGE with mean aggregation (Hamilton et al. 2017, algorithm 1) in the form of Kaufman et al. 2021, section 3.2:
//   e_i <- l2(f3(concat(e_i, mean over neighbours j of f2(e_j))))
// Directed graphs have one f2 for producers and another for users; both means are part of the concatenation.
#include <torch/csrc/autograd/custom_function.h>

#include "learn/nets/network.h"
#include "learn/nets/segment.h"

namespace hone::learn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Neighbours {
  const Adjacency* adjacency[2];
  int64_t directions;
  const Rows* rows;
};

// f3 before its activation. All factors of x are in one matrix, `first` = [own part of f3 | f2 ...], so that a layer
// takes two products forward and four backward; f3 of a concatenation is the sum of the products of its parts.
//   z = x first',  y = z[own] + mean(relu(z[f2])) second'
struct SageProducts : torch::autograd::Function<SageProducts> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& first,
                               const torch::Tensor& second, int64_t neighbours_address) {
    const Neighbours n = *reinterpret_cast<const Neighbours*>(neighbours_address);
    const int64_t hidden = second.size(0);
    const torch::Tensor z = at::mm(x, first.t());  // [rows, (1 + directions) * hidden]
    const torch::Tensor means = torch::empty({x.size(0), n.directions * hidden});
    for (int64_t d = 0; d < n.directions; ++d)
      mean_of_neighbours(z.narrow(1, (1 + d) * hidden, hidden), *n.adjacency[d], *n.rows,
                         means.narrow(1, d * hidden, hidden));
    context->save_for_backward({x, first, second, z, means});
    context->saved_data["rows"] = reinterpret_cast<int64_t>(n.rows);
    for (int64_t d = 0; d < n.directions; ++d)
      context->saved_data["adjacency" + std::to_string(d)] = reinterpret_cast<int64_t>(n.adjacency[d]);
    return at::addmm(z.narrow(1, 0, hidden), means, second.t());  // [rows, hidden]
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &first = saved[1], &second = saved[2], &z = saved[3], &means = saved[4];
    const torch::Tensor g = gradients[0].contiguous();
    const int64_t hidden = second.size(0), directions = second.size(1) / hidden;
    const Rows& rows = *reinterpret_cast<const Rows*>(context->saved_data["rows"].toInt());
    const torch::Tensor dmeans = at::mm(g, second), dz = torch::empty_like(z);
    dz.narrow(1, 0, hidden).copy_(g);
    for (int64_t d = 0; d < directions; ++d) {
      const auto* adjacency =
          reinterpret_cast<const Adjacency*>(context->saved_data["adjacency" + std::to_string(d)].toInt());
      mean_of_neighbours_gradient(z.narrow(1, (1 + d) * hidden, hidden), dmeans.narrow(1, d * hidden, hidden),
                                  *adjacency, rows, dz.narrow(1, (1 + d) * hidden, hidden));
    }
    return {at::mm(dz, first), at::mm(dz.t(), x), at::mm(g.t(), means), torch::Tensor()};
  }
};

struct SageLayer : GnnLayer {
  explicit SageLayer(const options::ModelOptions& options)
      : directed(options.directed),
        l2_norm(options.l2_norm),
        dropout(options.dropout),
        first(register_module("first", linear(options.hidden, (directed ? 3 : 2) * options.hidden))),
        second(register_module("second", linear((directed ? 2 : 1) * options.hidden, options.hidden))) {}

  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch, const Rows& rows, Noise& noise) override {
    const Neighbours neighbours{{directed ? &batch.producers : &batch.both, &batch.users}, directed ? 2 : 1, &rows};
    const torch::Tensor y = SageProducts::apply(x, first->weight, second->weight,
                                                reinterpret_cast<int64_t>(&neighbours));  // [rows, hidden]
    if (!l2_norm) return noise.relu_dropout(y, dropout);
    const auto by_row = torch::nn::functional::NormalizeFuncOptions().dim(1);
    return noise.dropout(torch::nn::functional::normalize(torch::relu(y), by_row), dropout);
  }

  bool directed, l2_norm;
  double dropout;
  torch::nn::Linear first, second;
};

}  // namespace

std::shared_ptr<GnnLayer> make_sage_layer(const options::ModelOptions& options) {
  return std::make_shared<SageLayer>(options);
}

}  // namespace hone::learn

// The graph isomorphism network (Xu et al. 2019, equation 4.1), which adds up neighbours where GraphSAGE averages them:
//   e_i <- f2(relu(f1((1 + epsilon) e_i + sum over neighbours j of e_j)))
// Directed graphs have an epsilon and an f1 for producers and others for users, whose results are added. Without the paper's
// batch normalisation: a prediction would depend on what else is in the batch.
#include "learn/nets/network.h"
#include "learn/nets/segment.h"

namespace hone::learn {

namespace {

// One direction of edges, through f1.
struct NeighbourSum : torch::nn::Module {
  explicit NeighbourSum(const options::ModelOptions& options)
      : first(register_module("first", linear(options.hidden, options.hidden))),
        epsilon(register_parameter("epsilon", torch::zeros({1}))) {}
  torch::Tensor forward(const torch::Tensor& x, const Adjacency& adjacency, const Rows& rows) {
    return first(x * (1 + epsilon) + sum_of_neighbours(x, adjacency, rows));
  }
  torch::nn::Linear first;
  torch::Tensor epsilon;
};

struct GinLayer : GnnLayer {
  explicit GinLayer(const options::ModelOptions& options)
      : directed(options.directed),
        l2_norm(options.l2_norm),
        dropout(options.dropout),
        second(register_module("second", linear(options.hidden, options.hidden))) {
    producer = register_module("producer", std::make_shared<NeighbourSum>(options));
    if (directed) user = register_module("user", std::make_shared<NeighbourSum>(options));
  }
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch, const Rows& rows, Noise& noise) override {
    torch::Tensor y = producer->forward(x, directed ? batch.producers : batch.both, rows);
    if (directed) y = y + user->forward(x, batch.users, rows);
    y = second(torch::relu(y));
    if (!l2_norm) return noise.relu_dropout(y, dropout);
    const auto by_row = torch::nn::functional::NormalizeFuncOptions().dim(1);
    return noise.dropout(torch::nn::functional::normalize(torch::relu(y), by_row), dropout);
  }
  bool directed, l2_norm;
  double dropout;
  torch::nn::Linear second;
  std::shared_ptr<NeighbourSum> producer, user;
};

}  // namespace

std::shared_ptr<GnnLayer> make_gin_layer(const options::ModelOptions& options) {
  return std::make_shared<GinLayer>(options);
}

}  // namespace hone::learn

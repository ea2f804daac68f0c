// GraphSAGE with mean aggregation (Hamilton et al. 2017, algorithm 1) in the form of Kaufman et al. 2021, section 3.2:
//   e_i <- l2(f3(concat(e_i, mean over neighbours j of f2(e_j))))
// Directed graphs have an f2 for producers and another for users, both means stand in the concatenation.
#include "models/network.h"
#include "models/segment.h"

namespace hone::models {

namespace {

struct SageLayer : GnnLayer {
  explicit SageLayer(const ModelOptions& options)
      : directed(options.directed),
        l2_norm(options.l2_norm),
        own(register_module("own", linear(options.hidden, options.hidden))),
        producer(register_module("producer", linear(options.hidden, options.hidden))),
        producer_mean(register_module("producer_mean", linear(options.hidden, options.hidden))) {
    if (!directed) return;
    user = register_module("user", linear(options.hidden, options.hidden));
    user_mean = register_module("user_mean", linear(options.hidden, options.hidden));
  }

  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch, const Rows& rows) override {
    // f3 of a concatenation is a sum of products: no row is copied together.
    const Adjacency& first = directed ? batch.producers : batch.both;
    torch::Tensor y = own(x);  // [rows, hidden]
    y = torch::addmm(y, mean_of_neighbours(producer(x), first, rows), producer_mean->weight.t());
    if (directed) y = torch::addmm(y, mean_of_neighbours(user(x), batch.users, rows), user_mean->weight.t());
    y = torch::relu(y);
    return l2_norm ? torch::nn::functional::normalize(y, torch::nn::functional::NormalizeFuncOptions().dim(1)) : y;
  }

  bool directed, l2_norm;
  torch::nn::Linear own, producer, producer_mean, user{nullptr}, user_mean{nullptr};
};

}  // namespace

std::shared_ptr<GnnLayer> make_sage_layer(const ModelOptions& options) { return std::make_shared<SageLayer>(options); }

}  // namespace hone::models

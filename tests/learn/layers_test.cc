// Compares layers and reductions of networks with their definitions in dense matrices.
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/init.h>

#include "learn/nets/network.h"
#include "learn/nets/segment.h"
#include "tests/learn/small_model.h"
#include "tests/learn/synthetic.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

TEST_CASE("segment operations equal their definition, gradients too") {
  const auto kernels = synthetic_kernels(8, 3, 6, 2);
  const auto views = views_of(kernels);
  const auto batch = batch_of(views, fitted_scale(views), 2);  // a cap below some node degrees
  const Rows& rows = batch->per_option;
  const int64_t width = 5;
  // [rows, rows] mean aggregation, [copies, rows] membership, as dense matrices.
  torch::Tensor mean = torch::zeros({rows.rows(), rows.rows()}), member = torch::zeros({rows.copies(), rows.rows()});
  torch::Tensor node_of = torch::zeros({rows.rows(), rows.nodes()}), size = torch::zeros({rows.copies(), 1});
  for (int64_t k = 0; k < rows.kernels(); ++k)
    for (int64_t copy = 0; copy < rows.copies_of(k); ++copy)
      for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
        const int64_t node = rows.node_begin[k] + i, first = rows.row_begin[k] + copy * rows.nodes_of(k);
        const int32_t begin = batch->users.begin[node], end = batch->users.begin[node + 1];
        REQUIRE(end - begin <= 2);
        for (int32_t e = begin; e < end; ++e)
          mean[first + i][first + batch->users.neighbour[e] - rows.node_begin[k]] += 1.0 / (end - begin);
        member[rows.copy_begin[k] + copy][first + i] = 1;
        node_of[first + i][node] = 1;
        size[rows.copy_begin[k] + copy] += 1;
      }
  torch::manual_seed(1);
  const auto same = [&](const torch::Tensor& a, const torch::Tensor& b, const std::vector<torch::Tensor>& inputs) {
    CHECK(torch::allclose(a, b, 1e-5, 1e-6));
    const torch::Tensor weight = torch::randn_like(a);
    const auto ga = torch::autograd::grad({(a * weight).sum()}, inputs),
               gb = torch::autograd::grad({(b * weight).sum()}, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) CHECK(torch::allclose(ga[i], gb[i], 1e-5, 1e-6));
  };
  const torch::Tensor x = torch::randn({rows.rows(), width}).requires_grad_();
  torch::Tensor means = torch::empty_like(x), at_x = torch::empty_like(x);
  mean_of_neighbours(x.detach(), batch->users, rows, means);
  const torch::Tensor expected = mean.mm(torch::relu(x)), weight = torch::randn_like(x);
  CHECK(torch::allclose(means, expected, 1e-5, 1e-6));
  mean_of_neighbours_gradient(x.detach(), weight, batch->users, rows, at_x);
  CHECK(torch::allclose(at_x, torch::autograd::grad({(expected * weight).sum()}, {x})[0], 1e-5, 1e-6));
  same(sum_of_nodes(x, rows), member.mm(x), {x});
  const torch::Tensor largest = std::get<0>((x.unsqueeze(0) + (member - 1).unsqueeze(2) * 1e9).max(1));
  same(mean_and_max_of_nodes(x, rows), torch::cat({member.mm(x) / size, largest}, 1), {x});
  // Run times are added, not their logarithms; one far above the others must not overflow.
  const auto per_node = make_per_node_reduction(small_model("none+per-node"));
  const torch::Tensor wide = torch::randn({rows.rows(), small_model("none+per-node").hidden}) * 100;
  const torch::Tensor scores = wide.mm(per_node->named_parameters()["score.weight"].t());
  const torch::Tensor logs = (scores.t() + (member - 1) * 1e9).logsumexp(1, /*keepdim=*/true);
  CHECK(torch::allclose(per_node->forward(wide, rows), logs, 1e-5, 1e-5));
  const torch::Tensor nodes = torch::randn({rows.nodes(), width}).requires_grad_();
  const torch::Tensor copies = torch::randn({rows.copies(), width}).requires_grad_();
  same(join_rows(nodes, copies, rows), torch::relu(node_of.mm(nodes) + member.t().mm(copies)), {nodes, copies});
}

TEST_CASE("a GraphSAGE layer equals its definition, gradients too") {
  const auto kernels = synthetic_kernels(11, 2, 5, 2);
  const auto views = views_of(kernels);
  const auto batch = batch_of(views, fitted_scale(views));
  const Rows& rows = batch->per_option;
  const auto means = [&](const torch::Tensor& h, const Adjacency& adjacency) {
    std::vector<torch::Tensor> out;
    for (int64_t k = 0; k < rows.kernels(); ++k)
      for (int64_t copy = 0; copy < rows.copies_of(k); ++copy)
        for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
          const int64_t node = rows.node_begin[k] + i, first = rows.row_begin[k] + copy * rows.nodes_of(k);
          torch::Tensor sum = torch::zeros({h.size(1)});
          const int32_t begin = adjacency.begin[node], end = adjacency.begin[node + 1];
          for (int32_t e = begin; e < end; ++e) sum = sum + h[first + adjacency.neighbour[e] - rows.node_begin[k]];
          out.push_back(end > begin ? sum / (end - begin) : sum);
        }
    return torch::stack(out);
  };
  for (bool directed : {true, false}) {
    options::ModelOptions options = small_model("sage+per-node");
    options.directed = directed;
    const auto layer = make_sage_layer(options);
    const auto named = layer->named_parameters();
    const torch::Tensor first = named["first.weight"], second = named["second.weight"];
    const torch::Tensor x = torch::randn({rows.rows(), options.hidden}).requires_grad_();
    const auto f2 = [&](int64_t i) {
      return torch::relu(x.mm(first.narrow(0, i * options.hidden, options.hidden).t()));
    };
    torch::Tensor joined = means(f2(1), directed ? batch->producers : batch->both);
    if (directed) joined = torch::cat({joined, means(f2(2), batch->users)}, 1);
    const torch::Tensor expected = torch::relu(x.mm(first.narrow(0, 0, options.hidden).t()) + joined.mm(second.t()));
    Noise none;
    const torch::Tensor actual = layer->forward(x, *batch, rows, none), weight = torch::randn_like(actual);
    CHECK(torch::allclose(actual, expected, 1e-4, 1e-5));
    const std::vector<torch::Tensor> inputs = {x, first, second};
    const auto ga = torch::autograd::grad({(actual * weight).sum()}, inputs);
    const auto gb = torch::autograd::grad({(expected * weight).sum()}, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) CHECK(torch::allclose(ga[i], gb[i], 1e-4, 1e-4));
  }
}

TEST_CASE("a GIN layer equals its definition, gradients too") {
  const auto kernels = synthetic_kernels(13, 2, 6, 2);
  const auto views = views_of(kernels);
  const auto batch = batch_of(views, fitted_scale(views), 2);  // a cap that bites
  const Rows& rows = batch->per_option;
  const auto dense = [&](const Adjacency& adjacency) {
    torch::Tensor edges = torch::zeros({rows.rows(), rows.rows()});
    for (int64_t k = 0; k < rows.kernels(); ++k)
      for (int64_t copy = 0; copy < rows.copies_of(k); ++copy)
        for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
          const int64_t node = rows.node_begin[k] + i, first = rows.row_begin[k] + copy * rows.nodes_of(k);
          for (int32_t e = adjacency.begin[node]; e < adjacency.begin[node + 1]; ++e)
            edges[first + i][first + adjacency.neighbour[e] - rows.node_begin[k]] += 1;  // a doubled edge counts twice
        }
    return edges;
  };
  torch::manual_seed(3);
  for (bool directed : {true, false})
    for (bool l2_norm : {false, true}) {
      options::ModelOptions options = small_model("gin+per-node");
      options.directed = directed;
      options.l2_norm = l2_norm;
      const auto layer = make_gin_layer(options);
      const torch::Tensor x = torch::randn({rows.rows(), options.hidden}).requires_grad_();
      std::vector<torch::Tensor> inputs = {x};
      torch::Tensor sum = torch::zeros({rows.rows(), options.hidden});
      const auto add = [&](const std::string& direction, const Adjacency& adjacency) {
        const torch::Tensor f1 = layer->named_parameters()[direction + ".first.weight"],
                            epsilon = layer->named_parameters()[direction + ".epsilon"];
        torch::nn::init::constant_(epsilon, directed ? 0.3 : -0.2);  // 0 would hide it
        sum = sum + ((1 + epsilon) * x + dense(adjacency).mm(x)).mm(f1.t());
        inputs.insert(inputs.end(), {f1, epsilon});
      };
      add("producer", directed ? batch->producers : batch->both);
      if (directed) add("user", batch->users);
      inputs.push_back(layer->named_parameters()["second.weight"]);
      torch::Tensor expected = torch::relu(torch::relu(sum).mm(inputs.back().t()));
      if (l2_norm) expected = expected / expected.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
      Noise none;
      const torch::Tensor actual = layer->forward(x, *batch, rows, none), weight = torch::randn_like(actual);
      CHECK(layer->named_parameters().size() == inputs.size() - 1);
      CHECK(torch::allclose(actual, expected, 1e-4, 1e-5));
      const auto ga = torch::autograd::grad({(actual * weight).sum()}, inputs);
      const auto gb = torch::autograd::grad({(expected * weight).sum()}, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) CHECK(torch::allclose(ga[i], gb[i], 1e-4, 1e-4));
    }
}

TEST_CASE("an LSTM reduction is the final state of each kernel's own sequence") {
  const auto kernels = synthetic_kernels(12, 4, 3, 2);  // 3 to 6 nodes: two groups
  const auto views = views_of(kernels);
  const auto batch = batch_of(views, fitted_scale(views));
  const Rows& rows = batch->per_option;
  const options::ModelOptions options = small_model("none+lstm");
  const auto layer = make_lstm_reduction(options);
  const torch::Tensor x = torch::randn({rows.rows(), options.hidden}).requires_grad_();
  const auto named = layer->named_parameters();
  std::vector<torch::Tensor> states;
  for (int64_t k = 0; k < rows.kernels(); ++k)
    for (int64_t copy = 0; copy < rows.copies_of(k); ++copy) {
      torch::Tensor h = torch::zeros({options.hidden}), c = torch::zeros({options.hidden});
      for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
        const torch::Tensor gates =
            named["input.weight"].mv(x[rows.row_begin[k] + copy * rows.nodes_of(k) + i]) + named["state.weight"].mv(h);
        const auto part = gates.chunk(4);
        c = torch::sigmoid(part[1]) * c + torch::sigmoid(part[0]) * torch::tanh(part[2]);
        h = torch::sigmoid(part[3]) * torch::tanh(c);
      }
      states.push_back(h);
    }
  const torch::Tensor expected = torch::stack(states), actual = layer->forward(x, rows),
                      weight = torch::randn_like(actual);
  CHECK(torch::allclose(actual, expected, 1e-4, 1e-5));
  CHECK(torch::allclose(torch::autograd::grad({(actual * weight).sum()}, {x})[0],
                        torch::autograd::grad({(expected * weight).sum()}, {x})[0], 1e-4, 1e-5));
}

TEST_CASE("graph attention equals its definition, gradients too") {
  const auto kernels = synthetic_kernels(9, 2, 6, 2);
  const auto views = views_of(kernels);
  const auto batch = batch_of(views, fitted_scale(views));
  const Rows& rows = batch->per_option;
  options::ModelOptions options = small_model("gat+per-node");
  options.directed = false;
  const auto layer = make_gat_layer(options);
  torch::Tensor allowed = torch::eye(rows.rows());
  for (int64_t k = 0; k < rows.kernels(); ++k)
    for (int64_t copy = 0; copy < rows.copies_of(k); ++copy)
      for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
        const int64_t node = rows.node_begin[k] + i, first = rows.row_begin[k] + copy * rows.nodes_of(k);
        for (int32_t e = batch->both.begin[node]; e < batch->both.begin[node + 1]; ++e)
          allowed[first + i][first + batch->both.neighbour[e] - rows.node_begin[k]] +=
              1;  // a doubled edge counts twice
      }
  const auto named = layer->named_parameters();
  const torch::Tensor value = named["producer.value.weight"], from = named["producer.from"], to = named["producer.to"];
  torch::manual_seed(2);
  const torch::Tensor x = torch::randn({rows.rows(), options.hidden}).requires_grad_();
  const torch::Tensor v = x.mm(value.t()).view({-1, options.gat_heads, options.hidden / options.gat_heads});
  std::vector<torch::Tensor> heads;
  for (int64_t h = 0; h < options.gat_heads; ++h) {
    const torch::Tensor vh = v.select(1, h);
    const torch::Tensor e = torch::leaky_relu(vh.mv(from[h]).unsqueeze(0) + vh.mv(to[h]).unsqueeze(1), 0.2);
    const torch::Tensor weights = torch::exp(e) * allowed;
    heads.push_back((weights / weights.sum(1, true)).mm(vh));
  }
  Noise none;
  const torch::Tensor expected = torch::elu(torch::cat(heads, 1)), actual = layer->forward(x, *batch, rows, none);
  CHECK(torch::allclose(actual, expected, 1e-4, 1e-5));
  const torch::Tensor weight = torch::randn_like(expected);
  const std::vector<torch::Tensor> inputs = {x, value, from, to};
  const auto ga = torch::autograd::grad({(actual * weight).sum()}, inputs),
             gb = torch::autograd::grad({(expected * weight).sum()}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) CHECK(torch::allclose(ga[i], gb[i], 1e-4, 1e-4));
}

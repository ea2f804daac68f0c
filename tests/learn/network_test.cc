#include "learn/nets/network.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/optim.h>

#include <numeric>

#include "base/error.h"
#include "cost/analytical.h"
#include "learn/nets/losses.h"
#include "learn/nets/segment.h"
#include "tests/learn/small_model.h"
#include "tests/learn/synthetic.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

namespace {

torch::Tensor predict(Network& network, const GraphBatch& batch) {
  torch::NoGradGuard no_gradient;
  Noise none;
  return network.forward(batch, none);
}

// The same kernel with its nodes in another order.
SyntheticKernel permuted(const SyntheticKernel& kernel, uint64_t seed) {
  const auto n = static_cast<int64_t>(kernel.opcodes.size());
  const auto width = static_cast<int64_t>(kernel.node_features.size()) / n;
  std::vector<int32_t> place(n);
  std::iota(place.begin(), place.end(), 0);
  Rng rng(seed);
  for (int64_t i = n - 1; i > 0; --i) std::swap(place[i], place[rng.below(i + 1)]);
  SyntheticKernel out = kernel;
  for (int64_t i = 0; i < n; ++i) {
    out.opcodes[place[i]] = kernel.opcodes[i];
    std::copy_n(kernel.node_features.begin() + i * width, width, out.node_features.begin() + place[i] * width);
  }
  for (size_t e = 0; e < kernel.edge_from.size(); ++e) {
    out.edge_from[e] = place[kernel.edge_from[e]];
    out.edge_to[e] = place[kernel.edge_to[e]];
  }
  return out;
}

// Loss after and before training on one batch.
std::pair<double, double> overfit(const options::ModelOptions& options, bool rank, int steps) {
  at::set_num_threads(1);
  const auto kernels = synthetic_kernels(3, 3, 5, 5);
  const auto views = views_of(kernels);
  const cost::FeatureScale scale = fitted_scale(views);
  const auto batch = batch_of(views, scale);
  const auto network = make_network(options, scale.widths(), 1);
  torch::optim::Adam adam(network->parameters(), torch::optim::AdamOptions(5e-3));
  const torch::Tensor target = (batch->log_runtime - batch->log_runtime.mean()) / batch->log_runtime.std();
  double first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    Noise none;
    adam.zero_grad();
    const torch::Tensor y = network->forward(*batch, none);
    const torch::Tensor loss =
        rank ? pairwise_rank_loss(y, batch->log_runtime, batch->per_option, Phi::Hinge) : squared_error(y, target);
    loss.backward();
    adam.step();
    last = loss.item<double>();
    if (step == 0) first = last;
    if (step > 20 && last < 0.02 * first) break;
  }
  return {last, first};
}

}  // namespace

TEST_CASE("every network overfits one tiny batch") {
  for (const options::ModelName& row : options::model_names()) {
    const auto [rank_after, rank_before] = overfit(small_model(row.name), true, 300);
    INFO(row.name << ": rank loss " << rank_before << " -> " << rank_after);
    CHECK(rank_after < 0.1 * rank_before);
    const auto [square_after, square_before] = overfit(small_model(row.name), false, 400);
    INFO(row.name << ": squared error " << square_before << " -> " << square_after);
    CHECK(square_after < 0.1 * square_before);
  }
}

TEST_CASE("kernel features may enter at the kernel embedding, at the nodes or nowhere") {
  const auto kernels = synthetic_kernels(4, 2, 5, 3);
  const auto views = views_of(kernels);
  const cost::FeatureScale scale = fitted_scale(views);
  const auto batch = batch_of(views, scale);
  for (options::Join tile : {options::Join::None, options::Join::Node, options::Join::Kernel})
    for (options::Join fixed : {options::Join::None, options::Join::Node, options::Join::Kernel}) {
      options::ModelOptions options = small_model("sage+per-node");
      options.tile_join = tile;
      options.static_join = fixed;
      const auto network = make_network(options, scale.widths(), 1);
      const torch::Tensor y = predict(*network, *batch);
      REQUIRE(y.sizes() == torch::IntArrayRef({6}));
      CHECK(torch::isfinite(y).all().item<bool>());
      // Without option features all options of a kernel have the same prediction.
      CHECK((y[0].item<float>() == y[1].item<float>()) == (tile == options::Join::None));
    }
}

TEST_CASE("an option's prediction does not depend on what else is in the batch") {
  const auto kernels = synthetic_kernels(5, 3, 6, 4);
  const auto views = views_of(kernels);
  const cost::FeatureScale scale = fitted_scale(views);
  const auto all = batch_of(views, scale);
  const auto alone = make_batch({{views[1], {2}}}, scale, 20);
  for (const options::ModelName& row : options::model_names()) {
    const auto network = make_network(small_model(row.name), scale.widths(), 2);
    INFO(row.name);
    CHECK(predict(*network, *alone)[0].item<float>() ==
          Approx(predict(*network, *all)[4 + 2].item<float>()).margin(1e-5));
  }
}

TEST_CASE("the analytical model's features reach every network") {
  const auto kernels = synthetic_kernels(4, 2, 5, 3);
  const auto views = views_of(kernels);
  cost::FeatureScale scale(/*demand=*/true);
  for (const KernelView& view : views) scale.fit(view);
  CHECK(scale.widths().option() == scale.widths().tile + static_cast<int64_t>(cost::demand_columns().size()));
  CHECK(cost::feature_scale_from_json(to_json(scale), true) == scale);
  CHECK_THROWS_AS(cost::feature_scale_from_json(to_json(scale), false), Error);
  const auto all = batch_of(views, scale);
  CHECK(all->tiles.size(1) == scale.widths().option());
  const auto alone = make_batch({{views[1], {1}}}, scale, 20);
  CHECK(torch::equal(alone->tiles[0], all->tiles[3 + 1]));
  for (const options::ModelName& row : options::model_names()) {
    options::ModelOptions options = small_model(row.name);
    options.demand = true;
    const auto network = make_network(options, scale.widths(), 1);
    INFO(row.name);
    const float before = predict(*network, *alone)[0].item<float>();
    alone->tiles[0][-1] += 0.5;  // the estimate
    CHECK(predict(*network, *alone)[0].item<float>() != before);
    alone->tiles[0][-1] -= 0.5;
  }
}

TEST_CASE("node order does not matter where no sequence is read") {
  Rng rng(6);
  const SyntheticKernel kernel = synthetic_kernel(rng, 12, 3);
  const SyntheticKernel other = permuted(kernel, 9);
  const cost::FeatureScale scale = fitted_scale({kernel.view()});
  const auto a = batch_of({kernel.view()}, scale), b = batch_of({other.view()}, scale);
  for (const options::ModelName& row : options::model_names()) {
    if (row.reduction == options::Reduction::Lstm) continue;
    for (bool directed : {true, false}) {
      options::ModelOptions options = small_model(row.name);
      options.directed = directed;
      const auto network = make_network(options, scale.widths(), 3);
      INFO(row.name);
      CHECK(torch::allclose(predict(*network, *a), predict(*network, *b), 1e-4, 1e-4));
    }
  }
}

TEST_CASE("graph networks see edges, directed ones their direction") {
  Rng rng(7);
  const SyntheticKernel kernel = synthetic_kernel(rng, 8, 2);
  SyntheticKernel reversed = kernel, bare = kernel;
  std::swap(reversed.edge_from, reversed.edge_to);
  bare.edge_from.clear();
  bare.edge_to.clear();
  const cost::FeatureScale scale = fitted_scale({kernel.view()});
  const auto a = batch_of({kernel.view()}, scale), b = batch_of({reversed.view()}, scale),
             c = batch_of({bare.view()}, scale);
  for (const std::string name : {"none+column-wise", "sage+column-wise", "gat+column-wise", "gin+column-wise"})
    for (bool directed : {true, false}) {
      options::ModelOptions options = small_model(name);
      options.directed = directed;
      const auto network = make_network(options, scale.widths(), 3);
      INFO(name << (directed ? " directed" : " undirected"));
      const bool graph = name[0] != 'n';
      CHECK(torch::allclose(predict(*network, *a), predict(*network, *b), 1e-4, 1e-4) == !(graph && directed));
      CHECK(torch::allclose(predict(*network, *a), predict(*network, *c), 1e-4, 1e-4) == !graph);
    }
}

TEST_CASE("losses equal hand arithmetic") {
  Rows rows;
  rows.node_begin = {0, 1, 2, 3};
  rows.copy_begin = {0, 3, 4, 6};  // three options, one, two
  rows.row_begin = {0, 3, 4, 6};
  const torch::Tensor predicted = torch::tensor({0.5f, 2.0f, 1.0f, 9.0f, 0.0f, 3.0f});
  const torch::Tensor target = torch::tensor({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 5.0f});
  // First kernel: pairs (slower, faster) z = 2.0-0.5, 1.0-0.5, 1.0-2.0; hinge 0, 0.5, 2; over 3. The last one is tied.
  CHECK(pairwise_rank_loss(predicted, target, rows, Phi::Hinge).item<double>() == Approx(2.5 / 3 / 2));
  const auto logistic = [](double z) { return std::log1p(std::exp(-z)); };
  CHECK(pairwise_rank_loss(predicted, target, rows, Phi::Logistic).item<double>() ==
        Approx((logistic(1.5) + logistic(0.5) + logistic(-1)) / 3 / 2));
  // Pairs count min(1, difference): half for the first, whole for both others.
  const torch::Tensor close = torch::tensor({1.0f, 1.5f, 3.0f, 4.0f, 5.0f, 5.0f});
  CHECK(pairwise_rank_loss(torch::tensor({0.5f, 0.7f, 1.0f, 9.0f, 0.0f, 3.0f}), close, rows, Phi::Hinge,
                           PairWeight::LogRatio)
            .item<double>() == Approx((0.8 * 0.5 + 0.5 + 0.7) / 3 / 2));
  // Errors -0.5, 0, -2 around -5/6 and -5, -2 around -3.5; linear above 0.5.
  const auto bent = [](double off) { return off < 0.5 ? off * off / 2 : 0.5 * (off - 0.25); };
  CHECK(ratio_loss(predicted, target, rows).item<double>() ==
        Approx(((bent(1.0 / 3) + bent(5.0 / 6) + bent(7.0 / 6)) / 3 + bent(1.5)) / 2));
  CHECK(ratio_loss(predicted + 3, target, rows).item<double>() ==
        Approx(ratio_loss(predicted, target, rows).item<double>()));
  CHECK(squared_error(torch::tensor({1.0f, 4.0f}), torch::tensor({2.0f, 2.0f})).item<double>() == Approx(2.5));
  Rows single;
  single.node_begin = single.copy_begin = single.row_begin = {0, 1};
  CHECK(pairwise_rank_loss(torch::tensor({1.0f}), torch::tensor({1.0f}), single, Phi::Hinge).item<double>() == 0);
  CHECK(ratio_loss(torch::tensor({1.0f}), torch::tensor({1.0f}), single).item<double>() == 0);
}

TEST_CASE("dropout is a function of its seed and keeps the mean") {
  const torch::Tensor x = torch::ones({200, 50});
  Noise a(5), b(5), c(6), none;
  const torch::Tensor ya = a.dropout(x, 0.25);
  CHECK(torch::equal(ya, b.dropout(x, 0.25)));
  CHECK(!torch::equal(ya, c.dropout(x, 0.25)));
  CHECK(!torch::equal(ya, a.dropout(x, 0.25)));
  CHECK(torch::equal(none.dropout(x, 0.25), x));
  CHECK(ya.mean().item<double>() == Approx(1).margin(0.03));
  const torch::Tensor z = torch::randn({100, 20}).requires_grad_();
  Noise d(7), e(7);
  const torch::Tensor mask = d.dropout(torch::ones_like(z), 0.25), both = e.relu_dropout(z, 0.25);
  CHECK(torch::allclose(both, torch::relu(z) * mask));
  CHECK(torch::allclose(torch::autograd::grad({both.sum()}, {z})[0], (z > 0) * mask));
  Noise f(7);
  CHECK(torch::allclose(torch::autograd::grad({(f.dropout(z, 0.25) * z).sum()}, {z})[0], 2 * z * mask, 1e-4, 1e-5));
  CHECK((ya == 0).to(torch::kFloat).mean().item<double>() == Approx(0.25).margin(0.03));
}

TEST_CASE("batches refuse invalid kernels") {
  Rng rng(10);
  const SyntheticKernel good = synthetic_kernel(rng, 4, 2);
  const cost::FeatureScale scale = fitted_scale({good.view()});
  const auto make = [&](const SyntheticKernel& k) { make_batch({{k.view(), {0}}}, scale, 20); };
  CHECK_NOTHROW(make(good));
  SyntheticKernel wide = good, outside = good, cycle = good, empty = good;
  wide.node_features.push_back(0);
  CHECK_THROWS_AS(make(wide), Error);
  outside.edge_to[0] = 4;
  CHECK_THROWS_AS(make(outside), Error);
  cycle.edge_from.push_back(3);
  cycle.edge_to.push_back(0);
  cycle.edge_from.insert(cycle.edge_from.end(), {0, 1, 2});
  cycle.edge_to.insert(cycle.edge_to.end(), {1, 2, 3});
  CHECK_THROWS_AS(make(cycle), Error);
  empty.opcodes.clear();
  CHECK_THROWS_AS(make(empty), Error);
}

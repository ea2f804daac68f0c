// TGraph's equations against values computed by hand, and invariants of the networks.
#include "learn/layout/tgraph.h"

#include <torch/nn.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "learn/layout/layout_losses.h"
#include "learn/layout/layout_trained.h"
#include "learn/layout/tgraph_ops.h"
#include "tests/learn/layout_graphs.h"
#include "tests/learn/torch_catch.h"
#include "tests/with_lanes.h"

using namespace hone;
using namespace hone::learn;

namespace {

bool near(const torch::Tensor& a, const torch::Tensor& b, double within = 1e-5) {
  return a.sizes() == b.sizes() && torch::allclose(a, b, 1e-4, within);
}

torch::Tensor random(std::vector<int64_t> shape, uint64_t seed) {
  Rng rng(seed);
  torch::Tensor x = torch::empty(shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = static_cast<float>(2 * rng.uniform() - 1);
  return x;
}

// The gradient of sum(f(x) o w) against finite differences along a few random directions.
void check_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& f, const torch::Tensor& x) {
  const torch::Tensor at = x.clone().set_requires_grad(true), y = f(at), w = random(y.sizes().vec(), 91);
  (y * w).sum().backward();
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const torch::Tensor d = random(x.sizes().vec(), 17 + seed);
    const double h = 1e-3;
    const double slope = ((f(x + h * d) - f(x - h * d)) * w).to(torch::kDouble).sum().item<double>() / (2 * h);
    CHECK(slope == Approx((at.grad() * d).sum().item<double>()).epsilon(0.01).margin(0.02));
  }
}

options::LayoutModelOptions small_layout_options(const std::string& name) {
  options::LayoutModelOptions options;
  options.name = name;
  options.hidden = 16;
  options.opcode_embedding = 4;
  options.layout_embedding = 2;
  return options;
}

LayoutInputs inputs_of(const options::ConfigGraph& graph, const options::LayoutModelOptions& options) {
  const options::ConfigGraph used = options.prune ? options::prune(graph) : graph;
  return {used, NodeScale::fit(std::span(&used, 1)), neighbourhood_of(options)};
}

torch::Tensor scores_of(LayoutNetwork& network, const LayoutInputs& inputs, const std::vector<int32_t>& configs) {
  LayoutRows distinct(inputs);
  const std::vector<int32_t> rows = distinct.rows(configs);
  std::vector<int32_t> places(configs.size());
  std::iota(places.begin(), places.end(), 0);
  Noise none;
  return network.score(inputs, network.embed(inputs, distinct.nodes(), distinct.axes()), distinct.index(rows, places),
                       none);
}

}  // namespace

TEST_CASE("cross-configuration attention by hand") {
  // Two configurations, one node, one channel, T = 0.5: softmax(2 * {1, 3}) = {1 / (1 + e^4), e^4 / (1 + e^4)}.
  const torch::Tensor x = torch::tensor({1.0f, 3.0f}).view({2, 1, 1});
  const torch::Tensor y = with_cross_attention(x, torch::full({}, 0.5));
  const double second = std::exp(4) / (1 + std::exp(4));
  CHECK(near(y, torch::tensor({1.0, 1 - second, 3.0, 3 * second}).to(torch::kFloat).view({2, 1, 2})));
  // Equal configurations share evenly; attention is within a node and a channel.
  const torch::Tensor same = torch::tensor({2.0f, -1.0f, 2.0f, -1.0f}).view({2, 1, 2});
  CHECK(near(with_cross_attention(same, torch::full({}, 3.0)),
             torch::tensor({2.0f, -1.0f, 1.0f, -0.5f, 2.0f, -1.0f, 1.0f, -0.5f}).view({2, 1, 4})));
  const torch::Tensor many = random({5, 3, 4}, 8);
  check_gradient([](const torch::Tensor& v) { return with_cross_attention(v, torch::full({}, 0.5)); }, many);
  check_gradient([&](const torch::Tensor& v) { return with_cross_attention(many, v); }, torch::full({}, 0.7));
}

TEST_CASE("cross-configuration attention is torch's softmax of any width and temperature") {
  const WithLanes versions(GENERATE(4, 8, 16));
  for (const float temperature : {0.5f, 0.01f, -0.4f})
    for (const int64_t width : {1, 7, 32}) {
      INFO("temperature " << temperature << ", width " << width);
      const torch::Tensor x = random({9, 5, width}, 4), t = torch::full({}, temperature);
      CHECK(near(with_cross_attention(x, t), torch::cat({x, x * torch::softmax(x / t, 0)}, 2)));
    }
}

TEST_CASE("gates are sigmoids") {
  const torch::Tensor x = random({3, 4, 5}, 1), logits = random({3, 4, 5}, 2);
  CHECK(near(gate(x, logits), x * torch::sigmoid(logits)));
  check_gradient([&](const torch::Tensor& v) { return gate(v, logits); }, x);
  check_gradient([&](const torch::Tensor& v) { return gate(x, v); }, logits);
}

TEST_CASE("channel attention by hand") {
  ChannelAttention attention(2);
  torch::NoGradGuard no_gradient;
  attention.squeeze->weight.copy_(torch::tensor({1.0f, -2.0f}).view({1, 2}));
  attention.squeeze->bias.fill_(0.5);
  attention.expand->weight.copy_(torch::tensor({1.0f, -1.0f}).view({2, 1}));
  attention.expand->bias.copy_(torch::tensor({0.0f, 0.25f}));
  // x = (3, 1): relu(3 - 2 + 0.5) = 1.5, gates sigmoid(1.5) and sigmoid(-1.25).
  const auto gate = [](double v) { return 1 / (1 + std::exp(-v)); };
  CHECK(near(attention.forward(torch::tensor({3.0f, 1.0f})),
             torch::tensor({3 * gate(1.5), gate(-1.25)}).to(torch::kFloat)));
  // x = (-3, 1): relu(-4.5) = 0, gates sigmoid(0) and sigmoid(0.25).
  CHECK(near(attention.forward(torch::tensor({-3.0f, 1.0f})), torch::tensor({-1.5, gate(0.25)}).to(torch::kFloat)));
}

TEST_CASE("instance norm is over the nodes of one configuration and channel") {
  const torch::Tensor x = random({3, 7, 5}, 1);
  const torch::Tensor mean = x.mean(1, true), variance = (x - mean).square().mean(1, true);
  CHECK(near(instance_norm(x), (x - mean) / (variance + 1e-5).sqrt()));
  check_gradient([](const torch::Tensor& v) { return instance_norm(v); }, x);
  // Rows that stand for two, one and three nodes.
  const torch::Tensor kinds = random({4, 3, 5}, 2), of = torch::tensor({0, 1, 0, 2, 2, 2});
  const torch::Tensor shares = torch::tensor({2.0f, 1.0f, 3.0f}) / 6.0;
  CHECK(near(instance_norm(kinds, shares).index_select(1, of), instance_norm(kinds.index_select(1, of))));
  check_gradient([&](const torch::Tensor& v) { return instance_norm(v, shares); }, kinds);
}

TEST_CASE("neighbours are summed, averaged or normalised") {
  options::ConfigGraph graph = chain_graph(3, 1, 1);  // 1 uses 0, 2 uses 1
  graph.edges.insert(graph.edges.end(), {2, 0});
  // Own part 100, 200, 300; neighbours' part 1, 2, 4.
  const torch::Tensor z = torch::tensor({100.0f, 1.0f, 200.0f, 2.0f, 300.0f, 4.0f}).view({1, 3, 2});
  const auto result = [&](Neighbourhood rule) { return add_neighbours(z, LayoutAdjacency(graph, rule)).view({-1}); };
  CHECK(near(result(Neighbourhood::Sum), torch::tensor({106.0f, 205.0f, 303.0f})));
  CHECK(near(result(Neighbourhood::MeanOfUsers), torch::tensor({103.0f, 204.0f, 300.0f})));
  CHECK(near(result(Neighbourhood::None), torch::tensor({100.0f, 200.0f, 300.0f})));
  // All three are neighbours of each other and of themselves: degree 3, weights 1/3.
  const float third = 7.0f / 3;
  CHECK(near(result(Neighbourhood::Symmetric), torch::tensor({100 + third, 200 + third, 300 + third})));

  const options::ConfigGraph chain = chain_graph(6, 1, 2);
  for (Neighbourhood rule : {Neighbourhood::Sum, Neighbourhood::MeanOfUsers, Neighbourhood::Symmetric}) {
    const LayoutAdjacency adjacency(chain, rule);
    check_gradient([&](const torch::Tensor& v) { return add_neighbours(v, adjacency); }, random({2, 6, 4}, 3));
  }
}

TEST_CASE("gathered rows pass their gradients on") {
  const torch::Tensor index = torch::tensor({0, 2, 2, 1}, torch::kLong).view({2, 2}), rows = random({3, 2}, 4);
  CHECK(near(gather_rows(rows, index), rows.index_select(0, index.view(-1)).view({2, 2, 2})));
  check_gradient([&](const torch::Tensor& v) { return gather_rows(v, index); }, rows);
}

TEST_CASE("losses by hand") {
  // Run times 3 > 1 > 1 (a tie); scores 2, 0, 1.5: pairs (0,1) and (0,2), hinges 0 and 0.5, over 3 pairs.
  const torch::Tensor scores = torch::tensor({2.0f, 0.0f, 1.5f});
  CHECK(layout_loss("hinge", scores, std::vector<double>{3, 1, 1}).item<double>() == Approx(0.5 / 3));
  // Nanoseconds apart at seconds: float32 would see a tie.
  CHECK(layout_loss("hinge", torch::tensor({0.0f, 0.0f}), std::vector<double>{4e9 + 1, 4e9}).item<double>() ==
        Approx(1));
  // ListMLE of two: the faster one is drawn first with probability e^-0.5 / (e^-0.5 + e^-1).
  const double p = std::exp(-0.5) / (std::exp(-0.5) + std::exp(-1));
  CHECK(layout_loss("listmle", torch::tensor({1.0f, 0.5f}), std::vector<double>{9, 5}).item<double>() ==
        Approx(-std::log(p) / 2));
  CHECK(layout_loss("hinge", torch::tensor({1.0f}), std::vector<double>{9}).item<double>() == 0);
}

TEST_CASE("without gradients scores are the same up to rounding") {
  const WithLanes versions(GENERATE(4, 8, 16));
  for (const int64_t hidden : {16, 32, 64})
    for (const bool channels : {true, false})
      for (const bool across : {true, false})
        for (const bool edges : {true, false}) {
          options::LayoutModelOptions options = small_layout_options("tgraph-code");
          options.hidden = hidden;
          options.channel_attention = channels;
          options.cross_attention = across;
          options.edges = edges;
          const auto network = make_layout_network(options, 5);
          {
            const torch::NoGradGuard frozen;  // moves biases and temperatures away from their initial values
            uint64_t seed = 0;
            for (torch::Tensor& parameter : network->parameters())
              parameter.add_(0.2 * random(parameter.sizes().vec(), ++seed));
          }
          options::ConfigGraph graph = chain_graph(15, 37, 5);
          for (const int64_t like_first : {5, 7, 13}) {  // neither is configurable
            std::copy_n(&graph.node_feat[options::kNodeFeatures], options::kNodeFeatures,
                        &graph.node_feat[like_first * options::kNodeFeatures]);
          }
          const LayoutInputs inputs = inputs_of(graph, options);
          for (const int32_t count : {1, 16, 37}) {
            INFO(hidden << " wide, " << channels << across << edges << ", " << count << " configurations");
            std::vector<int32_t> some(count);
            std::iota(some.begin(), some.end(), 0);
            const torch::Tensor layers = scores_of(*network, inputs, some).detach();
            const torch::NoGradGuard frozen;
            const torch::Tensor quick = scores_of(*network, inputs, some);
            CHECK(near(quick, layers, 2e-5));
            if (count > 1) CHECK((layers.std().item<double>() > 1e-3));
          }
        }
}

TEST_CASE("scores follow their configurations through any permutation") {
  const options::ConfigGraph graph = chain_graph(15, 24, 5);
  std::vector<int32_t> order(24), mixed;
  std::iota(order.begin(), order.end(), 0);
  mixed = order;
  Rng rng(6);
  for (size_t i = mixed.size(); i > 1; --i) std::swap(mixed[i - 1], mixed[rng.below(static_cast<int64_t>(i))]);
  for (const char* name : {"tgraph", "tgraph-code", "sage", "linear"}) {
    const options::LayoutModelOptions options = small_layout_options(name);
    const auto network = make_layout_network(options, 3);
    network->eval();
    const LayoutInputs inputs = inputs_of(graph, options);
    const torch::Tensor plain = scores_of(*network, inputs, order), shuffled = scores_of(*network, inputs, mixed);
    REQUIRE(plain.sizes() == std::vector<int64_t>{24});
    for (size_t i = 0; i < mixed.size(); ++i)
      CHECK(shuffled[static_cast<int64_t>(i)].item<float>() == Approx(plain[mixed[i]].item<float>()).margin(1e-4));
  }
}

TEST_CASE("only cross attention lets one configuration see another") {
  const options::ConfigGraph graph = chain_graph(15, 24, 5);
  std::vector<int32_t> few = {0, 1, 2, 3}, more = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const char* name : {"tgraph", "tgraph-code"})
    for (bool cross : {true, false}) {
      options::LayoutModelOptions options = small_layout_options(name);
      options.cross_attention = cross;
      const auto network = make_layout_network(options, 3);
      const LayoutInputs inputs = inputs_of(graph, options);
      const torch::Tensor a = scores_of(*network, inputs, few), b = scores_of(*network, inputs, more).narrow(0, 0, 4);
      CHECK(near(a, b, 1e-6) == !cross);
    }
}

TEST_CASE("every parameter of a network learns, and edges matter") {
  const options::ConfigGraph graph = chain_graph(15, 24, 5);
  std::vector<int32_t> all(24);
  std::iota(all.begin(), all.end(), 0);
  for (const char* name : {"tgraph", "tgraph-code", "sage"}) {
    options::LayoutModelOptions options = small_layout_options(name);
    const auto network = make_layout_network(options, 3);
    const LayoutInputs inputs = inputs_of(graph, options);
    const torch::Tensor scores = scores_of(*network, inputs, all);
    layout_loss("hinge", scores, graph.runtime_ns).backward();
    for (const auto& parameter : network->named_parameters()) {
      INFO(name << " " << parameter.key());
      CHECK(parameter.value().grad().defined());
    }
    options.edges = false;
    const LayoutInputs lone = inputs_of(graph, options);
    CHECK_FALSE(near(scores, scores_of(*network, lone, all), 1e-6));
  }
}

TEST_CASE("tiles: one network, permutations, dependence between configurations, gradients") {
  const options::ConfigGraph graph = tile_kernel(12, 5);
  for (const char* name : {"tgraph", "tgraph-code", "linear"})
    for (bool cross : {true, false}) {
      options::LayoutModelOptions options = small_layout_options(name);
      options.tiles = true;
      options.cross_attention = cross;
      const auto network = make_layout_network(options, 3);
      const LayoutInputs inputs = inputs_of(graph, options);
      const torch::Tensor all = scores_of(*network, inputs, {0, 1, 2, 3, 4, 5}),
                          turned = scores_of(*network, inputs, {5, 4, 3, 2, 1, 0}),
                          few = scores_of(*network, inputs, {0, 1, 2});
      REQUIRE(all.sizes() == std::vector<int64_t>{6});
      CHECK(near(all, turned.flip(0), 1e-5));
      CHECK(near(all.narrow(0, 0, 3), few, 1e-6) == (!cross || options.name == "linear"));
      layout_loss("hinge", all, std::span(graph.runtime_ns).first(6)).backward();
      for (const auto& parameter : network->named_parameters()) {
        INFO(name << " " << parameter.key());
        CHECK(parameter.value().grad().defined());
      }
    }
  options::LayoutModelOptions options = small_layout_options("sage");
  options.tiles = true;
  CHECK_THROWS_AS(make_layout_network(options, 3), Error);
}

TEST_CASE("nodes of a kernel that are alike stay nodes of their own") {
  options::ConfigGraph graph = tile_kernel(4, 5);
  std::copy_n(graph.node_feat.data(), options::kNodeFeatures, &graph.node_feat[2 * options::kNodeFeatures]);
  REQUIRE(options::first_alike(graph) == std::vector<int32_t>{0, 1, 0});
  for (const char* name : {"tgraph", "tgraph-code"}) {
    options::LayoutModelOptions options = small_layout_options(name);
    options.tiles = true;
    const auto network = make_layout_network(options, 3);
    CHECK(scores_of(*network, inputs_of(graph, options), {0, 1, 2, 3}).size(0) == 4);
  }
}

TEST_CASE("weights come back from their file") {
  const TempDir folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  const options::ConfigGraph graph = chain_graph(15, 30, 5);
  std::vector<int32_t> all(30);
  std::iota(all.begin(), all.end(), 0);
  const options::ConfigGraph pruned = options::prune(graph);
  for (const char* name : {"tgraph", "tgraph-code", "sage", "linear", "frequent"}) {
    TrainedLayouts trained;
    trained.options = small_layout_options(name);
    trained.scale = NodeScale::fit(std::span(&pruned, 1));
    trained.loss = "hinge";
    trained.seed = 9;
    trained.split.hold_out = 0.25;
    if (trained.options.name == "frequent") {
      trained.rule.fit(graph, all, graph.runtime_ns);
    } else {
      for (uint64_t seed : {1, 2}) trained.members.push_back(make_layout_network(trained.options, seed));
      trained.validation_tau = {0.5, 0.25};
    }
    save_layout_weights(path, trained);
    const TrainedLayouts again = load_layout_weights(path);
    CHECK(again.members.size() == trained.members.size());
    CHECK(again.split.hold_out == 0.25);
    CHECK(again.seed == 9);
    for (const auto& member : trained.members) member->eval();
    const PredictLayouts options{2, 8, 4};
    const std::vector<double> now = predict_layouts(trained, graph, all, options);
    const std::vector<double> later = predict_layouts(again, graph, all, options);
    for (size_t i = 0; i < all.size(); ++i) CHECK(later[i] == Approx(now[i]).margin(1e-6));
    const std::string whole = read_file(path);
    write_file(path, std::string_view(whole).substr(0, whole.size() / 2));
    CHECK_THROWS_AS(load_layout_weights(path), Error);
  }
}

TEST_CASE("augmentation averages over permutations, batches are even") {
  const options::ConfigGraph graph = chain_graph(15, 30, 5);
  std::vector<int32_t> all(30);
  std::iota(all.begin(), all.end(), 0);
  options::LayoutModelOptions options = small_layout_options("tgraph-code");
  const auto network = make_layout_network(options, 3);
  network->eval();
  const LayoutInputs inputs = inputs_of(graph, options);
  // In one batch every permutation gives the same scores; in small ones they differ, and averages differ less.
  const auto scores = [&](int64_t turns, int64_t batch, uint64_t seed) {
    return predict_layouts(*network, inputs, all, {turns, batch, seed});
  };
  const auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
  };
  CHECK(distance(scores(1, 30, 1), scores(1, 30, 2)) < 1e-8);
  CHECK(distance(scores(1, 5, 1), scores(1, 5, 1)) == 0);
  CHECK(distance(scores(1, 5, 1), scores(1, 5, 2)) > 0);
  CHECK(distance(scores(20, 5, 1), scores(20, 5, 2)) < distance(scores(1, 5, 1), scores(1, 5, 2)));
}

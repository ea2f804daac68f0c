#include "learn/agents/networks.h"

#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "learn/agents/agent.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

namespace {

options::AgentOptions small() {
  options::AgentOptions options;
  options.layers = {16, 16};
  options.gnn_hidden = 8;
  options.gnn_layers = 2;
  options.opcode_embedding = 4;
  return options;
}

passorder::Observation random_observation(Rng& rng, const passorder::EnvironmentSpec& spec, int64_t nodes) {
  passorder::Observation o;
  for (int64_t i = 0; i < spec.observation_width; ++i) o.values.push_back(static_cast<float>(rng.below(50)));
  for (int64_t i = 0; i < spec.cost_width; ++i) o.costs.push_back(static_cast<float>(rng.below(1000000)));
  if (spec.node_width == 0) return o;
  auto graph = std::make_shared<passorder::GraphObservation>();
  for (int64_t n = 0; n < nodes; ++n) {
    graph->opcodes.push_back(static_cast<uint8_t>(rng.below(100)));
    for (int64_t f = 0; f < spec.node_width; ++f) graph->node_features.push_back(static_cast<float>(rng.below(100)));
    if (n == 0) continue;
    graph->edge_from.push_back(static_cast<int32_t>(rng.below(n)));
    graph->edge_to.push_back(static_cast<int32_t>(n));
  }
  o.graph = graph;
  return o;
}

}  // namespace

TEST_CASE("running statistics are those of all rows together") {
  Rng rng(1);
  torch::Tensor rows = torch::empty({60, 3});
  for (int64_t i = 0; i < 60; ++i) {
    rows[i][0] = static_cast<float>(rng.below(1000));
    rows[i][1] = -static_cast<float>(rng.below(10));
    rows[i][2] = 4;
  }
  Normalizer parts(3, true), once(3, true);
  parts.update(rows.narrow(0, 0, 7));
  parts.update(rows.narrow(0, 7, 1));
  parts.update(rows.narrow(0, 8, 52));
  once.update(rows);
  CHECK(torch::allclose(parts.mean, once.mean, 1e-10, 1e-12));
  CHECK(torch::allclose(parts.square, once.square, 1e-10, 1e-12));
  const torch::Tensor y = once.forward(rows), logs = torch::sign(rows) * torch::log1p(rows.abs());
  const torch::Tensor variance = logs.var(0, /*unbiased=*/false);
  CHECK(torch::allclose(y, (logs - logs.mean(0)) / torch::sqrt(variance + 0.01), 1e-3, 1e-4));
  CHECK(y.select(1, 2).abs().max().item<double>() < 1e-4);  // a constant column is 0
  CHECK(once.forward(torch::full({1, 3}, 1e30f)).abs().max().item<double>() <= 10);
  Normalizer off(3, false);
  off.update(rows);
  CHECK(torch::equal(off.forward(rows), rows));
}

TEST_CASE("the value function sees cost features, the policy does not") {
  const passorder::EnvironmentSpec spec{"test", 5, 4, 2, 0};
  options::AgentOptions options = small();
  Rng rng(2);
  std::vector<passorder::Observation> plain{random_observation(rng, spec, 0)}, other = plain;
  other[0].costs = {3e9f, 12};
  for (const bool sees : {false, true}) {
    options.value_features = sees;
    ActorCritic model(options, spec);
    const Inputs a = model.scale->forward(stack(plain, spec)), b = model.scale->forward(stack(other, spec));
    CHECK(torch::equal(model.log_probabilities(a), model.log_probabilities(b)));
    CHECK(torch::equal(model.value(a), model.value(b)) == !sees);
  }
  options.value_features = true;
  CHECK_THROWS_AS(ActorCritic(options, passorder::EnvironmentSpec{"test", 5, 4, 0, 0}), Error);
}

TEST_CASE("a new policy chooses nearly evenly, and equal seeds give equal weights") {
  const passorder::EnvironmentSpec spec{"test", 5, 4, 0, 0};
  options::AgentOptions options = small();
  Rng rng(3);
  const std::vector<passorder::Observation> seen{random_observation(rng, spec, 0), random_observation(rng, spec, 0)};
  ActorCritic model(options, spec), same(options, spec);
  const torch::Tensor p = model.log_probabilities(model.scale->forward(stack(seen, spec))).exp();
  CHECK(torch::allclose(p, torch::full({2, 5}, 0.2), 0, 0.05));
  CHECK(torch::allclose(p.sum(1), torch::ones({2})));
  CHECK(torch::equal(model.policy->parameters()[0], same.policy->parameters()[0]));
  // Orthogonal with gain sqrt 2: W W' = 2 I for the second hidden layer.
  const torch::Tensor w = model.policy->named_parameters()["layer1.weight"];
  CHECK(torch::allclose(w.mm(w.t()), 2 * torch::eye(16), 1e-4, 1e-4));
}

TEST_CASE("a graph policy does not depend on the order of nodes, and equal graphs are read once") {
  const passorder::EnvironmentSpec spec{"test", 5, 3, 0, 6};
  options::AgentOptions options = small();
  options.policy = "gnn";
  Rng rng(4);
  passorder::Observation a = random_observation(rng, spec, 9), b = random_observation(rng, spec, 5), turned = a;
  auto graph = std::make_shared<passorder::GraphObservation>(*a.graph);
  const auto moved = [](int32_t node) { return 8 - node; };
  for (int32_t n = 0; n < 9; ++n) {
    graph->opcodes[moved(n)] = a.graph->opcodes[n];
    std::copy_n(a.graph->node_features.begin() + n * 6, 6, graph->node_features.begin() + moved(n) * 6);
  }
  for (int32_t& node : graph->edge_from) node = moved(node);
  for (int32_t& node : graph->edge_to) node = moved(node);
  turned.graph = graph;
  ActorCritic model(options, spec);
  const std::vector<passorder::Observation> all{a, b, turned, a};
  model.scale->update(stack(all, spec));
  const Inputs inputs = model.scale->forward(stack(all, spec));
  CHECK(inputs.graphs->kernels() == 3);  // the first one twice
  const torch::Tensor log_p = model.log_probabilities(inputs);
  CHECK(torch::equal(log_p[0], log_p[3]));
  CHECK(torch::allclose(log_p[0], log_p[2], 1e-4, 1e-5));
  CHECK(!torch::allclose(log_p[0], log_p[1], 1e-4, 1e-5));
  // Alone or in a batch.
  const Inputs alone = model.scale->forward(stack({&b, 1}, spec));
  CHECK(torch::allclose(model.log_probabilities(alone)[0], log_p[1], 1e-4, 1e-5));
  // Every parameter has a gradient.
  (model.log_probabilities(inputs).select(1, 0).sum() + model.value(inputs).sum()).backward();
  for (const auto& parameter : model.named_parameters()) {
    INFO(parameter.key());
    CHECK(parameter.value().grad().defined());
  }
}

TEST_CASE("rows are selected with their graphs, and observations that do not fit throw InternalError") {
  const passorder::EnvironmentSpec spec{"test", 5, 3, 1, 2};
  Rng rng(5);
  const std::vector<passorder::Observation> all{random_observation(rng, spec, 3), random_observation(rng, spec, 4)};
  const ObservationBatch batch = stack(all, spec);
  const ObservationBatch chosen = batch.select(torch::tensor({1, 1, 0}, torch::kLong));
  CHECK(chosen.rows() == 3);
  CHECK(chosen.graphs[0] == all[1].graph);
  CHECK(chosen.graphs[2] == all[0].graph);
  CHECK(torch::equal(chosen.values[1], batch.values[1]));
  std::vector<passorder::Observation> bad = all;
  bad[0].values.pop_back();
  CHECK_THROWS_AS(stack(bad, spec), InternalError);
  bad = all;
  bad[1].graph = nullptr;
  CHECK_THROWS_AS(stack(bad, spec), InternalError);
}

TEST_CASE("weights and statistics survive a file") {
  const passorder::EnvironmentSpec spec{"test", 5, 4, 2, 0};
  options::AgentOptions options = small();
  Rng rng(6);
  const std::vector<passorder::Observation> seen{random_observation(rng, spec, 0), random_observation(rng, spec, 0)};
  ActorCritic model(options, spec);
  model.scale->update(stack(seen, spec));
  options::TensorFile file;
  put_module(model, "m.", file);
  options.seed = 99;
  ActorCritic other(options, spec);
  take_module(file, "m.", other);
  const ObservationBatch batch = stack(seen, spec);
  CHECK(torch::equal(model.value(model.scale->forward(batch)), other.value(other.scale->forward(batch))));
  file.tensors.erase("m.scale.values.mean");
  CHECK_THROWS_AS(take_module(file, "m.", other), Error);
}

#include "learn/agents/policy_file.h"

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/rng.h"
#include "learn/agents/agent_run.h"
#include "passorder/policy_file.h"
#include "tests/learn/callbacks.h"
#include "tests/learn/torch_catch.h"
#include "tests/passorder/toy_environments.h"

using namespace hone;
using namespace hone::learn;

namespace {

constexpr double kAgreement = 1e-5;

// Numbers between -1 and 1 or, if `wide`, of the sizes that counts of operations have, and some that the scale has to cut.
std::vector<passorder::Observation> observations(const passorder::EnvironmentSpec& spec, bool wide) {
  Rng rng(7);
  std::vector<passorder::Observation> all(40);
  for (passorder::Observation& one : all) {
    one.costs.resize(spec.cost_width);
    for (int64_t i = 0; i < spec.observation_width; ++i)
      one.values.push_back(static_cast<float>(wide ? std::exp(12 * rng.uniform()) - 20 : 2 * rng.uniform() - 1));
  }
  return all;
}

// Compares torch's scores of a file with those of the forward pass without torch.
void check_same_scores(const std::string& path, const std::vector<passorder::Observation>& seen) {
  const auto torch = open_policy(path), plain = passorder::load_policy(path);
  CHECK(plain->agent() == torch->agent());
  CHECK(plain->spec() == torch->spec());
  CHECK(plain->environment() == torch->environment());
  const std::vector<float> expected = torch->scores(seen), found = plain->scores(seen);
  REQUIRE(found.size() == expected.size());
  REQUIRE(expected.size() == seen.size() * static_cast<size_t>(torch->spec().actions));
  double most = 0, spread = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    most = std::max(most, static_cast<double>(std::abs(found[i] - expected[i])));
    spread = std::max(spread, static_cast<double>(std::abs(expected[i] - expected[0])));
  }
  CHECK(most <= kAgreement);
  CHECK(spread > 100 * kAgreement);  // else equality would say nothing
}

void check_same_scores(const std::string& path, bool wide = true) {
  check_same_scores(path, observations(open_policy(path)->spec(), wide));
}

// Programs of up to 60 nodes, some with more neighbours than the network reads.
std::vector<passorder::Observation> graph_observations(const passorder::EnvironmentSpec& spec, bool wide) {
  std::vector<passorder::Observation> all = observations(spec, wide);
  Rng rng(8);
  for (size_t i = 0; i < all.size(); ++i) {
    auto graph = std::make_shared<passorder::GraphObservation>();
    for (size_t n = 0; n < 1 + 3 * (i / 2); ++n) {
      graph->opcodes.push_back(static_cast<uint8_t>(rng.below(100)));
      for (int64_t f = 0; f < spec.node_width; ++f)
        graph->node_features.push_back(
            static_cast<float>(wide ? std::exp(8 * rng.uniform()) - 5 : 2 * rng.uniform() - 1));
      for (int e = 0; n > 0 && e < 3; ++e) {
        graph->edge_from.push_back(static_cast<int32_t>(rng.below(n)));
        graph->edge_to.push_back(static_cast<int32_t>(n));
      }
    }
    all[i].graph = i % 2 == 0 ? graph : all[i - 1].graph;  // shared by two
  }
  return all;
}

}  // namespace

TEST_CASE("the shipped policy of hone order has torch's scores without torch") {
  const std::filesystem::path data = std::filesystem::path(__FILE__).parent_path() / "../../data";
  check_same_scores((data / "models/order/policy.safetensors").string());
}

TEST_CASE("policies of every agent and activation have torch's scores without torch") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  const auto chain = [](int64_t) { return std::make_unique<passorder::ChainEnvironment>(); };
  for (const options::AgentName& name : options::agent_names())
    for (const bool normalize : {true, false}) {
      options::AgentOptions options = options::paper_options(name.name);
      options.steps = 200;
      options.layers = {8, 5};
      options.environments = 4;
      options.rollout = 40;
      options.batch = 16;
      options.learning_starts = 40;
      options.normalize = normalize;
      options.activation = normalize ? "tanh" : "relu";
      const AgentReport report = train_agent(chain, options, {}, kNeverStop, kSilent);
      save_policy(path, *report.agent, options, report.spec, {{{"id", "chain"}}, "hone gym train", report.steps});
      INFO(name.name << (normalize ? ", scaled, tanh" : ", unscaled, relu"));
      check_same_scores(path, normalize);
    }
}

TEST_CASE("policies that read graphs have torch's scores without torch") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  const auto graphs = [](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(4, true); };
  for (const bool normalize : {true, false}) {
    options::AgentOptions options = options::paper_options("ppo");
    options.policy = "gnn";
    options.layers = {16, 8};
    options.gnn_hidden = 20;
    options.gnn_layers = 2;
    options.opcode_embedding = 4;
    options.neighbour_cap = 2;
    options.steps = 400;
    options.environments = 4;
    options.rollout = 40;
    options.batch = 16;
    options.normalize = normalize;
    const AgentReport report = train_agent(graphs, options, {}, kNeverStop, kSilent);
    save_policy(path, *report.agent, options, report.spec, {{{"id", "identity"}}, "hone gym train", report.steps});
    INFO((normalize ? "scaled" : "unscaled"));
    std::vector<passorder::Observation> seen = graph_observations(report.spec, normalize);
    check_same_scores(path, seen);
    seen[0].graph = nullptr;
    CHECK_THROWS_AS(passorder::load_policy(path)->scores({seen.data(), 1}), InternalError);
  }
}

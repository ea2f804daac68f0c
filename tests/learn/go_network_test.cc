#include "go/go_network.h"

#include <array>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "go/go_place.h"
#include "learn/go/go_policy.h"
#include "learn/nets/trained.h"
#include "tests/learn/go_inputs.h"
#include "tests/learn/go_toys.h"
#include "tests/learn/torch_catch.h"

using namespace hone;

namespace {

constexpr double kGoAgreement = 1e-5;

const std::filesystem::path kShipped =
    std::filesystem::path(__FILE__).parent_path() / "../../data/models/go/policy.safetensors";

void check_near(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  double most = 0, spread = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    most =
        std::max(most, std::abs(static_cast<double>(found[i]) - expected[i]) / std::max(1.0f, std::abs(expected[i])));
    spread = std::max(spread, static_cast<double>(std::abs(expected[i] - expected[0])));
  }
  CHECK(most <= kGoAgreement);
  CHECK(spread > 100 * kGoAgreement);  // else equality would say nothing
}

// Compares torch's scores with those of the forward pass without torch, with one thread and with three.
void check_go_scores(const go::GoPolicyFile& file, const go::GoGraph& graph, const go::GoState& state) {
  const auto torch = learn::policy_from(file);
  const go::GoScores expected = learn::TorchScorer(*torch).scores(graph, state);
  const go::GoScores found = go::make_go_network(file, 1)->scores(graph, state),
                     threads = go::make_go_network(file, 3)->scores(graph, state);
  check_near(found.embedding, expected.embedding);
  CHECK((threads.embedding == found.embedding));
  for (int task = 0; task < options::kGoTasks; ++task) {
    CHECK(found.tasks[task].choices == expected.tasks[task].choices);
    CHECK((threads.tasks[task].log_probs == found.tasks[task].log_probs));
    if (expected.tasks[task].choices > 1) check_near(found.tasks[task].log_probs, expected.tasks[task].log_probs);
  }
}

go::GoPolicyFile random_policy(const options::GoOptions& options) {
  learn::GoPolicy policy(options, 3);
  go_toys::shake(policy, 4, 0.1);  // larger weights amplify the rounding of both
  go::GoPolicyFile file{options, {}, {}};
  learn::put_parameters(policy, "", file.weights);
  return file;
}

options::GoOptions small_go() {
  options::GoOptions options;
  options.devices = 3;
  options.hidden = 20;  // no whole number of vectors
  options.heads = 2;
  options.segment = 16;
  return options;
}

}  // namespace

TEST_CASE("the shipped graph policy has torch's scores without torch", "[go]") {
  const go::GoPolicyFile file = go::read_go_policy(kShipped.string());
  for (const auto& [branches, length, devices] : std::vector<std::array<int, 3>>{{3, 4, 2}, {12, 30, 4}, {40, 60, 8}}) {
    INFO(branches << " branches of " << length << " on " << devices);
    go::GoProblem problem = go::make_go_problem(
        sim::Simulator(go_toys::fork_join(branches, length), go_toys::machine(devices)), file.options);
    go::GoState state = observe(problem, problem.start, file.options);
    check_go_scores(file, problem.graph, state);
    state.embedding = go::make_go_network(file, 1)->scores(problem.graph, state).embedding;  // of a second step
    check_go_scores(file, problem.graph, state);
  }
}

TEST_CASE("graph policies of every ablation have torch's scores without torch", "[go]") {
  std::vector<options::GoOptions> all(1, small_go());
  const auto without = [&](bool options::GoOptions::* part) {
    all.push_back(small_go());
    all.back().*part = false;
  };
  using O = options::GoOptions;
  for (bool O::* part : {&O::modulation, &O::recurrence, &O::task_residual, &O::refinement, &O::device_scores})
    without(part);
  all.push_back(small_go());
  all.back().tasks = {"fusion", "placement"};
  for (const options::GoOptions& options : all) {
    INFO(to_json(options).dump());
    const go::GoPolicyFile file = random_policy(options);
    for (const int64_t nodes : {7, 40, 90}) {
      const go::GoGraph graph = go_toys::random_graph(nodes, nodes);
      go::GoState state = go_toys::random_state(graph, options);
      check_go_scores(file, graph, state);
      state.embedding.clear();
      check_go_scores(file, graph, state);
    }
  }
}

TEST_CASE("graph policies refuse what does not fit them", "[go]") {
  options::GoOptions options = small_go();
  options.devices = 2;
  const go::GoGraph graph = go_toys::random_graph(12, 9);  // on three devices
  CHECK_THROWS_AS(go::make_go_network(random_policy(options), 1)->scores(graph, go_toys::random_state(graph, options)),
                  Error);
  go::GoPolicyFile damaged = random_policy(small_go());
  damaged.weights.tensors.erase("trunk0.attention.query.weight");
  CHECK_THROWS_AS(go::make_go_network(damaged, 1), Error);
}

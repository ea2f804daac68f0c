#include "learn/go/go_ppo.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "go/go_evaluation.h"
#include "go/go_proposals.h"
#include "learn/go/go_commands.h"
#include "learn/go/go_run.h"
#include "sim/task_graph_json.h"
#include "tests/learn/go_toys.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::go;
using namespace hone::learn;
using options::GoOptions;

namespace {

GoOptions small_options(std::vector<std::string> tasks) {
  GoOptions options;
  options.tasks = std::move(tasks);
  options.devices = 2;
  options.hidden = 16;
  options.heads = 2;
  options.sage_layers = 2;
  options.attention_layers = 1;
  options.steps = 2;
  return options;
}

// Begins with everything on the first device, the worst placement.
GoProblem toy_problem(const GoOptions& options, int branches = 3, int length = 2, uint64_t seed = 1) {
  return make_go_problem(sim::Simulator(go_toys::fork_join(branches, length, seed), go_toys::machine(2)), options, {},
                         "single");
}

double brute_force_seconds(GoProblem& problem, const GoOptions& options) {
  double best = std::numeric_limits<double>::infinity();
  GoActions actions = problem.start;
  for (int64_t bits = 0; bits < int64_t{1} << problem.graph.nodes; ++bits) {
    for (int64_t v = 0; v < problem.graph.nodes; ++v) actions[0][v] = static_cast<int32_t>(bits >> v & 1);
    const sim::StepReport report = problem.simulator.run(plan_of(problem, actions, options));
    if (report.valid) best = std::min(best, report.step_seconds);
  }
  return best;
}

GoRunReport train(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options,
                  const GoFiles& files = {}) {
  return train_go(policy, problems, options, files, [] { return false; }, [](int64_t, const GoScalars&) {});
}

std::string bytes_of(const GoPolicy& policy) {
  std::string bytes;
  for (const auto& parameter : policy.parameters())
    bytes.append(static_cast<const char*>(parameter.data_ptr()), parameter.nbytes());
  return bytes;
}

}  // namespace

TEST_CASE("training improves a tiny graph to the brute-force optimum", "[go]") {
  const GoOptions options = small_options({"placement"});
  std::vector<GoProblem> problems;
  problems.push_back(toy_problem(options));
  const double optimum = brute_force_seconds(problems[0], options);
  REQUIRE(optimum < 0.75 * problems[0].start_seconds);
  const auto policy = std::make_shared<GoPolicy>(options, 1);
  GoTrainOptions training;
  training.iterations = 160;
  training.samples = 8;
  training.seed = 1;
  training.learning_rate = 5e-3;
  training.imitation = 1;
  training.from_best = 0.2;
  train(policy, problems, training);
  CHECK(problems[0].best_seconds == Approx(optimum));
  // The policy's most probable decisions are optimal, too, without search.
  GoProblem fresh = toy_problem(options);
  Rng rng(1);
  TorchScorer scorer(*policy);
  CHECK(evaluate(scorer, fresh, 0, rng).back() == Approx(optimum).epsilon(0.02));
}

TEST_CASE("every task alone and all together find better plans than the start", "[go]") {
  for (const std::vector<std::string>& tasks :
       {std::vector<std::string>{"schedule"}, {"placement", "schedule"}, {"placement", "schedule", "fusion"}}) {
    const GoOptions options = small_options(tasks);
    std::vector<GoProblem> problems;
    problems.push_back(toy_problem(options, 5, 3));
    const double start = problems[0].start_seconds;
    GoTrainOptions training;
    training.iterations = 10;
    training.samples = 8;
    train(std::make_shared<GoPolicy>(options, 2), problems, training);
    CHECK(problems[0].best_seconds <= start);
    if (tasks[0] == "placement") CHECK(problems[0].best_seconds < 0.9 * start);
    if (tasks[0] == "schedule") CHECK(plan_of(problems[0], problems[0].best, options).device.empty());
  }
}

TEST_CASE("an interrupted and resumed run ends with the same bits", "[go]") {
  const TempDir folder;
  const GoOptions options = small_options({"placement", "schedule"});
  const auto problems = [&] {
    std::vector<GoProblem> list;
    list.push_back(toy_problem(options, 3, 2, 1));
    list.push_back(toy_problem(options, 4, 2, 2));
    return list;
  };
  GoTrainOptions training;
  training.iterations = 9;
  training.samples = 4;
  training.seed = 3;
  std::vector<GoProblem> whole = problems(), parts = problems();
  const auto straight = std::make_shared<GoPolicy>(options, 3);
  train(straight, whole, training);
  GoFiles files;
  files.checkpoint = (folder.path() / "run.safetensors").string();
  files.resume = true;
  training.iterations = 4;
  train(std::make_shared<GoPolicy>(options, 3), parts, training, files);
  training.iterations = 9;
  std::vector<GoProblem> again = problems();
  const auto resumed = std::make_shared<GoPolicy>(options, 77);  // its weights come from the checkpoint
  const GoRunReport report = train(resumed, again, training, files);
  CHECK(report.iterations == 9);
  CHECK(bytes_of(*straight) == bytes_of(*resumed));
  for (size_t i = 0; i < whole.size(); ++i) {
    CHECK(whole[i].best_seconds == again[i].best_seconds);
    CHECK(whole[i].best == again[i].best);
  }
  training.learning_rate = 1e-4;
  std::vector<GoProblem> other = problems();
  CHECK_THROWS_AS(train(std::make_shared<GoPolicy>(options, 3), other, training, files), Error);
}

TEST_CASE("variants differ from the plan only where they were drawn", "[go]") {
  const GoOptions options = small_options({"placement"});
  GoProblem problem = toy_problem(options, 6, 4);
  GoPolicy policy(options, 5);
  const torch::NoGradGuard no_gradient;
  const GoState state =
      observe(problem.simulator, problem.graph, problem.start, plan_of(problem, problem.start, options));
  Rng rng(5);
  const GoDraws draws = draw(problem.graph, TorchScorer(policy).scores(problem.graph, state), problem.start, 64, rng);
  bool any = false;
  for (size_t k = 0; k < draws.actions.size(); ++k)
    for (int64_t v = 0; v < problem.graph.nodes; ++v) {
      CHECK(draws.actions[k][1] == problem.start[1]);  // not a task of this policy
      if (draws.actions[k][0][v] == problem.start[0][v]) continue;
      any = true;
      CHECK(draws.drawn[k][0][v] == 1.0f);
    }
  CHECK(any);
}

namespace {

// Two operations, three devices; each task has its own probabilities.
GoGraph two_operations() {
  GoGraph graph;
  graph.nodes = 2;
  graph.devices = 3;
  graph.heaviest = {-1, -1};
  for (auto& mask : graph.decides) mask = {1, 1};
  return graph;
}

TaskScores task_scores(const std::vector<std::vector<float>>& probabilities) {
  TaskScores scores{static_cast<int64_t>(probabilities[0].size()), {}};
  for (const auto& row : probabilities)
    for (const float p : row) scores.log_probs.push_back(std::log(p));
  return scores;
}

float sum_of(const std::vector<float>& values) { return std::accumulate(values.begin(), values.end(), 0.0f); }

}  // namespace

TEST_CASE("draws follow the policy's probabilities", "[go]") {
  const GoGraph graph = two_operations();
  GoScores output;
  output.tasks[0] = task_scores({{0.2f, 0.5f, 0.3f}, {0.2f, 0.5f, 0.3f}});
  Rng rng(6);
  GoActions around;
  for (auto& actions : around) actions = {0, 0};
  const GoDraws draws = draw(graph, output, around, 4000, rng);
  double drawn = 0, count[3] = {};
  for (size_t k = 0; k < draws.actions.size(); ++k) {
    if (draws.drawn[k][0][0] == 0) continue;
    ++drawn;
    ++count[draws.actions[k][0][0]];
  }
  CHECK(drawn > 1000);
  CHECK(count[0] / drawn == Approx(0.2).margin(0.04));
  CHECK(count[1] / drawn == Approx(0.5).margin(0.04));
}

TEST_CASE("a policy proposes what it finds most probable, by margin and by task", "[go]") {
  const GoGraph graph = two_operations();
  GoScores output;  // prefers another device for the first operation slightly, for the second strongly
  output.tasks[0] = task_scores({{0.40f, 0.45f, 0.15f}, {0.002f, 0.018f, 0.98f}});
  output.tasks[2] = task_scores({{0.9f, 0.1f}, {0.3f, 0.7f}});
  GoActions plan;
  for (auto& actions : plan) actions = {0, 0};
  const std::vector<GoActions> proposals = propose(graph, output, plan);
  const auto with = [&](std::vector<int32_t> devices, std::vector<int32_t> fusion) {
    GoActions actions = plan;
    actions[0] = std::move(devices);
    actions[2] = std::move(fusion);
    return actions;
  };
  const std::vector<GoActions> expected = {with({1, 2}, {0, 1}), with({0, 2}, {0, 0}), with({1, 2}, {0, 0}),
                                           with({0, 0}, {0, 1})};
  CHECK((proposals == expected));  // in parentheses: torch cannot print such vectors
  CHECK(propose(graph, output, with({1, 2}, {0, 1})).empty());
}

TEST_CASE("an evaluation is never worse than the start, whatever the policy prefers", "[go]") {
  const GoOptions options = small_options({"placement", "schedule", "fusion"});
  for (uint64_t seed = 0; seed < 8; ++seed) {
    GoProblem problem = make_go_problem(sim::Simulator(go_toys::fork_join(5, 3, seed), go_toys::machine(2)), options);
    GoPolicy policy(options, seed);
    {
      const torch::NoGradGuard no_gradient;
      for (auto& parameter : policy.parameters()) parameter.mul_(5);  // strong and wrong preferences
    }
    TorchScorer scorer(policy);
    Rng rng(seed);
    const std::vector<double> seconds = evaluate(scorer, problem, seed % 2 == 0 ? 0 : 4, rng);
    CHECK(seconds.front() <= problem.start_seconds);
    CHECK(std::is_sorted(seconds.rbegin(), seconds.rend()));
    CHECK(seconds.back() == problem.best_seconds);
  }
}

TEST_CASE("blocks cover the graph, small and large", "[go]") {
  const GoOptions options = small_options({"placement"});
  const GoProblem problem = toy_problem(options, 8, 10);
  Rng rng(7);
  std::set<int32_t> counts;
  std::vector<int32_t> block;
  for (int i = 0; i < 100; ++i) {
    const int32_t blocks = cut_into_blocks(problem.graph, rng, block);
    CHECK(std::set<int32_t>(block.begin(), block.end()).size() == static_cast<size_t>(blocks));
    CHECK(*std::max_element(block.begin(), block.end()) == blocks - 1);
    counts.insert(blocks);
  }
  CHECK(*counts.begin() <= 4);
  CHECK(*counts.rbegin() >= 40);
}

TEST_CASE("a policy decides some of its tasks and leaves the others to XLA", "[go]") {
  const GoOptions options = small_options({"placement", "schedule", "fusion"});
  sim::TaskGraph graph = go_toys::fork_join(3, 3);
  for (sim::Op& op : graph.ops)
    if (!op.is_output) op.kind = sim::OpKind::Elementwise;
  std::vector<int32_t> fused(graph.ops.size(), 0);
  fused[2] = 1;
  const auto make = [&](const std::vector<std::string>& tasks) {
    return make_go_problem(sim::Simulator(graph, go_toys::machine(2)), options, fused, "best", tasks);
  };
  std::vector<GoProblem> problems;
  problems.push_back(make({"placement"}));
  CHECK(problems[0].start[2] == fused);
  CHECK(sum_of(problems[0].graph.decides[0]) > 0);
  CHECK(sum_of(problems[0].graph.decides[2]) == 0);
  GoTrainOptions training;
  training.iterations = 4;
  train(std::make_shared<GoPolicy>(options, 3), problems, training);
  CHECK(problems[0].best[2] == fused);
  CHECK(problems[0].best[1] == problems[0].start[1]);
  const sim::Plan plan = plan_of(problems[0], problems[0].best, options);
  CHECK(plan.schedule.empty());
  CHECK(plan.fusion == fused);
  GoProblem fusing = make({"fusion"});
  CHECK(plan_of(fusing, fusing.start, options).device.empty());
  CHECK(sum_of(make({}).graph.decides[1]) > 0);
  CHECK_THROWS_AS(
      make_go_problem(sim::Simulator(graph, go_toys::machine(2)), small_options({"fusion"}), {}, "best", {"placement"}),
      Error);
}

TEST_CASE("the best plans of different step times are kept, fastest first", "[go]") {
  const GoOptions options = small_options({"placement"});
  std::vector<GoProblem> problems;
  problems.push_back(toy_problem(options, 4, 3));
  GoTrainOptions training;
  training.iterations = 6;
  train(std::make_shared<GoPolicy>(options, 5), problems, training);
  GoProblem& problem = problems[0];
  REQUIRE(problem.finalists.size() == kGoFinalists);
  CHECK(problem.finalists.front().first == problem.best_seconds);
  for (size_t i = 0; i < problem.finalists.size(); ++i) {
    const auto& [seconds, actions] = problem.finalists[i];
    CHECK(problem.simulator.run(plan_of(problem, actions, options)).step_seconds == seconds);
    if (i > 0) CHECK(seconds > problem.finalists[i - 1].first);
  }
}

TEST_CASE("a plan that does not fit into memory counts as invalid, not as slow", "[go]") {
  const GoOptions options = small_options({"placement"});
  // Two results of 1 MB live together; a device holds one and a half.
  sim::TaskGraph graph;
  graph.name = "heavy";
  for (int i = 0; i < 2; ++i) graph.ops.push_back(go_toys::op("big" + std::to_string(i), 1e8, 1e6));
  for (sim::Op& op : graph.ops) op.is_output = true;
  std::vector<GoProblem> problems;
  problems.push_back(make_go_problem(sim::Simulator(sim::sorted(graph), go_toys::machine(2, 1e10, 1.5e6)), options));
  GoProblem& problem = problems[0];
  GoActions together = problem.start;
  together[0] = {0, 0};
  CHECK(std::isinf(simulate(problem, together, options)));
  problem.start = problem.best = together;
  problem.start_seconds = problem.best_seconds = std::numeric_limits<double>::infinity();
  GoTrainOptions training;
  training.iterations = 10;
  train(std::make_shared<GoPolicy>(options, 8), problems, training);
  CHECK(std::isfinite(problem.best_seconds));
  CHECK(problem.best[0][0] != problem.best[0][1]);
}

TEST_CASE("graphs, topologies and plans survive JSON", "[go]") {
  const sim::TaskGraph graph = go_toys::fork_join(3, 2);
  const sim::TaskGraph back = sim::graph_from_json(sim::graph_to_json(graph));
  REQUIRE(back.size() == graph.size());
  CHECK(sim::graph_to_json(back) == sim::graph_to_json(graph));
  CHECK(back.edges.size() == graph.edges.size());
  const sim::Topology topology = go_toys::machine(3);
  CHECK(sim::topology_to_json(sim::topology_from_json(sim::topology_to_json(topology))) ==
        sim::topology_to_json(topology));
  const sim::Plan plan{{0, 1}, {5, 4}, {}};
  CHECK(sim::plan_from_json(sim::plan_to_json(plan)) == plan);
  nlohmann::json broken = sim::graph_to_json(graph);
  broken["ops"]["flops"].erase(0);
  CHECK_THROWS_AS(sim::graph_from_json(broken), Error);
  broken = sim::graph_to_json(graph);
  broken["edges"]["to"][0] = 10000;
  CHECK_THROWS_AS(sim::graph_from_json(broken), Error);
  broken = sim::topology_to_json(topology);
  broken["routes"].erase(0);
  CHECK_THROWS_AS(sim::topology_from_json(broken), Error);
}

TEST_CASE("online use remembers the best and never returns worse", "[go]") {
  const TempDir folder;
  const std::string policy = (folder.path() / "policy.safetensors").string(),
                    online = (folder.path() / "online.safetensors").string();
  const GoOptions options = small_options({"placement", "schedule"});
  save_go_policy(policy, GoPolicy(options, 1), {"test", 1, 0, "{}"});
  const nlohmann::json problem = {{"name", "toy"},
                                  {"graph", sim::graph_to_json(go_toys::fork_join(7, 3))},
                                  {"topology", sim::topology_to_json(go_toys::machine(2))}};
  nlohmann::json request = {{"problem", problem}, {"policy", policy},
                            {"online", online},   {"quiet", true},
                            {"samples", 8},       {"training", {{"iterations", 8}, {"samples", 8}, {"seed", 1}}}};
  double last = std::numeric_limits<double>::infinity();
  for (int use = 0; use < 3; ++use) {
    request["training"]["seed"] = use;
    const nlohmann::json answer = run_go_place(request, {});
    CHECK(answer.at("seconds").get<double>() <= answer.at("start_seconds").get<double>());
    CHECK(answer.at("known_seconds").get<double>() <= last);
    CHECK(answer.at("seconds").get<double>() <= last);
    last = answer.at("seconds").get<double>();
    sim::Simulator simulator(go_toys::fork_join(7, 3), go_toys::machine(2));
    CHECK(simulator.run(sim::plan_from_json(answer.at("plan"))).step_seconds == Approx(last));
  }
  GoOrigin origin;
  load_go_policy(online, &origin);
  CHECK(origin.iterations == 24);
}

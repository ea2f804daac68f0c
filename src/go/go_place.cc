#include "go/go_place.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "go/go_evaluation.h"
#include "go/go_network.h"
#include "sim/task_graph_json.h"

namespace hone::go {

namespace {

using options::kGoTasks;

std::string text(const nlohmann::json& request, const char* name) { return request.value(name, std::string()); }

// Nothing where a damaged file holds no choices of the policy for each node.
std::optional<GoActions> actions_of(const nlohmann::json& stored, const GoGraph& graph,
                                    const options::GoOptions& options) {
  GoActions actions;
  try {
    actions = stored.get<GoActions>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  const std::array<int64_t, kGoTasks> choices = {graph.devices, options.schedule_levels, options.fusion_levels};
  for (int task = 0; task < kGoTasks; ++task) {
    const bool fits = std::all_of(actions[task].begin(), actions[task].end(),
                                  [most = choices[task]](int32_t choice) { return choice >= 0 && choice < most; });
    if (!fits || static_cast<int64_t>(actions[task].size()) != graph.nodes) return std::nullopt;
  }
  return actions;
}

// What online use remembers of each graph: its decisions, keyed by a hash of the graph and what they depend on.
struct Memory {
  nlohmann::json known;
  std::string key;

  Memory(const std::string& stored, const nlohmann::json& problem, const options::GoOptions& options)
      : known(nlohmann::json::parse(shallow_json(stored), nullptr, false)),
        key(hash_hex(problem.at("graph").dump() + problem.at("topology").dump() +
                     problem.value("tasks", nlohmann::json()).dump() + problem.value("parameters", "copied") +
                     to_json(options).dump())) {
    if (!known.is_object()) known = nlohmann::json::object();
  }
  void recall(GoProblem& problem, const options::GoOptions& options) const {
    const auto found = known.find(key);
    if (found == known.end()) return;
    if (const auto actions = actions_of(*found, problem.graph, options)) simulate(problem, *actions, options);
  }
  void store(const GoProblem& problem) { known[key] = problem.best; }
};

std::unique_ptr<GoScorer> open_network(const GoPolicyFile& policy, const std::string& path, int threads) {
  try {
    return make_go_network(policy, threads);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

nlohmann::json finalists_json(const GoProblem& problem, const options::GoOptions& options) {
  nlohmann::json finalists = nlohmann::json::array();
  for (const auto& [seconds, actions] : problem.finalists)
    finalists.push_back({{"seconds", seconds}, {"plan", sim::plan_to_json(plan_of(problem, actions, options))}});
  return finalists;
}

}  // namespace

nlohmann::json seconds_json(double seconds) {
  return std::isfinite(seconds) ? nlohmann::json(seconds) : nlohmann::json();
}

GoProblem problem_of(const nlohmann::json& json, const options::GoOptions& options) {
  sim::Costs costs{json.value("factor", std::vector<double>())};
  sim::Simulator simulator(sim::graph_from_json(json.at("graph")), sim::topology_from_json(json.at("topology")),
                           std::move(costs), {}, sim::parameters_from_name(json.value("parameters", "copied")));
  GoProblem problem =
      make_go_problem(std::move(simulator), options, json.value("default_fusion", std::vector<int32_t>()),
                      json.value("start", std::string("best")), json.value("tasks", std::vector<std::string>()));
  if (const std::string name = text(json, "name"); !name.empty()) problem.name = name;
  return problem;
}

nlohmann::json evaluation(GoScorer& policy, GoProblem& problem, int64_t samples, uint64_t seed) {
  Rng rng(seed);
  const double begin_s = steady_s(), begin_cpu_s = cpu_s();
  const std::vector<double> seconds = evaluate(policy, problem, samples, rng);
  return {{"step_seconds", seconds_json(seconds.back())},
          {"first_step_seconds", seconds_json(seconds.front())},
          {"elapsed_seconds", steady_s() - begin_s},
          {"cpu_seconds", cpu_s() - begin_cpu_s}};
}

double peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

nlohmann::json place_by_policy(const nlohmann::json& request, const GoTraining& train) {
  const std::string online = text(request, "online");
  const bool seen = !online.empty() && std::filesystem::exists(online);
  const std::string path = seen ? online : text(request, "policy");
  GoPolicyFile policy = read_go_policy(path);
  const nlohmann::json& json = request.at("problem");
  std::vector<GoProblem> problems;
  problems.push_back(problem_of(json, policy.options));
  GoProblem& problem = problems.front();
  Memory memory(policy.origin.known, json, policy.options);
  if (seen) memory.recall(problem, policy.options);
  const double known_seconds = problem.best_seconds;
  const std::unique_ptr<GoScorer> network = open_network(policy, path, request.value("threads", 1));
  const nlohmann::json first =
      evaluation(*network, problem, request.value("samples", int64_t{16}), request.value("seed", uint64_t{0}));
  const GoTrained trained = train ? train(policy, problems) : GoTrained();
  if (!online.empty()) {
    memory.store(problem);
    policy.origin.iterations += trained.iterations;
    policy.origin.known = memory.known.dump();
    write_go_policy(online, policy);
  }
  return {{"plan", sim::plan_to_json(plan_of(problem, problem.best, policy.options))},
          {"finalists",
           request.value("finalists", false) ? finalists_json(problem, policy.options) : nlohmann::json::array()},
          {"tasks", policy.options.tasks},
          {"seconds", seconds_json(problem.best_seconds)},
          {"start", problem.start_name},
          {"start_seconds", seconds_json(problem.start_seconds)},
          {"known_seconds", seconds_json(known_seconds)},
          {"evaluation", first},
          {"iterations", trained.iterations},
          {"interrupted", trained.interrupted},
          {"simulations", problem.simulations},
          {"peak_memory_bytes", peak_memory_bytes()}};
}

}  // namespace hone::go

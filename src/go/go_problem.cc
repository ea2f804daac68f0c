#include "go/go_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "sim/strategies.h"

namespace hone::go {

namespace {

using options::kGoTasks;

constexpr double kOutOfMemory = std::numeric_limits<double>::infinity();

// The placements of the strategies that do not search, under this fusion, each with its name.
std::vector<std::pair<std::string, std::vector<int32_t>>> quick_placements(sim::Simulator& simulator,
                                                                           const std::string& start,
                                                                           const std::vector<int32_t>& fusion) {
  std::vector<std::pair<std::string, std::vector<int32_t>>> placements;
  sim::StrategyOptions options;
  options.base.fusion = fusion;
  for (const sim::StrategyRow& row : sim::strategies()) {
    const std::string name = row.name;
    if (start != "best" && name != start) continue;
    if (start == "best" && (row.searches || !row.decides.placement || name == "random" || name == "single-fused"))
      continue;  // single-fused places as single does
    sim::Plan plan = row.plan(simulator, options);
    plan.device.resize(simulator.graph().size(), 0);
    placements.emplace_back(name, std::move(plan.device));
  }
  return placements;
}

// The fusions of the strategies that do not search, each with its name.
std::vector<std::pair<std::string, std::vector<int32_t>>> quick_fusions(sim::Simulator& simulator, int32_t levels,
                                                                        const std::vector<int32_t>& default_fusion) {
  const size_t nodes = static_cast<size_t>(simulator.graph().size());
  sim::StrategyOptions options;
  options.tasks = {false, true, false};
  std::vector<std::pair<std::string, std::vector<int32_t>>> fusions = {{"", std::vector<int32_t>(nodes, 0)}};
  fusions.emplace_back("priority fusion", sim::strategy("priority-fusion").plan(simulator, options).fusion);
  if (default_fusion.size() == nodes) fusions.emplace_back("XLA's fusion", default_fusion);
  for (auto& [name, fusion] : fusions)
    for (int32_t& level : fusion) level = std::clamp(level, 0, levels - 1);
  return fusions;
}

// Keeps the best plans of different step times.
void note_finalist(GoProblem& problem, const GoActions& actions, double seconds) {
  auto& list = problem.finalists;
  if (!std::isfinite(seconds) || (list.size() == kGoFinalists && seconds >= list.back().first)) return;
  const auto at = std::lower_bound(list.begin(), list.end(), seconds * (1 - 1e-9),
                                   [](const auto& entry, double value) { return entry.first < value; });
  if (at != list.end() && at->first <= seconds * (1 + 1e-9)) return;
  list.insert(at, {seconds, actions});
  if (list.size() > kGoFinalists) list.pop_back();
}

// Simulates the first plans of a problem; the best of them is its start.
class Starts {
 public:
  Starts(GoProblem& problem, const options::GoOptions& options) : problem_(problem), options_(options) {}

  void offer(const std::string& name, const GoActions& actions) {
    const sim::StepReport report = problem_.simulator.run(plan_of(problem_, actions, options_));
    ++problem_.simulations;
    const double seconds = report.valid ? report.step_seconds : kOutOfMemory;
    if (first_seconds_ == 0) first_seconds_ = std::max(report.step_seconds, 1e-30);
    note_finalist(problem_, actions, seconds);
    if (!problem_.start[0].empty() && seconds >= problem_.start_seconds) return;
    problem_.start = actions;
    problem_.start_seconds = seconds;
    problem_.start_name = name;
  }
  void settle() {
    problem_.best = problem_.start;
    problem_.best_seconds = problem_.start_seconds;
    problem_.scale_seconds = std::isfinite(problem_.start_seconds) ? problem_.start_seconds : first_seconds_;
  }

 private:
  GoProblem& problem_;
  const options::GoOptions& options_;
  double first_seconds_ = 0;  // of the first plan, valid or not
};

// Marks the tasks to decide; the others use the simulator's defaults.
void choose_tasks(GoProblem& problem, const options::GoOptions& options, const std::vector<std::string>& tasks) {
  for (const std::string& name : tasks.empty() ? options.tasks : tasks) {
    if (std::find(options.tasks.begin(), options.tasks.end(), name) == options.tasks.end())
      throw Error("the policy does not decide " + name, "tasks", "train one that does");
    problem.plain[static_cast<int>(options::go_task_from_name(name))] = false;
  }
  for (int task = 0; task < kGoTasks; ++task)
    if (problem.plain[task]) problem.graph.decides[task].assign(problem.graph.nodes, 0);
}

}  // namespace

GoProblem make_go_problem(sim::Simulator simulator, const options::GoOptions& options,
                          const std::vector<int32_t>& default_fusion, const std::string& start,
                          const std::vector<std::string>& tasks) {
  GoGraph graph = make_go_graph(simulator);
  GoProblem problem{simulator.graph().name,
                    std::move(simulator),
                    std::move(graph),
                    {true, true, true},
                    {},
                    "",
                    kOutOfMemory,
                    0,
                    {},
                    kOutOfMemory,
                    0,
                    {}};
  choose_tasks(problem, options, tasks);
  if (start != "best") sim::strategy(start);
  const size_t nodes = static_cast<size_t>(problem.graph.nodes);
  const bool fuses = !problem.plain[2], places = !problem.plain[0] && problem.graph.devices > 1;
  const auto levels = static_cast<int32_t>(options.fusion_levels);
  std::vector<std::pair<std::string, std::vector<int32_t>>> fusions =
      quick_fusions(problem.simulator, levels, default_fusion);
  if (!fuses) {
    fusions = {{"", fusions.size() > 2 ? fusions[2].second : fusions[0].second}};
    problem.plain[2] = default_fusion.size() != nodes;
  }
  Starts starts(problem, options);
  GoActions actions;
  actions[0].assign(nodes, 0);
  actions[1].assign(nodes, static_cast<int32_t>(options.schedule_levels / 2));
  for (auto& [fusion_name, fusion] : fusions) {
    const std::string with = fusion_name.empty() ? "" : ", " + fusion_name;
    actions[2] = fusion;
    if (!places) {
      starts.offer("default" + with, actions);
      continue;
    }
    for (auto& [name, device] : quick_placements(problem.simulator, start, fusion)) {
      actions[0] = std::move(device);
      starts.offer(name + with, actions);
    }
    actions[0].assign(nodes, 0);
  }
  if (fuses) {
    actions = problem.start;
    const std::string placed = problem.start_name.substr(0, problem.start_name.find(','));
    actions[2].assign(nodes, levels / 2);
    starts.offer(placed + ", everything legal fused", actions);
    for (size_t v = 0; v < nodes; ++v)  // nothing is computed twice
      if (problem.graph.users.begin[v + 1] - problem.graph.users.begin[v] != 1) actions[2][v] = 0;
    starts.offer(placed + ", fused into single consumers", actions);
  }
  starts.settle();
  return problem;
}

sim::Plan plan_of(const GoProblem& problem, const GoActions& actions, const options::GoOptions& options) {
  return plan_of(problem.graph, actions, options, problem.plain);
}

double simulate(GoProblem& problem, const GoActions& actions, const options::GoOptions& options) {
  const sim::StepReport report = problem.simulator.run(plan_of(problem, actions, options));
  ++problem.simulations;
  const double seconds = report.valid ? report.step_seconds : kOutOfMemory;
  note_finalist(problem, actions, seconds);
  if (seconds < problem.best_seconds) {
    problem.best_seconds = seconds;
    problem.best = actions;
  }
  return seconds;
}

GoState observe(GoProblem& problem, const GoActions& actions, const options::GoOptions& options) {
  ++problem.simulations;
  return observe(problem.simulator, problem.graph, actions, plan_of(problem, actions, options));
}

}  // namespace hone::go

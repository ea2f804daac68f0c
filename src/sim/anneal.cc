#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/planners.h"

namespace hone::sim {

namespace {

constexpr double kHot = 0.2, kCold = 1e-5;  // temperatures, as shares of the first step time
constexpr int32_t kSchedulePriorities = 1 << 16;

// A change of a plan that can be undone.
class Mutation {
 public:
  Mutation(Plan& plan, const Simulator& simulator, const Tasks& tasks) : plan_(plan), simulator_(simulator) {
    if (tasks.placement) moves_.push_back(&Mutation::move_placement);
    if (tasks.fusion) moves_.push_back(&Mutation::move_fusion);
    if (tasks.schedule) moves_.push_back(&Mutation::move_schedule);
    for (int32_t i = 0; i < simulator.graph().size(); ++i)
      if (simulator.graph().ops[i].kind != OpKind::Input) running_.push_back(i);
  }
  bool possible() const { return !running_.empty() && !moves_.empty(); }

  void apply(Rng& rng) {
    undo_.clear();
    (this->*moves_[rng.below(static_cast<int64_t>(moves_.size()))])(rng);
  }
  void undo() {
    for (auto it = undo_.rbegin(); it != undo_.rend(); ++it) *it->first = it->second;
  }

 private:
  void set(int32_t& entry, int32_t value) {
    undo_.emplace_back(&entry, entry);
    entry = value;
  }
  int64_t any(Rng& rng) const { return rng.below(static_cast<int64_t>(running_.size())); }

  // Moves one operation, an operation with all its neighbours, or a range of the program.
  void move_placement(Rng& rng) {
    const auto device = static_cast<int32_t>(rng.below(simulator_.topology().size()));
    const int64_t at = any(rng), how = rng.below(3);
    const int32_t op = running_[at];
    if (how < 2) set(plan_.device[op], device);
    if (how == 1)
      for (const Neighbours* side : {&simulator_.consumers(), &simulator_.producers()})
        for (int32_t e = side->offset[op]; e < side->offset[op + 1]; ++e) set(plan_.device[side->list[e]], device);
    if (how == 2) {
      const auto size = static_cast<double>(running_.size());
      const auto length = static_cast<int64_t>(std::exp(rng.uniform() * std::log(std::max(2.0, size / 4))));
      for (int64_t i = at; i < std::min<int64_t>(at + length, static_cast<int64_t>(running_.size())); ++i)
        set(plan_.device[running_[i]], device);
    }
  }
  void move_fusion(Rng& rng) {
    set(plan_.fusion[running_[any(rng)]], static_cast<int32_t>(rng.below(kFusionLevels + 1)));
  }
  void move_schedule(Rng& rng) {
    set(plan_.schedule[running_[any(rng)]], static_cast<int32_t>(rng.below(kSchedulePriorities)));
  }

  Plan& plan_;
  const Simulator& simulator_;
  std::vector<void (Mutation::*)(Rng&)> moves_;
  std::vector<int32_t> running_;
  std::vector<std::pair<int32_t*, int32_t>> undo_;
};

struct Cost {
  double value = 0;
  bool fits = true;
};

// Plans that run out of memory are worse than all others, by the amount of missing memory.
Cost cost_of(const StepReport& report, const Topology& topology) {
  double missing = 0;
  for (int32_t d = 0; d < topology.size(); ++d)
    missing = std::max(missing, report.peak_bytes[d] / topology.devices[d].memory_bytes - 1);
  return {missing > 0 ? report.step_seconds * (10 + 10 * missing) : report.step_seconds, missing <= 0};
}

}  // namespace

// Simulated annealing (Kirkpatrick et al. 1983) from the given plan, or from a layer-wise split; temperatures fall
// geometrically.
Plan plan_anneal(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  const TaskGraph& graph = simulator.graph();
  if (options.tasks.placement && plan.device.empty()) plan.device = plan_layerwise(simulator, options).device;
  if (options.tasks.fusion && plan.fusion.empty()) plan.fusion = options.default_fusion;
  if (options.tasks.fusion) plan.fusion.resize(graph.ops.size(), 0);
  if (options.tasks.schedule && plan.schedule.empty()) {
    plan.schedule.resize(graph.ops.size());
    const std::vector<int32_t> ranked = priorities_of(upward_ranks(simulator));
    for (size_t i = 0; i < ranked.size(); ++i)
      plan.schedule[i] = static_cast<int32_t>(int64_t{ranked[i]} * kSchedulePriorities / (graph.size() + 1));
  }
  Mutation mutation(plan, simulator, options.tasks);
  Rng rng(options.seed);
  Cost best_cost = cost_of(simulator.run(plan), simulator.topology());
  double current = best_cost.value;
  Plan best = plan;
  if (!mutation.possible()) return best;
  const double hot = kHot * current;
  for (int64_t step = 0; step < options.steps && !(options.stop && options.stop()); ++step) {
    const double temperature = hot * std::pow(kCold / kHot, static_cast<double>(step) / options.steps);
    mutation.apply(rng);
    const Cost cost = cost_of(simulator.run(plan), simulator.topology());
    if (cost.value <= current || rng.uniform() < std::exp((current - cost.value) / temperature)) {
      current = cost.value;
      if (current < best_cost.value) {
        best_cost = cost;
        best = plan;
      }
    } else {
      mutation.undo();
    }
    if (options.progress)
      options.progress(step + 1, best_cost.fits ? best_cost.value : std::numeric_limits<double>::infinity());
  }
  return best;
}

}  // namespace hone::sim

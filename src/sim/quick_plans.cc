#include "sim/quick_plans.h"

#include <limits>

#include "sim/planners.h"

namespace hone::sim {

namespace {

struct NamedList {
  std::string name;
  std::vector<int32_t> list;
};

std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + ", " + b; }

std::vector<NamedList> quick_fusion_lists(Simulator& simulator, const StrategyOptions& options) {
  if (!options.tasks.fusion) return {{"", options.base.fusion}};
  std::vector<NamedList> lists = {{"priority fusion", plan_priority_fusion(simulator, options).fusion}, {"", {}}};
  if (!options.default_fusion.empty()) lists.push_back({"XLA's fusion", options.default_fusion});
  return lists;
}

std::vector<NamedList> quick_placement_lists(Simulator& simulator, StrategyOptions options) {
  if (!options.tasks.placement) return {{"", options.base.device}};
  options.tasks = {true, false, false};
  options.base.device.clear();
  std::vector<NamedList> lists = {{"single", plan_single(simulator, options).device}};
  if (simulator.topology().size() == 1) return lists;
  lists.push_back({"layerwise", plan_kernels(plan_layerwise, simulator, options).device});
  lists.push_back({"metis", plan_kernels(plan_metis, simulator, options).device});
  lists.push_back({"heft", plan_kernels(plan_heft, simulator, options).device});
  return lists;
}

std::vector<int32_t> by_critical_path(Simulator& simulator, const Plan& plan) {
  StrategyOptions options;
  options.tasks = {false, false, true};
  options.base = plan;
  return plan_critical_path(simulator, options).schedule;
}

// The best plan so far.
class BestPlan {
 public:
  BestPlan(Simulator& simulator, const StrategyOptions& options) : simulator_(simulator), options_(options) {}

  bool may_go_on() const { return simulations_ < options_.steps && !(options_.stop && options_.stop()); }
  void offer(QuickPlan next) {
    if (simulations_ > 0 && !may_go_on()) return;
    const PlanCost cost = cost_of(simulator_.run(next.plan), simulator_.topology());
    if (simulations_++ == 0 || better(cost, cost_)) {
      cost_ = cost;
      best_ = std::move(next);
    }
    if (options_.progress)
      options_.progress(simulations_, cost_.fits ? cost_.value : std::numeric_limits<double>::infinity());
  }
  const QuickPlan& best() const { return best_; }
  QuickStart found() const { return {best_, cost_, simulations_}; }

 private:
  Simulator& simulator_;
  const StrategyOptions& options_;
  QuickPlan best_;
  PlanCost cost_;
  int64_t simulations_ = 0;
};

}  // namespace

std::vector<QuickPlan> quick_plans(Simulator& simulator, const StrategyOptions& options) {
  std::vector<QuickPlan> plans;
  for (const NamedList& fusion : quick_fusion_lists(simulator, options)) {
    StrategyOptions with = options;
    with.base.fusion = fusion.list;
    for (const NamedList& placement : quick_placement_lists(simulator, with)) {
      if (options.stop && options.stop()) return plans;
      Plan plan{placement.list, options.tasks.schedule ? std::vector<int32_t>() : options.base.schedule, fusion.list};
      plans.push_back({joined(placement.name, fusion.name), plan});
      if (!options.tasks.schedule) continue;
      plan.schedule = by_critical_path(simulator, plan);
      plans.push_back({joined(plans.back().name, "critical path"), std::move(plan)});
    }
  }
  return plans;
}

QuickStart best_quick_plan(Simulator& simulator, const StrategyOptions& options) {
  BestPlan found(simulator, options);
  found.offer({"given", options.base});
  if (found.may_go_on())
    for (QuickPlan& plan : quick_plans(simulator, options)) found.offer(std::move(plan));
  if (!options.tasks.fusion) return found.found();
  QuickPlan fused = found.best();
  const Neighbours& users = simulator.consumers();
  fused.plan.fusion.assign(simulator.graph().ops.size(), 1);
  found.offer({joined(fused.name, "everything legal fused"), fused.plan});
  for (int32_t i = 0; i < simulator.graph().size(); ++i)
    if (users.offset[i + 1] - users.offset[i] != 1) fused.plan.fusion[i] = 0;  // nothing is computed twice
  found.offer({joined(fused.name, "fused into single consumers"), fused.plan});
  return found.found();
}

// One device with everything that costs no transfer: priority fusion and the better order, on the fastest device. What is
// slower than this does not need several devices.
Plan plan_single_fused(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (options.tasks.fusion) plan.fusion = plan_priority_fusion(simulator, options).fusion;
  if (!options.tasks.placement) {
    if (options.tasks.schedule) plan.schedule = by_critical_path(simulator, plan);
    return plan;
  }
  StrategyOptions unlimited;
  BestPlan found(simulator, unlimited);
  const std::vector<Device>& devices = simulator.topology().devices;
  for (int32_t d = 0; d < simulator.topology().size(); ++d) {
    Device like_first = devices[d];
    like_first.name = devices[0].name;
    if (d > 0 && like_first == devices[0]) continue;
    plan.device.assign(simulator.graph().ops.size(), d);
    found.offer({"", plan});
    if (!options.tasks.schedule) continue;
    Plan ordered = plan;
    ordered.schedule = by_critical_path(simulator, ordered);
    found.offer({"", std::move(ordered)});
  }
  return found.best().plan;
}

}  // namespace hone::sim

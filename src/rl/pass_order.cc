#include "rl/pass_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "search/strategies.h"

namespace hone::rl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFinalists = 8;
constexpr char kNone[] = "-";  // no pass at this place

// Cost of an order: the metric of the best state on its way, so that what follows the best is cut off. Run times are
// measured at the end only.
class OrderCost : public CostModel {
 public:
  OrderCost(PassSession& session, std::string program, const Space& space, const OrderOptions& options)
      : session_(session), program_(std::move(program)), space_(space), options_(options) {}

  std::vector<double> costs(std::span<const Choice> choices) override {
    std::vector<double> costs;
    for (const Choice& choice : choices) costs.push_back(cost(choice));
    return costs;
  }

  int64_t applications() const { return applications_; }
  double best() const { return finalists_.empty() ? kFailed : finalists_.begin()->first; }
  std::vector<Ordered> finalists() const {  // best first
    std::vector<Ordered> list;
    for (const auto& [value, ordered] : finalists_) list.push_back(ordered);
    return list;
  }

 private:
  double cost(const Choice& choice) {
    Ordered now{{}, session_.initial(program_), {}};
    double best = options_.metric == OrderMetric::RunTime ? kFailed : value_of(now);
    for (size_t place = 0; place < choice.size(); ++place) {
      const std::string& pass = space_.dimensions[place].options[choice[place]];
      if (pass == kNone) continue;
      ++applications_;
      const PassStep step = session_.step(program_, now.state, now.passes, pass);
      if (!step.changed) continue;
      now.state = step.state;
      now.passes.push_back(pass);
      if (options_.metric != OrderMetric::RunTime) best = std::min(best, value_of(now));
    }
    return options_.metric == OrderMetric::RunTime ? value_of(now) : best;
  }

  double value_of(Ordered& ordered) {
    double value = 0;
    if (options_.metric == OrderMetric::Operations) value = static_cast<double>(ordered.state->instructions);
    if (options_.metric == OrderMetric::Cost) value = ordered.state->cost();
    if (options_.metric == OrderMetric::RunTime) value = measured(ordered);
    if (value < kFailed) enter(value, ordered);
    return value;
  }

  // Relative to the untouched program.
  double measured(Ordered& ordered) {
    const auto known = run_times_.find(ordered.state->fingerprint);
    if (known != run_times_.end()) return known->second;
    ordered.duel = session_.measure(program_, ordered.passes, options_.measure_ms);
    const double value = ordered.duel.verified && ordered.duel.ratio > 0 ? 1 / ordered.duel.ratio : kFailed;
    return run_times_[ordered.state->fingerprint] = value;
  }

  void enter(double value, const Ordered& ordered) {
    if (finalists_.size() >= kFinalists && value >= std::prev(finalists_.end())->first) return;
    for (auto it = finalists_.begin(); it != finalists_.end(); ++it) {
      if (it->second.state->fingerprint != ordered.state->fingerprint) continue;
      if (ordered.passes.size() < it->second.passes.size()) it->second = ordered;
      return;
    }
    finalists_.emplace(value, ordered);
    if (finalists_.size() > kFinalists) finalists_.erase(std::prev(finalists_.end()));
  }

  PassSession& session_;
  std::string program_;
  const Space& space_;
  const OrderOptions& options_;
  std::multimap<double, Ordered> finalists_;
  std::unordered_map<std::string, double> run_times_;  // by fingerprint
  int64_t applications_ = 0;
};

// One place per pass of the order; XLA's own order is an option of the first.
Space space_of(const std::vector<std::string>& passes, int64_t length) {
  Space space;
  for (int64_t place = 0; place < length; ++place) {
    Dimension dimension{
        DecisionKind::Pass, fmt::format("{:03}", place), {kNone}, 0, static_cast<double>(length - place)};
    dimension.options.insert(dimension.options.end(), passes.begin(), passes.end());
    if (place == 0) dimension.options.emplace_back(kDefaultOrder);
    space.dimensions.push_back(std::move(dimension));
  }
  return space;
}

double metric_of(const Ordered& ordered, OrderMetric metric) {
  if (metric == OrderMetric::Operations) return static_cast<double>(ordered.state->instructions);
  if (metric == OrderMetric::Cost) return ordered.state->cost();
  return ordered.duel.verified && ordered.duel.ratio > 0 ? 1 / ordered.duel.ratio : kFailed;
}

}  // namespace

const char* order_metric_name(OrderMetric metric) {
  constexpr const char* kNames[] = {"operations", "cost", "run-time"};
  return kNames[static_cast<int>(metric)];
}

OrderMetric order_metric_from_name(const std::string& name) {
  for (const OrderMetric metric : {OrderMetric::Operations, OrderMetric::Cost, OrderMetric::RunTime})
    if (name == order_metric_name(metric)) return metric;
  throw Error("there is no metric '" + name + "'", "--metric", "operations, cost or run-time");
}

void OrderOptions::validate() const {
  if (!(budget_s > 0)) throw Error(fmt::format("a budget of {:g} s", budget_s), "--budget", "give more than 0");
  if (length < 1 || length > 1000) throw Error(fmt::format("orders of {} passes", length), "--length", "1 to 1000");
  if (!(measure_ms > 0)) throw Error("no time to measure");
}

OrderReport order_passes(PassSession& session, const std::string& program, const OrderOptions& options) {
  options.validate();
  for (const std::string& pass : options.passes) session.check_pass(pass);
  const auto strategy = make_strategy(options.strategy);
  const Space space = space_of(options.passes.empty() ? session.default_passes() : options.passes, options.length);
  OrderCost cost(session, program, space, options);
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };

  SearchOptions search;
  search.seed = options.seed;
  search.max_evaluations = std::numeric_limits<int>::max();
  search.should_stop = [&] {
    return options.should_stop() || seconds() >= options.budget_s ||
           (options.max_applications > 0 && cost.applications() >= options.max_applications);
  };
  search.on_evaluated = [&](const Choice&, double) { options.on_progress(fmt::format("best {:g}", cost.best())); };
  // From XLA's own order, then from no pass at all: a greedy search may have nowhere to go from the first.
  Choice own_order = space.default_choice();
  own_order[0] = static_cast<int32_t>(space.dimensions[0].options.size()) - 1;

  OrderReport report;
  report.initial = session.initial(program);
  const PassStep own = session.step(program, report.initial, {}, kDefaultOrder);
  report.xla = {own.changed ? PassHistory{kDefaultOrder} : PassHistory{}, own.state, {}};
  for (const Choice& start : {own_order, space.default_choice()})
    if (report.evaluations == 0 || !search.should_stop())
      report.evaluations += strategy->search(space, start, cost, search).evaluations;
  report.applications = cost.applications();
  report.seconds = seconds();

  report.xla.duel = session.measure(program, report.xla.passes, options.measure_ms);
  report.found = report.xla;
  const double bound = metric_of(report.xla, options.metric);
  for (Ordered& finalist : cost.finalists()) {
    if (metric_of(finalist, options.metric) >= bound) break;
    finalist.duel = session.measure(program, finalist.passes, options.measure_ms);
    if (finalist.duel.verified && session.verify(program, finalist.passes).empty() &&
        metric_of(finalist, options.metric) < bound) {
      report.found = finalist;
      break;
    }
    ++report.rejected;
  }
  return report;
}

}  // namespace hone::rl

#include "passorder/pass_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/suggest.h"
#include "passorder/order_guard.h"
#include "search/strategies.h"

namespace hone::passorder {
namespace {

constexpr char kNone[] = "-";        // no pass at this position
constexpr int64_t kProposed = 8;     // most likely passes that a policy tries before it takes one
constexpr int kGreedyPatience = 20;  // consecutive walks without a better candidate
constexpr size_t kToChooseFrom = 32, kEqualOnes = 4;

// Cost of an order: the metric of its best state; later passes are dropped. Run times are measured at the
// end only.
class OrderCost : public CostModel {
 public:
  OrderCost(PassSession& session, std::string program, const Space& space, OrderCandidates& candidates)
      : session_(session), program_(std::move(program)), space_(space), candidates_(candidates) {}

  std::vector<double> costs(std::span<const Choice> choices) override {
    std::vector<double> costs;
    for (const Choice& choice : choices) costs.push_back(cost(choice));
    return costs;
  }
  int64_t applications() const { return applications_; }

 private:
  double cost(const Choice& choice) {
    const bool at_the_end = candidates_.measures();
    Ordered now{{}, session_.initial(program_), {}};
    double best = at_the_end ? kFailed : candidates_.offer(now);
    for (size_t place = 0; place < choice.size(); ++place) {
      const std::string& pass = space_.dimensions[place].options[choice[place]];
      if (pass == kNone) continue;
      ++applications_;
      const PassStep step = session_.step(program_, now.state, now.passes, pass);
      if (!step.changed) continue;
      now.state = step.state;
      now.passes.push_back(pass);
      if (!at_the_end) best = std::min(best, candidates_.offer(now));
    }
    return at_the_end ? candidates_.offer(now) : best;
  }

  PassSession& session_;
  std::string program_;
  const Space& space_;
  OrderCandidates& candidates_;
  int64_t applications_ = 0;
};

// One dimension per position in the order; XLA's own order is an option of the first.
Space space_of(const std::vector<std::string>& passes, int64_t length) {
  Space space;
  for (int64_t place = 0; place < length; ++place) {
    Dimension dimension{
        DecisionKind::Passes, fmt::format("{:03}", place), {kNone}, 0, static_cast<double>(length - place)};
    dimension.options.insert(dimension.options.end(), passes.begin(), passes.end());
    if (place == 0) dimension.options.emplace_back(kDefaultOrder);
    space.dimensions.push_back(std::move(dimension));
  }
  return space;
}

// One search of one program.
class Search {
 public:
  Search(PassSession& session, std::string program, const OrderOptions& options, OrderCandidates& candidates)
      : session_(session), program_(std::move(program)), options_(options), candidates_(candidates) {
    report_.initial = session.initial(program_);
    const PassStep own = session.step(program_, report_.initial, {}, kDefaultOrder);
    report_.xla = {own.changed ? PassHistory{kDefaultOrder} : PassHistory{}, own.state, {}};
  }

  OrderReport operator()(OrderPolicy* policy) {
    Ordered untouched{{}, report_.initial, {}};
    for (Ordered* start : {&report_.xla, &untouched}) candidates_.offer(*start);
    walk_first_orders();
    if (policy)
      walk_policy(*policy);
    else if (options_.strategy == "greedy")
      walk_greedily();
    else
      search_space();
    report_.seconds = seconds();
    return report_;
  }

 private:
  double seconds() const { return seconds_since(begin_); }
  bool over(int64_t applications) const {
    return options_.should_stop() || seconds() >= options_.budget_s ||
           (options_.max_applications > 0 && first_ + applications >= options_.max_applications);
  }
  bool first_over() const {
    return over(0) || seconds() >= options_.first_share * options_.budget_s ||
           (options_.max_applications > 0 &&
            static_cast<double>(first_) >= options_.first_share * static_cast<double>(options_.max_applications));
  }
  std::vector<std::string> choosable() { return options_.passes.empty() ? session_.default_passes() : options_.passes; }
  void show() const { options_.on_progress(fmt::format("best {:g}", candidates_.best())); }

  PassWalks walks_of(const std::vector<std::string>& passes) {
    return {session_, program_, passes,
            [this](Ordered& place) {
              if (!candidates_.measures()) candidates_.offer(place);
            },
            [this] { return over(walks_ ? walks_->applications() : 0); }};
  }

  void end_of_walk(Ordered place) {
    if (candidates_.measures()) candidates_.offer(place);
    ++report_.evaluations;
    report_.applications = first_ + walks_->applications();
    show();
  }

  // Until a limit or their share of it is reached. An order counts by its best state, as all do.
  void walk_first_orders() {
    for (const std::vector<std::string>& order : options_.first_orders) {
      Ordered place{{}, report_.initial, {}}, best = place;
      for (const std::string& pass : order) {
        if (first_over() || std::ssize(place.passes) >= options_.length) break;
        ++first_;
        const PassStep step = session_.step(program_, place.state, place.passes, pass);
        if (!step.changed) continue;
        place.passes.push_back(pass);
        place.state = step.state;
        if (!candidates_.measures()) candidates_.offer(place);
        if (candidates_.countable(*place.state) < candidates_.countable(*best.state)) best = place;
      }
      if (candidates_.measures() && !best.passes.empty()) candidates_.offer(best);
      if (!first_best_ || candidates_.countable(*best.state) < candidates_.countable(*first_best_->state))
        first_best_ = best;
      ++report_.evaluations;
      report_.applications = first_;
      show();
      if (first_over()) return;
    }
  }

  // Passes that a walk from `start` may add: XLA's own order does not count.
  int64_t length_from(const Ordered& start) const {
    const bool own = start.passes == report_.xla.passes;
    return own ? options_.length : options_.length - std::ssize(start.passes);
  }

  // `starts` behind the best state of the first orders, if there are any.
  std::vector<Ordered> with_first(std::vector<Ordered> starts) const {
    if (first_best_ && !first_best_->passes.empty() && length_from(*first_best_) > 0)
      starts.insert(starts.begin(), *first_best_);
    return starts;
  }

  void walk_policy(OrderPolicy& policy) {
    PassWalks walks = walks_of(policy.passes());
    walks_ = &walks;
    Rng rng(options_.seed);
    const PassScores scores = policy.scores(program_);
    const std::vector<Ordered> starts =
        with_first({{{}, report_.initial, {}}, {report_.xla.passes, report_.xla.state, {}}});
    const auto value = [this](const PassState& state) { return candidates_.countable(state); };
    // Rounds of walks, one from each start: best passes, best passes tried first, then sampled and sampled-and-tried in turn.
    for (size_t episode = 0; !over(walks.applications()); ++episode) {
      const Ordered& start = starts[episode % starts.size()];
      const size_t round = episode / starts.size();
      if (round % 2 == 0)
        end_of_walk(walks.walk(start, scores, round == 0 ? Draw::Best : policy.draw(), length_from(start), rng));
      else
        end_of_walk(walks.greedy(start, value, length_from(start), rng, {scores, kProposed, round > 1}));
    }
    walks_ = nullptr;
  }

  // Alternates between starts after XLA's own order, where a greedy search may find no improvement, and without passes.
  void walk_greedily() {
    PassWalks walks = walks_of(choosable());
    walks_ = &walks;
    Rng rng(options_.seed);
    const std::vector<Ordered> starts =
        with_first({{report_.xla.passes, report_.xla.state, {}}, {{}, report_.initial, {}}});
    const auto value = [this](const PassState& state) { return candidates_.countable(state); };
    int idle = 0;
    for (size_t episode = 0; idle < kGreedyPatience && !over(walks.applications()); ++episode) {
      const double before = candidates_.best();
      const Ordered& start = starts[episode % starts.size()];
      end_of_walk(walks.greedy(start, value, length_from(start), rng));
      idle = candidates_.best() < before ? 0 : idle + 1;
    }
    walks_ = nullptr;
  }

  void search_space() {
    const auto strategy = make_strategy(options_.strategy);
    const Space space = space_of(choosable(), options_.length);
    OrderCost cost(session_, program_, space, candidates_);
    SearchOptions search;
    search.seed = options_.seed;
    search.max_evaluations = std::numeric_limits<int>::max();
    search.should_stop = [&] { return over(cost.applications()); };
    search.on_evaluated = [&](const Choice&, double) { show(); };
    Choice own_order = space.default_choice();
    own_order[0] = static_cast<int32_t>(space.dimensions[0].options.size()) - 1;
    std::vector<Choice> starts = {own_order, space.default_choice()};
    if (const std::optional<Choice> first = first_choice(space)) starts.insert(starts.begin(), *first);
    for (const Choice& start : starts)
      if (report_.evaluations == 0 || !search.should_stop())
        report_.evaluations += strategy->search(space, start, cost, search).evaluations;
    report_.applications = first_ + cost.applications();
  }

  // The best state of the first orders; nothing where the space does not have its passes.
  std::optional<Choice> first_choice(const Space& space) const {
    if (!first_best_ || first_best_->passes.size() > space.dimensions.size()) return std::nullopt;
    Choice choice = space.default_choice();
    for (size_t place = 0; place < first_best_->passes.size(); ++place) {
      const auto& options = space.dimensions[place].options;
      const auto at = std::find(options.begin(), options.end(), first_best_->passes[place]);
      if (at == options.end()) return std::nullopt;
      choice[place] = static_cast<int32_t>(at - options.begin());
    }
    return choice;
  }

  PassSession& session_;
  std::string program_;
  const OrderOptions& options_;
  OrderCandidates& candidates_;
  OrderReport report_;
  std::optional<Ordered> first_best_;  // of the first orders
  int64_t first_ = 0;                  // passes that they ran
  const PassWalks* walks_ = nullptr;
  double begin_ = steady_s();
};

}  // namespace

void OrderOptions::validate() const {
  if (!(budget_s > 0)) throw Error(fmt::format("a budget of {:g} s", budget_s), "--budget", "give more than 0");
  if (length < 1 || length > 1000) throw Error(fmt::format("orders of {} passes", length), "--length", "1 to 1000");
  if (!(measure_ms > 0)) throw Error("the time to measure must be above 0 ms");
  if (!(first_share >= 0 && first_share <= 1))
    throw Error(fmt::format("a share of {:g}", first_share), "first_share", "0 to 1");
  std::vector<std::string> known = strategy_names();
  known.insert(known.begin(), "ppo");
  if (std::find(known.begin(), known.end(), strategy) == known.end())
    throw unknown_word("strategy", strategy, known, "--strategy");
}

OrderReport search_orders(PassSession& session, const std::string& program, const OrderOptions& options,
                          OrderCandidates& candidates, OrderPolicy* policy) {
  options.validate();
  if ((options.strategy == "ppo") != (policy != nullptr))
    throw InternalError("a policy and the strategy ppo go together");
  for (const std::string& pass : options.passes) session.check_pass(pass);
  for (const auto& order : options.first_orders)
    for (const std::string& pass : order) session.check_pass(pass);
  return Search(session, program, options, candidates)(policy);
}

OrderReport order_passes(PassSession& session, const std::string& program, const OrderOptions& options,
                         OrderPolicy* policy, PredictedTimes* predicted) {
  OrderCandidates candidates(session, program, options.metric, options.measure_ms, predicted);
  candidates.keep(kToChooseFrom, kEqualOnes);
  OrderReport report = search_orders(session, program, options, candidates, policy);
  const GuardOptions guard{options.guard, options.metric, options.measure_ms, options.confirm_ms, options.should_stop};
  GuardChoice choice = choose_order(session, program, guard, report.xla, candidates.best_first());
  report.found = std::move(choice.found);
  report.rejected = choice.rejected;
  report.slower = std::move(choice.slower);
  report.skipped = choice.skipped;
  for (Ordered* shown : {&report.xla, &report.found})
    shown->state = session.with_costs(program, shown->state, shown->passes);
  return report;
}

}  // namespace hone::passorder

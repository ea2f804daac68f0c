#include "passorder/order_trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

namespace hone::passorder {
namespace {

bool is_walk(const std::string& strategy) { return strategy == "ppo" || strategy == "random" || strategy == "greedy"; }

// Walks from the untouched program, from XLA's own order's result, or from both in turn.
void walk_all(PassSession& session, const std::string& program, const OrderTrialOptions& options, OrderPolicy* policy,
              const Ordered& own, OrderCandidates& candidates, OrderTrial& trial) {
  const std::vector<std::string> passes = policy ? policy->passes() : session.default_passes();
  const PassScores scores = policy ? policy->scores(program) : even_scores(passes.size());
  const auto reached = [&](Ordered& place) { candidates.offer(place); };
  const int64_t limit = options.walks * options.length;
  const PassWalks* running = nullptr;
  PassWalks walks(session, program, passes, reached,
                  [&] { return options.should_stop() || (running && running->applications() >= limit); });
  running = &walks;
  Rng rng(options.seed);
  const Ordered untouched{{}, session.initial(program), {}};
  const auto value = [](const PassState& state) { return static_cast<double>(state.instructions); };
  for (int64_t walk = 0; walk < options.walks && walks.applications() < limit && !options.should_stop(); ++walk) {
    const bool behind = options.start == "default" || (options.start == "both" && walk % 2 == 1);
    const Ordered& start = behind ? own : untouched;
    const bool guess = walk < (options.start == "both" ? 2 : 1);
    if (options.strategy == "greedy")
      walks.greedy(start, value, options.length, rng);
    else
      walks.walk(start, scores, !policy ? Draw::Chances : guess ? Draw::Best : policy->draw(), options.length, rng);
    if (walk == 0) trial.first = static_cast<int64_t>(candidates.best());
  }
  trial.applications = walks.applications();
}

void search_whole(PassSession& session, const std::string& program, const OrderTrialOptions& options,
                  OrderCandidates& candidates, OrderTrial& trial) {
  OrderOptions order;
  order.strategy = options.strategy;
  order.budget_s = 1e9;
  order.max_applications = options.walks * options.length;
  order.length = options.length;
  order.seed = options.seed;
  order.should_stop = options.should_stop;
  trial.applications = search_orders(session, program, order, candidates).applications;
  trial.first = static_cast<int64_t>(candidates.best());
}

int64_t left_after(PassSession& session, const std::string& program, const Ordered& place, const char* pass) {
  return session.step(program, place.state, place.passes, pass).state->instructions;
}

}  // namespace

void OrderTrialOptions::validate() const {
  if (walks < 1) throw Error(fmt::format("{} walks", walks), "--walks", "at least 1");
  if (length < 1 || length > 1000) throw Error(fmt::format("orders of {} passes", length), "--length", "1 to 1000");
  if (start != "untouched" && start != "default" && start != "both")
    throw unknown_word("start", start, {"untouched", "default", "both"}, "--start");
  if (!(measure_ms >= 0)) throw Error(fmt::format("{} ms to measure", measure_ms), "--measure-ms", "0 or more");
  OrderOptions order;
  order.strategy = strategy;
  order.validate();
}

double reduction_ratio(int64_t initial, int64_t own, int64_t left) {
  if (own >= initial) return 0;
  return std::max(0.5, static_cast<double>(initial - left)) / static_cast<double>(initial - own);
}

OrderTrial try_order(PassSession& session, const std::string& program, const OrderTrialOptions& options,
                     OrderPolicy* policy) {
  options.validate();
  if ((options.strategy == "ppo") != (policy != nullptr))
    throw InternalError("a policy and the strategy ppo go together");
  OrderTrial trial;
  Ordered untouched{{}, session.initial(program), {}};
  const PassStep simplified = session.step(program, untouched.state, {}, kDefaultOrder);
  Ordered own{simplified.changed ? PassHistory{kDefaultOrder} : PassHistory{}, simplified.state, {}};
  trial.initial = untouched.state->instructions;
  trial.own = own.state->instructions;
  trial.pre_layout = left_after(session, program, untouched, kPreLayout);
  OrderCandidates candidates(session, program, OrderMetric::Operations, 200);
  candidates.offer(untouched);
  if (options.start != "untouched") candidates.offer(own);
  if (is_walk(options.strategy))
    walk_all(session, program, options, policy, own, candidates, trial);
  else
    search_whole(session, program, options, candidates, trial);
  trial.best = candidates.best_first().front();
  trial.best_pre_layout = left_after(session, program, trial.best, kPreLayout);
  if (options.measure_ms > 0) {
    trial.own_duel = session.measure(program, own.passes, options.measure_ms);
    trial.best_duel = session.measure(program, trial.best.passes, options.measure_ms);
  }
  return trial;
}

}  // namespace hone::passorder

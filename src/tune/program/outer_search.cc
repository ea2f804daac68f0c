#include "tune/program/outer_search.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "passorder/pass_order.h"

namespace hone::tune {

namespace {

Alternative as_alternative(const passorder::PassHistory& passes) {
  return {fmt::format("{} passes first", passes.size()),
          {{DecisionKind::Passes, kPassOrderKey, fmt::format("{}", fmt::join(passes, ","))}}};
}

}  // namespace

std::vector<Alternative> propose_passes(passorder::PassSession& session, const std::string& bytes,
                                        const std::string& name, passorder::OrderPolicy* policy,
                                        const PassProposals& options) {
  const std::string program = session.load(bytes, name);
  passorder::OrderOptions order;
  order.strategy = policy ? "ppo" : "greedy";
  order.budget_s = options.budget_s / 2;
  order.max_applications = options.max_applications / 2;
  order.seed = options.seed;
  order.should_stop = options.should_stop;
  order.first_orders = options.first_orders;
  order.first_share = 0.5;
  std::vector<passorder::PassHistory> found = {{passorder::kDefaultOrder}};
  std::set<std::string> seen = {session.initial(program)->fingerprint};
  seen.insert(session.step(program, session.initial(program), {}, passorder::kDefaultOrder).state->fingerprint);
  // An order that is best by one metric may not be best by the other: take the best of each in turn.
  std::vector<std::vector<passorder::Ordered>> best;
  for (passorder::OrderMetric metric : {passorder::OrderMetric::Cost, passorder::OrderMetric::Operations}) {
    order.metric = metric;
    passorder::OrderCandidates candidates(session, program, metric, order.measure_ms);
    passorder::search_orders(session, program, order, candidates, policy);
    best.push_back(candidates.best_first());
  }
  for (size_t place = 0; place < std::max(best[0].size(), best[1].size()); ++place)
    for (const auto& list : best)
      if (place < list.size() && !list[place].passes.empty() && seen.insert(list[place].state->fingerprint).second)
        found.push_back(list[place].passes);
  if (found.size() > static_cast<size_t>(options.most)) found.resize(options.most);
  std::vector<Alternative> alternatives;
  for (const passorder::PassHistory& passes : found) alternatives.push_back(as_alternative(passes));
  return alternatives;
}

std::vector<Alternative> propose_layouts(const LayoutSpace& layouts, const LayoutRanker& ranker, int ranked, int most,
                                         uint64_t seed) {
  if (layouts.space.dimensions.empty()) return {};
  // Without a ranker, about one sample in three changes a single instruction (sample_layouts); those are kept first.
  std::vector<Choice> choices = sample_layouts(layouts.space, ranker ? ranked : 3 * most, seed);
  std::vector<size_t> order(choices.size());
  std::iota(order.begin(), order.end(), 0);
  if (ranker) {
    const std::vector<double> scores = ranker(layouts, choices);
    if (scores.size() != choices.size()) throw InternalError("the ranker of layouts left some out");
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  } else {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return layouts.space.decisions(choices[a]).size() < layouts.space.decisions(choices[b]).size();
    });
  }
  std::vector<Alternative> alternatives;
  for (size_t place = 0; place < order.size() && alternatives.size() < static_cast<size_t>(most); ++place) {
    Decisions decisions = layouts.space.decisions(choices[order[place]]);
    if (!decisions.empty()) alternatives.push_back({fmt::format("{} layouts", decisions.size()), std::move(decisions)});
  }
  return alternatives;
}

}  // namespace hone::tune

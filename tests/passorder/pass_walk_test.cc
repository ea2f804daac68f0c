// Walks, searches and trials on a real worker, with fixed scores instead of learned ones.
#include "passorder/pass_walk.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "base/error.h"
#include "passorder/fixed_orders.h"
#include "passorder/order_trial.h"
#include "tests/passorder/session_options.h"
#include "tests/passorder/small_program.h"

using namespace hone;
using namespace hone::passorder;

namespace {

// Instructions without the dead, the duplicate and the redundant ones.
constexpr int64_t kLeft = 5;

struct Walked {
  PassSession session{session_options()};
  std::string program = session.load(kSmallProgram, "small");
  std::vector<std::string> passes = {"logistic-expander", "dce", "cse", "algsimp"};
  std::vector<int64_t> reached;
  Ordered untouched{{}, session.initial(program), {}};
  PassWalks walks{session, program, passes, [this](Ordered& place) { reached.push_back(place.state->instructions); },
                  [] { return false; }};
};

}  // namespace

TEST_CASE("a walk takes the best pass that it has not taken in this state", "[rl][passes]") {
  Walked t;
  Rng rng(0);
  const PassScores dce_first = [](const Ordered&, const std::vector<bool>&) { return std::vector<float>{-1, 3, 2, 1}; };
  // dce, dce again does nothing, cse, then dce and cse do nothing, algsimp, ...
  const Ordered three = t.walks.walk(t.untouched, dce_first, Draw::Best, 3, rng);
  CHECK(t.walks.applications() == 3);
  CHECK(three.passes == PassHistory{"dce", "cse"});
  CHECK(t.reached.size() == 2);
  const Ordered all = t.walks.walk(t.untouched, dce_first, Draw::Best, 1000, rng);
  CHECK(t.walks.applications() < 100);  // it ended early: no pass was left to take
  CHECK(std::find(all.passes.begin(), all.passes.end(), "logistic-expander") != all.passes.end());
}

TEST_CASE("sampled walks are functions of their seed", "[rl][passes]") {
  Walked t;
  std::vector<PassHistory> orders;
  for (const uint64_t seed : {7, 7, 8, 9, 10}) {
    Rng rng(seed);
    orders.push_back(t.walks.walk(t.untouched, even_scores(4), Draw::Chances, 12, rng).passes);
  }
  CHECK(orders[0] == orders[1]);
  CHECK(std::any_of(orders.begin() + 2, orders.end(), [&](const PassHistory& o) { return o != orders[0]; }));
}

TEST_CASE("a pass with probability 1 is always sampled, and mostly with Draw::MostlyBest", "[rl][passes]") {
  Walked t;
  const PassScores cse = [](const Ordered&, const std::vector<bool>&) { return std::vector<float>{0, 0, 100, 0}; };
  int firsts = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng sure(seed), mostly(seed);
    CHECK(t.walks.walk(t.untouched, cse, Draw::Chances, 1, sure).passes == PassHistory{"cse"});
    firsts += t.walks.walk(t.untouched, cse, Draw::MostlyBest, 1, mostly).passes == PassHistory{"cse"};
  }
  CHECK(firsts >= 14);
  CHECK(firsts <= 20);
}

TEST_CASE("greedy search crosses a plateau", "[rl][passes]") {
  Walked t;
  Rng rng(1);
  t.walks.greedy(t.untouched, [](const PassState& s) { return static_cast<double>(s.instructions); }, 12, rng);
  REQUIRE_FALSE(t.reached.empty());
  CHECK(*std::min_element(t.reached.begin(), t.reached.end()) == kLeft);
  // logistic-expander adds instructions: it is taken last, not refused.
  CHECK(t.reached.back() > kLeft);
}

TEST_CASE("a guided greedy walk tries at most `width` passes per state", "[rl][passes]") {
  Walked t;
  Rng rng(1);
  const auto value = [](const PassState& s) { return static_cast<double>(s.instructions); };
  PassGuide guide{[](const Ordered&, const std::vector<bool>&) { return std::vector<float>{0, 3, 2, 1}; }, 2,
                  false};  // dce, cse
  const Ordered place = t.walks.greedy(t.untouched, value, 10, rng, guide);
  CHECK(t.walks.applications() == 6);  // two moves, and two tries that lead to no new state
  CHECK(place.passes.size() == 2);
  CHECK(place.state->instructions == 8);
  guide.draws = true;
  guide.width = 4;
  t.walks.greedy(t.untouched, value, 10, rng, guide);
  CHECK(*std::min_element(t.reached.begin(), t.reached.end()) == kLeft);
}

TEST_CASE("greedy walks of hone order leave no more than XLA's own order", "[rl][passes]") {
  Walked t;
  OrderOptions options;
  options.strategy = "greedy";
  options.max_applications = 500;
  options.length = 10;
  OrderCandidates candidates(t.session, t.program, OrderMetric::Operations, 10);
  const OrderReport report = search_orders(t.session, t.program, options, candidates);
  CHECK(candidates.best() <= static_cast<double>(report.xla.state->instructions));
  CHECK(candidates.best() == kLeft);
  CHECK(report.applications <= 500);
  CHECK(candidates.best_first().front().state->instructions == kLeft);
  options.strategy = "nonsense";
  CHECK_THROWS_AS(options.validate(), Error);
}

TEST_CASE("a search begins with the orders that it is given", "[rl][passes]") {
  Walked t;
  for (const char* strategy : {"greedy", "genetic"}) {
    INFO(strategy);
    OrderOptions options;
    options.strategy = strategy;
    options.first_orders = {{"dce", "dce", "logistic-expander"}, {"dce", "cse", "algsimp", "logistic-expander"}};
    options.max_applications = 7;  // nothing is left for the search
    OrderCandidates candidates(t.session, t.program, OrderMetric::Operations, 10);
    const OrderReport report = search_orders(t.session, t.program, options, candidates);
    CHECK(report.applications == 7);
    CHECK(report.evaluations >= 2);
    CHECK(candidates.best() == kLeft);
    const std::vector<Ordered> kept = candidates.best_first();
    CHECK(
        std::any_of(kept.begin(), kept.end(), [](const Ordered& o) { return o.passes == PassHistory{"dce", "cse"}; }));
    options.max_applications = 3;  // the second is not tried
    OrderCandidates fewer(t.session, t.program, OrderMetric::Operations, 10);
    CHECK(search_orders(t.session, t.program, options, fewer).applications == 3);
    options.max_applications = 2;  // it ends within the first
    CHECK(search_orders(t.session, t.program, options, fewer).applications == 2);
    options.max_applications = 6;  // at half of them the search takes over
    options.first_share = 0.5;
    OrderCandidates shared(t.session, t.program, OrderMetric::Operations, 10);
    std::vector<std::string> order = {"dce", "dce", "dce", "cse", "cse", "cse"};
    const auto firsts = std::exchange(options.first_orders, {order});
    options.passes = {"logistic-expander"};
    search_orders(t.session, t.program, options, shared);
    for (const Ordered& o : shared.best_first())
      CHECK(std::find(o.passes.begin(), o.passes.end(), "cse") == o.passes.end());
    options.first_share = 1;
    search_orders(t.session, t.program, options, shared);
    const std::vector<Ordered> whole = shared.best_first();
    CHECK(std::any_of(whole.begin(), whole.end(),
                      [](const Ordered& o) { return o.passes == PassHistory{"dce", "cse"}; }));
    options.first_share = 1.5;
    CHECK_THROWS_AS(options.validate(), Error);
    options.first_share = 1;
    options.first_orders = firsts;
    options.passes.clear();
    options.max_applications = 40;
    options.length = 2;
    OrderCandidates shorter(t.session, t.program, OrderMetric::Operations, 10);
    search_orders(t.session, t.program, options, shorter);
    for (const Ordered& o : shorter.best_first()) CHECK((o.passes.size() <= 2 || o.passes[0] == kDefaultOrder));
    options.first_orders = {{"nonsense"}};
    CHECK_THROWS_AS(search_orders(t.session, t.program, options, fewer), Error);
  }
}

TEST_CASE("the orders that come with hone are known to this XLA", "[rl][passes]") {
  Walked t;
  const auto orders = shipped_orders(t.session, HONE_SOURCE_DIR "/data/models");
  REQUIRE(orders.size() == 3);
  for (const auto& order : orders) CHECK(order.size() == 45);
}

TEST_CASE("a trial compares with XLA's own order at equal numbers of passes", "[rl][passes]") {
  Walked t;
  OrderTrialOptions options;
  options.walks = 3;
  options.length = 20;
  for (const char* strategy : {"random", "greedy", "genetic"}) {
    options.strategy = strategy;
    const OrderTrial trial = try_order(t.session, t.program, options);
    INFO(strategy);
    CHECK(trial.initial == 10);
    CHECK(trial.own == kLeft);
    CHECK(trial.best.state->instructions <= trial.first);
    CHECK(trial.first <= trial.initial);
    CHECK(trial.applications <= 60 + 20);  // the last order is completed
    CHECK(trial.best_pre_layout > 0);
    CHECK(trial.own_duel.ratio == 0);  // nothing was measured
  }
  options.start = "nowhere";
  CHECK_THROWS_AS(options.validate(), Error);
  options.start = "default";
  options.strategy = "random";
  CHECK(try_order(t.session, t.program, options).best.state->instructions <= kLeft);
}

TEST_CASE("the ratio of reductions", "[rl]") {
  CHECK(reduction_ratio(100, 80, 70) == Approx(1.5));
  CHECK(reduction_ratio(100, 80, 80) == Approx(1));
  CHECK(reduction_ratio(100, 80, 100) == Approx(0.5 / 20));  // nothing removed
  CHECK(reduction_ratio(100, 100, 90) == 0);                 // no ratio
}

// Rates of experiments against values worked out by hand.
#include "search/yield_belief.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"

namespace hone {

TEST_CASE("a gain of a part is a gain of the program by Amdahl's law", "[search]") {
  CHECK(program_gain(1, std::log(2.0)) == Approx(std::log(2.0)));
  CHECK(program_gain(0.5, std::log(2.0)) == Approx(std::log(1 / 0.75)));
  CHECK(program_gain(0.45, std::log(3.0)) == Approx(std::log(1 / 0.7)));
  CHECK(program_gain(0, 1) == 0);
  for (const double share : {0.1, 0.45, 1.0})
    for (const double gain : {0.01, 0.3, 1.5}) CHECK(touched_gain(share, program_gain(share, gain)) == Approx(gain));
  CHECK(touched_gain(0.1, 1) == Approx(std::log(16.0)));  // more than the share could give
  CHECK(touched_gain(0.5, 0) == 0);
  CHECK(touched_gain(0.5, -0.2) == 0);
}

TEST_CASE("a belief begins at its prior and follows the results", "[search]") {
  const YieldPrior prior{.kept = 0.25, .gain = 0.2, .weight = 4};
  YieldBelief belief(prior);
  CHECK(belief.kept() == Approx(0.25));
  CHECK(belief.gain() == Approx(0.2));
  CHECK(belief.cost_s(3) == Approx(3));
  CHECK(belief.rate(1, 2) == Approx(0.25 * 0.2 / 2));

  belief.observe(/*gain=*/0, /*predicted_s=*/2, /*took_s=*/4);
  CHECK(belief.kept() == Approx(1.0 / 5));
  CHECK(belief.gain() == Approx(0.2));             // nothing was learnt about gains
  CHECK(belief.cost_s(2) == Approx(2 * 8 / 6.0));  // (2 * 2 + 4) / (2 * 2 + 2)
  belief.observe(0.6, 2, 4);
  CHECK(belief.kept() == Approx(2.0 / 6));
  CHECK(belief.gain() == Approx((0.2 + 0.6) / 2));
  CHECK(belief.cost_s(2) == Approx(2 * 12 / 8.0));

  YieldBelief failing(prior);
  double before = failing.rate(0.5, 1);
  for (int i = 0; i < 20; ++i) {
    failing.observe(0, 1, 1);
    const double now = failing.rate(0.5, 1);
    CHECK(now < before);
    before = now;
  }
  CHECK(before < 0.2 * YieldBelief(prior).rate(0.5, 1));
}

TEST_CASE("what is cheap and touches much comes first, whatever the program costs", "[search]") {
  const YieldBelief kernel({.kept = 0.4, .gain = 0.3}), whole({.kept = 0.15, .gain = 0.1});
  // A program of a millisecond: a duel of it is cheaper than a search over one of its kernels.
  CHECK(whole.rate(1, 0.4) > kernel.rate(0.05, 2));
  // One of 70 ms that compiles for 3 seconds: the dot of 45 % of its time comes first.
  CHECK(kernel.rate(0.45, 2) > whole.rate(1, 6));
  CHECK(kernel.rate(0.01, 2) < whole.rate(1, 6));
}

TEST_CASE("priors are checked", "[search]") {
  CHECK_THROWS_AS(YieldBelief({.kept = 0}), Error);
  CHECK_THROWS_AS(YieldBelief({.kept = 1}), Error);
  CHECK_THROWS_AS(YieldBelief({.gain = 0}), Error);
  CHECK_THROWS_AS(YieldBelief({.weight = 0}), Error);
}

}  // namespace hone

#include "passorder/shaping.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.h"

using namespace hone;
using namespace hone::passorder;

namespace {

constexpr int64_t kStates = 6, kActions = 3;  // state 5 is terminal
constexpr double kDiscount = 0.9;

// A process where every action leads to one of two states with equal probability.
struct Process {
  int64_t next[kStates][kActions][2];
  double reward[kStates][kActions];
};

Process random_process(Rng& rng) {
  Process p;
  for (int64_t s = 0; s < kStates; ++s)
    for (int64_t a = 0; a < kActions; ++a) {
      for (int64_t& next : p.next[s][a]) next = rng.below(kStates);
      p.reward[s][a] = rng.uniform() * 2 - 1;
    }
  return p;
}

// Exact action values; extra(s, s') is added to every reward.
std::vector<double> solve(const Process& p, const std::function<double(int64_t, int64_t)>& extra) {
  std::vector<double> q(kStates * kActions, 0), value(kStates, 0);
  for (int sweep = 0; sweep < 2000; ++sweep)
    for (int64_t s = 0; s + 1 < kStates; ++s) {
      value[s] = -1e300;
      for (int64_t a = 0; a < kActions; ++a) {
        double sum = 0;
        for (int64_t next : p.next[s][a]) sum += 0.5 * (p.reward[s][a] + extra(s, next) + kDiscount * value[next]);
        q[s * kActions + a] = sum;
        value[s] = std::max(value[s], sum);
      }
    }
  return q;
}

}  // namespace

TEST_CASE("shaped and unshaped rewards have the same optimal policy, solved exactly") {
  Rng rng(11);
  int changed_by_bad = 0;
  for (int round = 0; round < 50; ++round) {
    const Process process = random_process(rng);
    std::vector<double> phi(kStates);
    for (double& x : phi) x = rng.uniform() * 20 - 10;  // far larger than the rewards
    const auto plain = solve(process, [](int64_t, int64_t) { return 0.0; });
    const auto shaped = solve(process, [&](int64_t s, int64_t next) {
      return shaping_reward(phi[s], phi[next], kDiscount, next == kStates - 1);
    });
    const auto bad = solve(process, [&](int64_t s, int64_t next) { return phi[next] - phi[s]; });
    for (int64_t s = 0; s + 1 < kStates; ++s) {
      const auto best = [&](const std::vector<double>& q) {
        return std::max_element(q.begin() + s * kActions, q.begin() + (s + 1) * kActions) - q.begin();
      };
      CHECK(best(plain) == best(shaped));
      changed_by_bad += best(plain) != best(bad);
      // Q' = Q - phi(s) (Ng et al. 1999, corollary 2).
      for (int64_t a = 0; a < kActions; ++a)
        CHECK(shaped[s * kActions + a] == Approx(plain[s * kActions + a] - phi[s]).margin(1e-9));
    }
  }
  CHECK(changed_by_bad > 0);  // without the discount it is not potential-based, which the test detects
}

TEST_CASE("shaping by hand") {
  CHECK(shaping_reward(-10, -4, 0.5, false) == 8);
  CHECK(shaping_reward(-10, -4, 0.5, true) == 10);
}

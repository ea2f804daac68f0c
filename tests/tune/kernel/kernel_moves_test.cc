#include "tune/kernel/kernel_moves.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "tests/tune/fake_measurer.h"

namespace hone::tune {

TEST_CASE("neighbours move one tile coordinate to the next value that exists", "[tune]") {
  const Dimension d{DecisionKind::Codegen,
                    "k",
                    {"loop", "tile=4,4", "tile=8,4", "tile=16,4", "tile=8,8", "tile=12,4", "tile=8,4;unroll=0",
                     "tile=16,4;unroll=0", "tile=2,2,2"},
                    0,
                    0};
  CHECK(neighbours(d, 2) == std::vector<int>{1, 4, 5, 6});  // 4,4 below, 8,8 right, 12,4 above (before 16,4), unroll=0
  CHECK(neighbours(d, 6) == std::vector<int>{2, 7});
  CHECK(neighbours(d, 0).empty());
  CHECK(neighbours(d, 8).empty());
}

TEST_CASE("neighbourhood is symmetric on a full grid of tiles", "[tune]") {
  Dimension d{DecisionKind::Codegen, "k", {}, 0, 0};
  for (int a : {1, 2, 4, 8, 12})
    for (int b : {1, 2, 4}) d.options.push_back("tile=" + std::to_string(a) + "," + std::to_string(b));
  for (int i = 0; i < static_cast<int>(d.options.size()); ++i) {
    CHECK(neighbours(d, i).size() >= 2);
    for (int j : neighbours(d, i)) {
      const std::vector<int> back = neighbours(d, j);
      CHECK(std::find(back.begin(), back.end(), i) != back.end());
    }
  }
}

TEST_CASE("first options start with other emitters and spread over the rest", "[tune]") {
  Dimension d{DecisionKind::Codegen, "k", {}, 100, 0};
  for (int i = 0; i < 90; ++i) d.options.push_back("tile=" + std::to_string(i + 1));
  for (int i = 0; i < 10; ++i) d.options.push_back("tile=" + std::to_string(i + 1) + ",2000");
  d.options.push_back("tile=500");
  d.options.push_back("loop;unroll=0");
  d.options.push_back("loop");
  Rng rng(3);
  const std::vector<int> first = first_options(d, 12, rng);
  REQUIRE(first.size() == 14);
  CHECK(first[0] == 101);
  CHECK(first[1] == 102);
  for (int s = 0; s < 9; ++s) CHECK(first[s + 2] / 10 == s);  // one of each stratum of ten small tiles
  for (int s = 11; s < 14; ++s) CHECK(first[s] / 10 == 9);    // three large ones
  Rng again(3);
  CHECK(first_options(d, 12, again) == first);

  Rng all(1);
  const std::vector<int> every = first_options(d, 1000, all);
  CHECK(std::set<int>(every.begin(), every.end()).size() == d.options.size() - 1);
  CHECK(std::find(every.begin(), every.end(), 100) == every.end());
}

TEST_CASE("shares of kernels: known weights stay, unknown ones are estimated from what is left", "[tune]") {
  std::vector<Kernel> kernels = {a_kernel("a", {"default", "loop"}, 0, 0.6), a_kernel("b", {"default", "loop"}),
                                 a_kernel("c", {"default", "loop"})};
  kernels[1].bytes = 3e9;
  kernels[2].bytes = 1e9;
  std::vector<double> shares = kernel_shares(kernels);
  CHECK(shares[0] == Approx(0.6));
  CHECK(shares[1] + shares[2] == Approx(0.4));
  CHECK(shares[1] == Approx(3 * shares[2]).epsilon(0.01));

  for (Kernel& k : kernels) k.dimension.weight = 0;
  kernels[0].bytes = 0;
  kernels[0].flops = 3e10;
  kernels[0].count = 2;
  shares = kernel_shares(kernels);
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(1));
  CHECK(shares[0] > shares[1]);
  CHECK(kernel_shares({}).empty());
}

TEST_CASE("the budget is divided in proportion, with a floor", "[tune]") {
  CHECK(next_budget({3, 1}, 8, 0.5) == Approx(6));
  CHECK(next_budget({1}, 2, 0.5) == Approx(2));
  CHECK(next_budget({0.01, 1}, 10, 0.5) == Approx(0.5));
  CHECK(next_budget({0.01, 1}, 0.2, 0.5) == Approx(0.2));
  CHECK(next_budget({0, 0}, 4, 0.5) == Approx(2));
  CHECK(next_budget({1, 1}, 0, 0.5) == 0);
  CHECK(next_budget({}, 10, 0.5) == 0);
}

}  // namespace hone::tune

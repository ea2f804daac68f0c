#include "search/annealing.h"

#include <catch2/catch.hpp>
#include <limits>

namespace hone {

TEST_CASE("annealing accepts what is no worse, and losses with the Metropolis probability", "[search]") {
  Rng rng(1), untouched(1);
  CHECK(metropolis_accepts(2, 2, 0.1, rng));
  CHECK(metropolis_accepts(2, 1, 0.1, rng));
  const double failed = std::numeric_limits<double>::infinity();
  CHECK_FALSE(metropolis_accepts(2, failed, 0.1, rng));
  CHECK(metropolis_accepts(failed, failed, 0.1, rng));
  CHECK(rng() == untouched());  // none of these draws from rng
  int taken = 0;
  for (int i = 0; i < 20000; ++i) taken += metropolis_accepts(10, 11, 0.1, rng);  // a loss of 10 %
  CHECK(taken / 20000.0 == Approx(std::exp(-1)).epsilon(0.03));
}

}  // namespace hone

// The acceptance rule of simulated annealing.
#pragma once

#include <cmath>

#include "base/rng.h"

namespace hone {

// Whether a walk at cost `from` accepts cost `to`: always if that is no worse, else with probability
// exp(-relative loss / temperature) (Metropolis et al. 1953). Never moves to a failed candidate (infinite cost), except from
// another failed one, so that it can leave a failed region. Draws from `rng` only when the loss is finite and above 0.
inline bool metropolis_accepts(double from, double to, double temperature, Rng& rng) {
  if (to <= from) return true;
  if (std::isinf(to)) return false;
  const double scale = from != 0 ? std::abs(from) : 1.0;
  return rng.uniform() < std::exp(-(to - from) / scale / temperature);
}

}  // namespace hone

// Potential-based reward shaping (Ng, Harada and Russell 1999): F(s, s') = discount phi(s') - phi(s).
#pragma once

namespace hone::passorder {

// The term added to a reward. The potential of a terminal state counts as 0, which keeps the optimal policies of episodic
// tasks unchanged. A truncated episode keeps the potential of its last state.
inline double shaping_reward(double before, double after, double discount, bool terminated) {
  return (terminated ? 0 : discount * after) - before;
}

}  // namespace hone::passorder

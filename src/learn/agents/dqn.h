// Deep Q-learning: the replay memory and the target of the agent in dqn.cc.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "options/safetensors.h"

namespace hone::learn {

// The last `capacity` transitions. Grows as it fills.
class Replay {
 public:
  Replay(int64_t capacity, int64_t width);
  void add(std::span<const float> before, int64_t action, double reward, std::span<const float> after, bool terminated);
  int64_t size() const { return static_cast<int64_t>(actions_.size()); }

  struct Batch {
    torch::Tensor before, after;        // [rows, width]
    torch::Tensor actions;              // [rows], int64
    torch::Tensor rewards, terminated;  // [rows]
  };
  Batch sample(int64_t rows, Rng& rng) const;  // with replacement; throws InternalError when empty

  torch::Tensor observations() const;  // [size, width], the states before all transitions
  void save(options::TensorFile& file) const;
  void restore(const options::TensorFile& file);  // throws Error or std::out_of_range

 private:
  int64_t capacity_, width_, next_ = 0;  // next_: index of the next write once it is full
  std::vector<float> before_, after_, rewards_, terminated_;
  std::vector<int64_t> actions_;
};

// r + discount Q_target(s', a'), only r where s' is terminal; a' is the best action by the online network (van Hasselt
// et al. 2016, equation 4), or by the target network itself (`double_q` false). Both tables are [rows, actions].
torch::Tensor q_target(const Replay::Batch& batch, const torch::Tensor& online_next, const torch::Tensor& target_next,
                       double discount, bool double_q);

// The share of random actions: falls from 1 to `end` over the first `share` of `steps`.
double exploration(int64_t step, int64_t steps, double share, double end);

}  // namespace hone::learn

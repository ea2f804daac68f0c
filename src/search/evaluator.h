// The access of strategies to costs: caches costs, and enforces the evaluation limit and requests to stop.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/strategy.h"

namespace hone {

class Evaluator {
 public:
  // The references must outlive the evaluator. The report's best is `start` at kFailed until the first evaluation.
  // Throws InternalError if `start` is not legal in `space`.
  Evaluator(const Space& space, const Choice& start, CostModel& model, const SearchOptions& options);

  // Costs in the order of `choices`. Known choices come from the cache; new ones are evaluated in batches of
  // SearchOptions::batch_size, with should_stop before each. Once done(), new choices are not evaluated and cost kFailed.
  // Throws InternalError for an illegal choice or a model that returns another number of costs.
  std::vector<double> costs(std::span<const Choice> choices);
  double cost(const Choice& choice) { return costs({&choice, 1}).front(); }

  // No new choice will be evaluated: limit reached, stop requested or the whole space known.
  bool done() const;
  bool knows(const Choice& choice) const { return known_.contains(choice); }
  // Evaluations so far / most evaluations of this search, in [0, 1].
  double progress() const;
  const SearchReport& report() const { return report_; }

  // A uniform choice of the space, new or not.
  Choice random(Rng& rng) const;
  // A random choice not evaluated yet; nullopt when done().
  std::optional<Choice> unseen(Rng& rng) const;
  // Indices of the dimensions with more than one option.
  const std::vector<size_t>& movable() const { return movable_; }
  // The same, by descending Dimension::weight; ties in the space's order.
  std::vector<size_t> by_weight() const;

 private:
  struct ChoiceHash {
    size_t operator()(const Choice& choice) const;
  };
  void ask(std::span<const Choice> batch);

  const Space& space_;
  CostModel& model_;
  const SearchOptions& options_;
  double space_size_;
  bool stopped_ = false;
  std::vector<size_t> movable_;
  std::unordered_map<Choice, double, ChoiceHash> known_;
  SearchReport report_;
};

// Advances `choice` in mixed-radix order, last dimension fastest; false when it wraps around to all zeros.
bool next_choice(const Space& space, Choice& choice);

// `choice` with dimension `d` set to another of its options, uniformly. The dimension must have at least two.
void redraw(const Space& space, size_t d, Rng& rng, Choice& choice);

}  // namespace hone

// What every strategy asks its costs through: the memory of costs, the evaluation limit and the stop request live here.
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
  // The references must outlive the evaluator. The report's best is `start`, at kFailed, until something is asked.
  // Throws InternalError if `start` is not legal in `space`.
  Evaluator(const Space& space, const Choice& start, CostModel& model, const SearchOptions& options);

  // Costs in the order of `choices`. Known choices come from memory; new ones are asked in batches of
  // SearchOptions::batch_size, should_stop before each. Once done(), new choices are not asked and count as kFailed.
  // Throws InternalError for an illegal choice or a model that answers with another number of costs.
  std::vector<double> costs(std::span<const Choice> choices);
  double cost(const Choice& choice) { return costs({&choice, 1}).front(); }

  // No further new choice will be asked: limit reached, stop requested or the whole space known.
  bool done() const;
  bool knows(const Choice& choice) const { return known_.contains(choice); }
  // Share of the evaluations that this search can make at most, in [0, 1].
  double progress() const;
  const SearchReport& report() const { return report_; }

  // A uniform choice of the space, new or not.
  Choice random(Rng& rng) const;
  // A random choice not asked yet; nothing when done().
  std::optional<Choice> unseen(Rng& rng) const;
  // Indices of the dimensions with more than one option.
  const std::vector<size_t>& movable() const { return movable_; }
  // The same, heaviest Dimension::weight first; ties in the space's order.
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

// Turns `choice` into the next one in mixed-radix order, last dimension fastest; false when it wrapped to all zeros.
bool next_choice(const Space& space, Choice& choice);

// `choice` with dimension `d` set to another of its options, uniformly. The dimension must have at least two.
void redraw(const Space& space, size_t d, Rng& rng, Choice& choice);

}  // namespace hone
